// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What ByHalves needs of a GPU: 16-bit pictures taken apart, four pixels a thread, and sums put
// together, one shift a thread.
#pragma once

#include "cuda/common/launch.cuh"
#include "device/runtime.hpp"
#include "stages/halves.hpp"

namespace xcorr::cuda {

inline constexpr int halves_block = 128;

static __global__ void __launch_bounds__(halves_block)
    split_halves(Pictures16 from, std::uint8_t* planes) {
  const HalvesLayout layout{from.size};
  const int x = 4 * (blockIdx.x * halves_block + threadIdx.x);
  if (x >= from.size.width) return;
  for (std::int64_t picture = blockIdx.z; picture < from.count; picture += gridDim.z)
    for (int y = blockIdx.y; y < from.size.height; y += gridDim.y) {
      const auto* pixels =
          reinterpret_cast<const std::uint16_t*>(static_cast<const std::byte*>(from.data) +
                                                 picture * from.stride + y * from.pitch) +
          x;
      std::uint32_t high = 0, low = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t pixel = x + i < from.size.width ? pixels[i] : 0;
        high |= (pixel >> 8) << 8 * i;
        low |= (pixel & 255) << 8 * i;
      }
      std::uint8_t* to = planes + 2 * picture * layout.stride() + y * layout.pitch() + x;
      *reinterpret_cast<std::uint32_t*>(to) = high;
      *reinterpret_cast<std::uint32_t*>(to + layout.stride()) = low;
    }
}

template <class T>
__global__ void __launch_bounds__(halves_block)
    combine_halves(HalfProducts sums, std::int64_t pitch, std::int64_t stride,
                   unsigned long long* out) {
  const int x = blockIdx.x * halves_block + threadIdx.x;
  if (x >= sums.size.width) return;
  for (int r = blockIdx.z; r < sums.rights; r += gridDim.z)
    for (int y = blockIdx.y; y < sums.size.height; y += gridDim.y)
      out[r * stride + y * pitch + x] =
          whole_product<T>(sums, r, std::int64_t{y} * sums.size.width + x);
}

struct Halves {
  using Memory = Block;
  static Result<Memory> allocate(std::size_t bytes) { return Block::make(Backend::cuda, bytes); }

  static Status split(const Pictures16& from, void* planes, Stream stream) {
    const dim3 grid(ceil_div(from.size.width, 4 * halves_block), grid_extent(from.size.height),
                    grid_extent(from.count));
    return enqueue("split_halves", split_halves, grid, dim3(halves_block), 0, stream, from,
                   static_cast<std::uint8_t*>(planes));
  }

  static Status combine(const HalfProducts& sums, std::int64_t pitch, std::int64_t stride,
                        unsigned long long* out, Stream stream) {
    const dim3 grid(ceil_div(sums.size.width, halves_block), grid_extent(sums.size.height),
                    grid_extent(sums.rights));
    return enqueue("combine_halves",
                   sums.type == ElementType::u64 ? combine_halves<unsigned long long>
                                                 : combine_halves<std::uint32_t>,
                   grid, dim3(halves_block), 0, stream, sums, pitch, stride, out);
  }
};

}  // namespace xcorr::cuda
