// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames in colour of random pixels, each in one piece of memory, so that a copy of that is the
// same frame on a device.
#pragma once

#include "support.hpp"

namespace api {

using Bytes = Image<std::uint8_t>;

/// A frame in colour in one piece of memory.
struct ColorFrame {
  Bytes bytes;
  MatrixView view;

  /// In another copy of the memory.
  MatrixView in(const void* copy, Memory memory) const {
    const auto moved = [&](const void* data) {
      return static_cast<const std::uint8_t*>(copy) +
             (static_cast<const std::uint8_t*>(data) - bytes.data.data());
    };
    MatrixView same = view;
    same.memory = memory;
    same.data = moved(view.data);
    for (ColorPlane& plane : same.color) plane.data = moved(plane.data);
    return same;
  }
  /// A part that begins at an even place.
  MatrixView part(const Rect& r) const {
    const auto at = [&](const void* data, std::ptrdiff_t pitch, int step, int x, int y) {
      return static_cast<const std::uint8_t*>(data) + y * pitch + std::ptrdiff_t{x} * step;
    };
    MatrixView cut = view;
    cut.size = r.size();
    cut.data = at(view.data, view.pitch, view.pixels.bytes, r.x, r.y);
    for (ColorPlane& p : cut.color)
      p.data = at(p.data, p.pitch, p.step, r.x >> p.shift_x, r.y >> p.shift_y);
    return cut;
  }
};

/// Packed pixels, the same from the last row to the first, planes of their own, and of NV12.
inline std::vector<ColorFrame> color_frames(Size size) {
  const auto [width, height] = size;
  const int area = width * height;
  std::vector<ColorFrame> frames;
  for (int i = 0; i < 4; ++i)
    frames.push_back({random_image<std::uint8_t>({4 * width, height}, 3), {}});
  for (ColorFrame& frame : frames)
    frame.view = {frame.bytes.data.data(), ElementType::u8, size, width, Memory::host};
  for (ColorFrame* frame : {&frames[0], &frames[1]}) {
    frame->view.pitch = 4 * width;
    frame->view.pixels = packed_rgb(4, 2, 1, 0);
  }
  frames[1].view.data = &frames[1].bytes.at(0, height - 1);
  frames[1].view.pitch = -4 * width;
  for (ColorFrame* frame : {&frames[0], &frames[1]})
    frame->view = with_packed_color(frame->view, 2, 1, 0);
  for (int c = 0; c < color_planes; ++c) {
    frames[2].view.color[c] = {&frames[2].bytes.data[c * area], width};
    frames[3].view.color[c] = {&frames[3].bytes.data[area], width, 2, c - 1, 1, 1};
  }
  frames[3].view.color[0] = {frames[3].bytes.data.data(), width};
  return frames;
}

}  // namespace api
