// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstdint>
#include <type_traits>

#include "stages/common/host_device.hpp"

namespace xcorr {

/// A row of an image of T whose rows lie `pitch` bytes apart. Any: maybe const, maybe void.
template <class T, class Any>
XCORR_HD auto* row_of(Any* image, std::int64_t pitch, std::int64_t y) {
  using Byte = std::conditional_t<std::is_const_v<Any>, const unsigned char, unsigned char>;
  using Pixel = std::conditional_t<std::is_const_v<Any>, const T, T>;
  using Void = std::conditional_t<std::is_const_v<Any>, const void, void>;
  Byte* const row = static_cast<Byte*>(static_cast<Void*>(image)) + y * pitch;
  return static_cast<Pixel*>(static_cast<Void*>(row));
}

}  // namespace xcorr
