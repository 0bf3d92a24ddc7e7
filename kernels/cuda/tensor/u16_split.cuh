// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What U16Split needs of a GPU: 16-bit images taken apart, four pixels per thread, and sums put
// together, one shift per thread.
#pragma once

#include "cuda/common/launch.cuh"
#include "device/runtime.hpp"
#include "stages/correlate/u16_split.hpp"

namespace xcorr::cuda {

inline constexpr int u16_split_block = 128;

static __global__ void __launch_bounds__(u16_split_block)
    split_u16(Images16 from, std::uint8_t* planes) {
  const U16SplitLayout layout{from.size};
  const int x = 4 * (blockIdx.x * u16_split_block + threadIdx.x);
  if (x >= from.size.width) return;
  for (std::int64_t image = blockIdx.z; image < from.count; image += gridDim.z)
    for (int y = blockIdx.y; y < from.size.height; y += gridDim.y) {
      const auto* pixels =
          reinterpret_cast<const std::uint16_t*>(static_cast<const std::byte*>(from.data) +
                                                 image * from.stride + y * from.pitch) +
          x;
      std::uint32_t high = 0, low = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t pixel = x + i < from.size.width ? pixels[i] : 0;
        high |= (pixel >> 8) << 8 * i;
        low |= (pixel & 255) << 8 * i;
      }
      std::uint8_t* to = planes + 2 * image * layout.stride() + y * layout.pitch() + x;
      *reinterpret_cast<std::uint32_t*>(to) = high;
      *reinterpret_cast<std::uint32_t*>(to + layout.stride()) = low;
    }
}

template <class T>
__global__ void __launch_bounds__(u16_split_block)
    combine_u16(U16SplitProducts sums, std::int64_t pitch, std::int64_t stride,
                unsigned long long* out) {
  const int x = blockIdx.x * u16_split_block + threadIdx.x;
  if (x >= sums.size.width) return;
  for (int r = blockIdx.z; r < sums.rights; r += gridDim.z)
    for (int y = blockIdx.y; y < sums.size.height; y += gridDim.y)
      out[r * stride + y * pitch + x] =
          whole_product<T>(sums, r, std::int64_t{y} * sums.size.width + x);
}

struct U16Splitter {
  using Memory = Block;
  static Result<Memory> allocate(std::size_t bytes) { return Block::make(Backend::cuda, bytes); }

  static Status split(const Images16& from, void* planes, Stream stream) {
    const dim3 grid(ceil_div(from.size.width, 4 * u16_split_block), grid_extent(from.size.height),
                    grid_extent(from.count));
    return enqueue("split_u16", split_u16, grid, dim3(u16_split_block), 0, stream, from,
                   static_cast<std::uint8_t*>(planes));
  }

  static Status combine(const U16SplitProducts& sums, std::int64_t pitch, std::int64_t stride,
                        unsigned long long* out, Stream stream) {
    const dim3 grid(ceil_div(sums.size.width, u16_split_block), grid_extent(sums.size.height),
                    grid_extent(sums.rights));
    return enqueue("combine_u16",
                   sums.type == ElementType::u64 ? combine_u16<unsigned long long>
                                                 : combine_u16<std::uint32_t>,
                   grid, dim3(u16_split_block), 0, stream, sums, pitch, stride, out);
  }
};

}  // namespace xcorr::cuda
