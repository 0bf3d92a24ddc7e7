// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What U16Split needs of the CPU: 16-bit images taken apart, sums put together.
#pragma once

#include <vector>

#include "cpu/common/common.hpp"
#include "stages/correlate/u16_split.hpp"

namespace xcorr::cpu {

struct U16Splitter {
  using Memory = std::vector<std::byte>;
  static Result<Memory> allocate(std::size_t bytes) { return Memory(bytes); }

  static Status split(const Images16& from, void* planes, Stream) {
    const U16SplitLayout layout{from.size};
    auto* const bytes = static_cast<std::uint8_t*>(planes);
    parallel_for(std::int64_t{0}, from.count * from.size.height, [&](std::int64_t row) {
      const std::int64_t image = row / from.size.height, y = row % from.size.height;
      const auto* pixels = reinterpret_cast<const std::uint16_t*>(
          static_cast<const std::byte*>(from.data) + image * from.stride + y * from.pitch);
      std::uint8_t* high = bytes + 2 * image * layout.stride() + y * layout.pitch();
      std::uint8_t* low = high + layout.stride();
      for (int x = 0; x < from.size.width; ++x) {
        high[x] = static_cast<std::uint8_t>(pixels[x] >> 8);
        low[x] = static_cast<std::uint8_t>(pixels[x]);
      }
    });
    return {};
  }

  static Status combine(const U16SplitProducts& sums, std::int64_t pitch, std::int64_t stride,
                        unsigned long long* out, Stream) {
    const int width = sums.size.width, height = sums.size.height;
    const auto run = [&]<class T>() {
      parallel_for(std::int64_t{0}, std::int64_t{height} * sums.rights, [&](std::int64_t row) {
        const auto r = static_cast<int>(row / height);
        const std::int64_t y = row % height;
        for (int x = 0; x < width; ++x)
          out[r * stride + y * pitch + x] = whole_product<T>(sums, r, y * width + x);
      });
    };
    if (sums.type == ElementType::u64)
      run.template operator()<std::uint64_t>();
    else
      run.template operator()<std::uint32_t>();
    return {};
  }
};

}  // namespace xcorr::cpu
