// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The luma of packed pixels on the GPU. A thread makes four pixels of a row: it reads them as the
// widest words that the picture's place allows and writes them as one. It is no more than a copy:
// memory bounds it.
#include "stages/luma.hpp"

#include <cstdint>
#include <cstring>

#include "cuda/common/launch.cuh"

namespace xcorr::cuda {
namespace {

constexpr int threads_x = 32, threads_y = 8;
constexpr int in_group = 4;

/// The group's bytes as words, or those that are in the row one by one.
template <int bytes, class Word>
__device__ void read_group(const std::uint8_t* from, int pixels, std::uint8_t* group) {
  constexpr int words = in_group * bytes / int(sizeof(Word));
  if (pixels >= in_group) {
#pragma unroll
    for (int i = 0; i < words; ++i) {
      const Word word = reinterpret_cast<const Word*>(from)[i];
      std::memcpy(group + i * sizeof(Word), &word, sizeof(Word));
    }
  } else {
#pragma unroll
    for (int i = 0; i < in_group * bytes; ++i) group[i] = i < pixels * bytes ? from[i] : 0;
  }
}

template <int bytes, class Word>
__global__ void convert(LumaCopy copy) {
  const int x = (blockIdx.x * threads_x + threadIdx.x) * in_group;
  if (x >= copy.size.width) return;
  for (int y = blockIdx.y * threads_y + threadIdx.y; y < copy.size.height;
       y += gridDim.y * threads_y) {
    std::uint8_t group[in_group * bytes];
    read_group<bytes, Word>(copy.from + y * copy.from_pitch + x * bytes, copy.size.width - x,
                            group);
    unsigned luma = 0;
#pragma unroll
    for (int i = 0; i < in_group; ++i)
      luma |= unsigned(luma_of<bytes>(copy.pixels, group + i * bytes)) << (8 * i);
    *reinterpret_cast<unsigned*>(copy.to + y * copy.to_pitch + x) = luma;
  }
}

template <int bytes, class Word>
Status launch(const LumaCopy& copy, Stream stream) {
  const dim3 grid(ceil_div(copy.size.width, threads_x * in_group),
                  grid_extent(ceil_div(copy.size.height, threads_y)));
  return enqueue("luma", convert<bytes, Word>, grid, dim3(threads_x, threads_y), 0, stream, copy);
}

template <int bytes>
Status launch(const LumaCopy& copy, Stream stream) {
  const auto place = reinterpret_cast<std::uintptr_t>(copy.from) | copy.from_pitch;
  if constexpr (bytes == 4)
    if (place % sizeof(uint4) == 0) return launch<bytes, uint4>(copy, stream);
  return place % sizeof(unsigned) == 0 ? launch<bytes, unsigned>(copy, stream)
                                       : launch<bytes, std::uint8_t>(copy, stream);
}

}  // namespace

Status copy_luma(const LumaCopy& copy, Stream stream) {
  constexpr Status (*of_bytes[])(const LumaCopy&, Stream) = {launch<2>, launch<3>, launch<4>};
  return of_bytes[copy.pixels.bytes - 2](copy, stream);
}

}  // namespace xcorr::cuda
