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

/// Random bytes: as expensive as any image, and every template is found.
inline Image random_image(xcorr::Size size) {
  std::mt19937 random(1);
  Image image{size, std::vector<std::uint8_t>(static_cast<std::size_t>(size.area()))};
  for (auto& byte : image.pixels) byte = static_cast<std::uint8_t>(random());
  return image;
}

/// With that many bits, 8 to 16: those of the image, and random ones below.
inline Image deepened(const Image& image, int bits) {
  if (bits == 8) return image;
  std::mt19937 random(2);
  Image deep{image.size, {}, xcorr::ElementType::u16};
  for (const std::uint8_t byte : image.pixels) {
    const unsigned word = unsigned{byte} << (bits - 8) | random() % (1u << (bits - 8));
    deep.pixels.push_back(static_cast<std::uint8_t>(word));
    deep.pixels.push_back(static_cast<std::uint8_t>(word >> 8));
  }
  return deep;
}

/// Square windows of the frame, spread over it.
inline std::vector<xcorr::MatrixView> cut(const Image& frame, int side, int count) {
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

/// An image where a device reads it fast: in its own memory, or in host memory that is pinned.
struct UploadedFrame {
  xcorr::Block block;
  xcorr::MatrixView view;
};

/// The device's context must be current.
inline UploadedFrame upload(const xcorr::Device& device, const Image& image,
                            xcorr::Memory memory = xcorr::Memory::device) {
  using namespace xcorr;
  const auto& pixels = image.pixels;
  UploadedFrame frame{require(Block::make(device.backend, pixels.size(), memory)), {}};
  const Runtime& r = runtime(device.backend);
  require(r.copy(bytes_copy(frame.block.data(), pixels.data(), pixels.size()), Memory::host, memory,
                 {}));
  require(r.wait({}));
  frame.view = image.view();
  frame.view.data = frame.block.data();
  frame.view.memory = memory;
  return frame;
}
