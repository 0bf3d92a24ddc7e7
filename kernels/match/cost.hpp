// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An estimate of how long templates of one size take in a frame.
#pragma once

#include <cstdint>

#include "device/speed.hpp"
#include "stages/match/mask.hpp"

namespace xcorr {

/// What is searched: `count` templates of one size and mask.
struct SearchWork {
  ElementType type;
  Size region, size;
  std::int64_t count;
  Masking masking;
};

/// How products are made; `by_bytes`: of words those of their bytes, on tensor cores.
enum class Products { by_definition, by_bytes, by_transform, quickest };

/// Seconds.
double seconds_of(const SearchWork& work, Products products, const Device& device);

}  // namespace xcorr
