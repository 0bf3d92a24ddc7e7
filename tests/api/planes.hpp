// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pictures of three planes, in the layouts that frames have.
#pragma once

#include <cmath>
#include <vector>

#include "posed_scene.hpp"

namespace api {

template <class T>
using Planes = std::vector<Image<T>>;

template <class T>
Planes<T> random_planes(Size size, unsigned seed) {
  return {random_image<T>(size, seed), random_image<T>(size, seed + 1),
          random_image<T>(size, seed + 2)};
}

template <class T>
Planes<T> crop_planes(const Planes<T>& from, Rect r) {
  return {crop(from[0], r), crop(from[1], r), crop(from[2], r)};
}

/// Each plane where it lies.
template <class T>
MatrixView planar(const Planes<T>& planes) {
  MatrixView view = planes[0].view();
  for (int i = 0; i < color_planes; ++i) view.color[i] = {planes[i].data.data(), view.pitch};
  return view;
}

/// Pixels of `bytes` bytes with the planes at these positions; others are 99.
struct Packed {
  Bytes pixels;
  MatrixView view;

  Packed(const Planes<std::uint8_t>& planes, int bytes, int first, int second, int third)
      : pixels({planes[0].size.width * bytes, planes[0].size.height}, 99) {
    const int positions[] = {first, second, third};
    for (int c = 0; c < color_planes; ++c)
      for (int y = 0; y < planes[0].size.height; ++y)
        for (int x = 0; x < planes[0].size.width; ++x)
          pixels.at(x * bytes + positions[c], y) = planes[c].at(x, y);
    view = pixels.view();
    view.size = planes[0].size;
    view.pixels = packed_rgb(bytes, first, second, third);
    view = with_packed_color(view, first, second, third);
  }
};

/// In each pixel red rises as green falls, so that luma stays.
inline Planes<std::uint8_t> of_equal_luma(const Bytes& red) {
  Planes<std::uint8_t> planes{red, red, Bytes(red.size, 128)};
  for (std::uint8_t& green : planes[1].data)
    green = static_cast<std::uint8_t>(std::lround(128 - 77.0 / 150 * (green - 128)));
  return planes;
}

}  // namespace api
