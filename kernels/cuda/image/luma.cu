// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The luma of packed pixels on the GPU. A thread converts four pixels of a row: it reads them as
// the widest words that the image's alignment allows and writes them as one word. Like a copy, it
// is bound by memory.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cuda/common/launch.cuh"
#include "stages/image/luma.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads_x = 32, threads_y = 8;
constexpr int in_group = 4;

/// The group's bytes as words, or at a row's end the existing ones one by one.
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
__global__ void convert(stage::Luma::Problem p, const std::uint8_t* from, const PartCorner* corners,
                        std::uint8_t* to) {
  if (corners) {
    const PartCorner corner = corners[blockIdx.z];
    from += corner.y * p.pitch + corner.x * bytes;
    to += blockIdx.z * p.luma_stride;
  }
  const int x = (blockIdx.x * threads_x + threadIdx.x) * in_group;
  if (x >= p.size.width) return;
  for (int y = blockIdx.y * threads_y + threadIdx.y; y < p.size.height;
       y += gridDim.y * threads_y) {
    std::uint8_t group[in_group * bytes];
    read_group<bytes, Word>(from + y * p.pitch + x * bytes, p.size.width - x, group);
    unsigned luma = 0;
#pragma unroll
    for (int i = 0; i < in_group; ++i)
      luma |= unsigned(luma_of<bytes>(p.layout, group + i * bytes)) << (8 * i);
    *reinterpret_cast<unsigned*>(to + y * p.luma_pitch + x) = luma;
  }
}

/// A pixel is two of the luma, across, down or both.
template <int bytes>
__global__ void convert_halved(stage::Luma::Problem p, const std::uint8_t* from,
                               const PartCorner* corners, std::uint8_t* to) {
  const PartCorner first = corners ? corners[blockIdx.z] : PartCorner{p.odd_x, p.odd_y};
  to += blockIdx.z * p.luma_stride;
  const int x = (blockIdx.x * threads_x + threadIdx.x) * in_group;
  if (x >= p.size.width) return;
  for (int y = blockIdx.y * threads_y + threadIdx.y; y < p.size.height;
       y += gridDim.y * threads_y) {
    const std::uint8_t* const row = from + ((first.y + y) >> p.halved_y) * p.pitch;
    unsigned luma = 0;
#pragma unroll
    for (int i = 0; i < in_group; ++i)
      if (x + i < p.size.width)
        luma |= unsigned(luma_of<bytes>(p.layout, row + ((first.x + x + i) >> p.halved_x) * bytes))
                << (8 * i);
    *reinterpret_cast<unsigned*>(to + y * p.luma_pitch + x) = luma;
  }
}

dim3 grid_of(const stage::Luma::Problem& p) {
  return dim3(ceil_div(p.size.width, threads_x * in_group),
              grid_extent(ceil_div(p.size.height, threads_y)), std::max(p.parts, 1));
}

template <int bytes, class Word>
Status launch_as(const stage::Luma::Problem& p, const stage::Luma::Buffers& b) {
  return enqueue("luma", convert<bytes, Word>, grid_of(p), dim3(threads_x, threads_y), 0, b.stream,
                 p, b.pixels, p.parts ? b.corners : nullptr, b.luma);
}

template <int bytes>
Status launch_of(const stage::Luma::Problem& p, const stage::Luma::Buffers& b) {
  if (p.halved_x || p.halved_y)
    return enqueue("luma", convert_halved<bytes>, grid_of(p), dim3(threads_x, threads_y), 0,
                   b.stream, p, b.pixels, p.parts ? b.corners : nullptr, b.luma);
  if (p.parts) return launch_as<bytes, std::uint8_t>(p, b);  // which begin anywhere
  const auto place = reinterpret_cast<std::uintptr_t>(b.pixels) | p.pitch;
  if constexpr (bytes == 4)
    if (place % sizeof(uint4) == 0) return launch_as<bytes, uint4>(p, b);
  return place % sizeof(unsigned) == 0 ? launch_as<bytes, unsigned>(p, b)
                                       : launch_as<bytes, std::uint8_t>(p, b);
}

Status launch(const stage::Luma::Problem& p, const Device&, const stage::Luma::Buffers& b,
              PlanState*) {
  constexpr Status (*of_bytes[])(const stage::Luma::Problem&, const stage::Luma::Buffers&) = {
      launch_of<1>, launch_of<2>, launch_of<3>, launch_of<4>};
  return of_bytes[p.layout.bytes - 1](p, b);
}

bool supports(const stage::Luma::Problem& p, const Device&) { return p.parts <= 65535; }

constexpr Variant<stage::Luma> table[] = {
    {{.name = "luma",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::several_images, Feature::subsampled}},
     {.supports = supports, .launch = launch}},
};

}  // namespace

Family luma_family() { return Family(table); }

}  // namespace xcorr::cuda
