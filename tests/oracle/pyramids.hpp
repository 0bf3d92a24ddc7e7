// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pyramids of templates for tests, whose levels may be halved in any way.
#pragma once

#include <algorithm>
#include <vector>

#include "stages/poses/build_pyramid.hpp"

namespace xcorr::oracle {

/// All levels with their rims. \param level  the first one's pixels, dense
/// \param down  makes a pixel of four: of the upper row, then of the lower one
template <class T, class Down>
std::vector<T> pyramid_of(const TemplatePyramid& sizes, std::vector<T> level, Down down) {
  std::vector<T> all(sizes.area());
  for (int i = 0; i <= sizes.halvings; ++i) {
    const auto [width, height] = sizes.size_of(i);
    const Size rimmed = sizes.rimmed_size_of(i);
    for (int y = 0; y < rimmed.height; ++y)
      for (int x = 0; x < rimmed.width; ++x) {
        const int row = std::clamp(y - TemplatePyramid::before, 0, height - 1),
                  column = std::clamp(x - TemplatePyramid::before, 0, width - 1);
        all[sizes.begin_of(i) + std::int64_t{y} * rimmed.width + x] =
            level[std::int64_t{row} * width + column];
      }
    std::vector<T> halved;
    for (int y = 0; y + 1 < height; y += 2)
      for (int x = 0; x + 1 < width; x += 2) {
        const T* const upper = &level[std::int64_t{y} * width + x];
        halved.push_back(down(upper[0], upper[1], upper[width], upper[width + 1]));
      }
    level = std::move(halved);
  }
  return all;
}

}  // namespace xcorr::oracle
