// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames and templates of the programs that time matches.
#pragma once

#include <random>
#include <vector>

#include <xcorr/device.hpp>

#include "device/runtime.hpp"
#include "pgm.hpp"
#include "require.hpp"

/// Random bytes: as expensive as any picture, and every template is found.
inline Picture random_picture(xcorr::Size size) {
  std::mt19937 random(1);
  Picture picture{size, std::vector<std::uint8_t>(static_cast<std::size_t>(size.area()))};
  for (auto& byte : picture.pixels) byte = static_cast<std::uint8_t>(random());
  return picture;
}

/// With that many bits, 8 to 16: those of the picture, and random ones below.
inline Picture deepened(const Picture& picture, int bits) {
  if (bits == 8) return picture;
  std::mt19937 random(2);
  Picture deep{picture.size, {}, xcorr::ElementType::u16};
  for (const std::uint8_t byte : picture.pixels) {
    const unsigned word = unsigned{byte} << (bits - 8) | random() % (1u << (bits - 8));
    deep.pixels.push_back(static_cast<std::uint8_t>(word));
    deep.pixels.push_back(static_cast<std::uint8_t>(word >> 8));
  }
  return deep;
}

/// Square windows of the frame, spread over it.
inline std::vector<xcorr::MatrixView> cut(const Picture& frame, int side, int count) {
  const auto [width, height] = frame.size;
  std::vector<xcorr::MatrixView> views;
  for (int i = 0; i < count; ++i) {
    const int x = (37 + i * 211) % (width - side), y = (23 + i * 97) % (height - side);
    xcorr::MatrixView view = frame.view();
    view.data = frame.pixels.data() + y * view.pitch + x * view.element_bytes();
    view.size = {side, side};
    views.push_back(view);
  }
  return views;
}

/// A picture where a device reads it fast: in its own memory, or in host memory that is pinned.
struct UploadedFrame {
  xcorr::Block block;
  xcorr::MatrixView view;
};

/// The device's context must be current.
inline UploadedFrame upload(const xcorr::Device& device, const Picture& picture,
                            xcorr::Memory memory = xcorr::Memory::device) {
  using namespace xcorr;
  const auto& pixels = picture.pixels;
  UploadedFrame frame{require(Block::make(device.backend, pixels.size(), memory)), {}};
  const Runtime& r = runtime(device.backend);
  require(r.copy(bytes_copy(frame.block.data(), pixels.data(), pixels.size()), Memory::host, memory,
                 {}));
  require(r.wait({}));
  frame.view = picture.view();
  frame.view.data = frame.block.data();
  frame.view.memory = memory;
  return frame;
}
