// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/cost.hpp"

#include <algorithm>

#include <xcorr/correlate.hpp>

namespace xcorr {

double seconds_of(const SearchWork& work, Products products, const Device& device) {
  const Speed speed = speed_of(device, work.type);
  const auto pixels = static_cast<double>(work.region.area());
  const auto windows = static_cast<double>(valid_shifts(work.region, work.size).size().area());
  const double transform = pixels / speed.points;
  const bool weighted = work.masking.weighted;  // then `counted` is the sum of weights
  const auto multiplied =
      static_cast<double>(weighted ? work.size.area() : work.masking.pixels(work.size));
  const double definition =
      products == Products::by_bytes
          ? windows * multiplied * byte_products / speed_of(device, ElementType::u8).products
          : windows * multiplied / speed.products;
  const double each = products == Products::by_transform ? transform
                      : products == Products::quickest   ? std::min(transform, definition)
                                                         : definition;
  // Of the sums under a mask: by runs or, of bytes, by three transforms. A CPU adds up several
  // bytes at once.
  double sums = (pixels + windows) / speed.adds;
  if (work.masking) {
    const bool bytes = work.type == ElementType::u8;
    const double at_once = bytes && device.backend == Backend::cpu ? 4 : 1;
    const double runs =
        2 * windows * static_cast<double>(work.masking.runs) / (at_once * speed.adds);
    sums += bytes || weighted ? std::min(runs, 3 * transform) : runs;
  }
  constexpr int passes = 4;  // over the scores of a template
  return sums + static_cast<double>(work.count) * (each + passes * windows / speed.adds);
}

}  // namespace xcorr
