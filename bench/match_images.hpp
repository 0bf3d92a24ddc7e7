// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames and templates of the programs that time matches.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include <xcorr/device.hpp>

#include "device/runtime.hpp"
#include "pgm.hpp"
#include "require.hpp"

/// Random bytes: as expensive as any image, and every template is found.
inline Image random_image(xcorr::Size size, Pixels layout = Pixels::gray) {
  std::mt19937 random(1);
  Image image{size, std::vector<std::uint8_t>(bytes_of(size, layout)), xcorr::ElementType::u8,
              layout};
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

/// The same picture of RGB in NV12, by BT.601's full range; chroma of the first of four pixels.
inline Image to_nv12(const Image& rgb) {
  Image image{rgb.size, std::vector<std::uint8_t>(bytes_of(rgb.size, Pixels::nv12)), rgb.type,
              Pixels::nv12};
  const auto [width, height] = rgb.size;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const std::uint8_t* from = &rgb.pixels[3 * (std::size_t(y) * width + x)];
      const double luma = 0.299 * from[0] + 0.587 * from[1] + 0.114 * from[2];
      const auto byte = [](double v) { return std::uint8_t(std::clamp(v + 0.5, 0.0, 255.0)); };
      image.pixels[std::size_t(y) * width + x] = byte(luma);
      if (x % 2 || y % 2) continue;
      std::uint8_t* to =
          &image.pixels[std::size_t(rgb.size.area()) + std::size_t(y) / 2 * width + x];
      to[0] = byte(128 + 0.564 * (from[2] - luma));
      to[1] = byte(128 + 0.713 * (from[0] - luma));
    }
  return image;
}

/// Part of a picture, which begins at even places.
inline xcorr::MatrixView part_of(xcorr::MatrixView view, xcorr::Rect part) {
  const auto move = [](const void*& data, std::ptrdiff_t bytes) {
    data = static_cast<const std::byte*>(data) + bytes;
  };
  move(view.data, part.y * view.pitch + part.x * view.element_bytes());
  for (xcorr::ColorPlane& plane : view.color)
    if (plane.data)
      move(plane.data,
           (part.y >> plane.shift_y) * plane.pitch + (part.x >> plane.shift_x) * plane.step);
  view.size = part.size();
  return view;
}

/// Square windows of the frame with these sides in turns, spread over it.
inline std::vector<xcorr::MatrixView> cut(const Image& frame, const std::vector<int>& sides,
                                          int count) {
  const auto [width, height] = frame.size;
  std::vector<xcorr::MatrixView> views;
  for (int i = 0; i < count; ++i) {
    const int side = sides[std::size_t(i) % sides.size()];
    int x = (37 + i * 211) % (width - side), y = (23 + i * 97) % (height - side);
    if (frame.layout == Pixels::nv12) x -= x % 2, y -= y % 2;
    views.push_back(part_of(frame.view(), {x, y, side, side}));
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
  frame.view = image.view_at(frame.block.data());
  frame.view.memory = memory;
  return frame;
}
