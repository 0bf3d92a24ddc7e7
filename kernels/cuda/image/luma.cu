// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The luma of packed pixels on the GPU. A thread converts four pixels of a row: it reads them as
// the widest words that the image's alignment allows and writes them as one word. Planes that are
// of the same pixels are made of one reading. Like a copy, it is bound by memory.

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

/// The planes from `first` until `last` are of the same pixels, which are read as such words.
struct Sharing {
  int first = 0, last = 1;
  int word_bytes = 1;
};

/// What the third index of a block is of, unless that is a part.
struct Sharings {
  Sharing of[color_planes];
  int count = 0;
};

template <int bytes, class Word>
__device__ void convert_as(const stage::Luma::Problem& p, const Sharing& sharing,
                           const stage::Luma::Source& source, PartCorner corner,
                           const std::uint8_t* from, std::uint8_t* to) {
  const int x = (blockIdx.x * threads_x + threadIdx.x) * in_group;
  if (x >= p.size.width) return;
  for (int y = blockIdx.y * threads_y + threadIdx.y; y < p.size.height;
       y += gridDim.y * threads_y) {
    const std::uint8_t* const row = from + ((corner.y + y) >> source.halved_y) * source.pitch;
    std::uint8_t group[in_group * bytes];
    if constexpr (sizeof(Word) > 1) {
      read_group<bytes, Word>(row + x * bytes, p.size.width - x, group);
    } else {
#pragma unroll
      for (int i = 0; i < in_group; ++i) {
        const int pixel = (corner.x + min(x + i, p.size.width - 1)) >> source.halved_x;
#pragma unroll
        for (int k = 0; k < bytes; ++k) group[i * bytes + k] = row[pixel * bytes + k];
      }
    }
#pragma unroll
    for (int plane = 0; plane < color_planes; ++plane) {
      if (plane < sharing.first || plane >= sharing.last) continue;
      unsigned luma = 0;
#pragma unroll
      for (int i = 0; i < in_group; ++i)
        luma |= unsigned(luma_of<bytes>(p.sources[plane].layout, group + i * bytes)) << (8 * i);
      *reinterpret_cast<unsigned*>(to + plane * p.luma_stride + y * p.luma_pitch + x) = luma;
    }
  }
}

/// Grid: groups of pixels, rows, parts or sharings.
__global__ void convert(const __grid_constant__ stage::Luma::Problem p,
                        const __grid_constant__ Sharings sharings, const std::uint8_t* from,
                        const PartCorner* corners, std::uint8_t* to) {
  const int z = blockIdx.z;
  const Sharing& sharing = sharings.of[corners ? 0 : z];
  const stage::Luma::Source& source = p.sources[sharing.first];
  const PartCorner corner = corners ? corners[z] : PartCorner{source.odd_x, source.odd_y};
  const auto convert_bytes = [&]<int bytes>() {
    const std::uint8_t* const pixels = from + source.place;
    std::uint8_t* const luma = to + (corners ? z * p.luma_stride : 0);
    if constexpr (bytes == 4)
      if (sharing.word_bytes == sizeof(uint4))
        return convert_as<bytes, uint4>(p, sharing, source, corner, pixels, luma);
    if (sharing.word_bytes > 1)
      convert_as<bytes, unsigned>(p, sharing, source, corner, pixels, luma);
    else
      convert_as<bytes, std::uint8_t>(p, sharing, source, corner, pixels, luma);
  };
  switch (source.layout.bytes) {
    case 1:
      return convert_bytes.operator()<1>();
    case 2:
      return convert_bytes.operator()<2>();
    case 3:
      return convert_bytes.operator()<3>();
    case 4:
      return convert_bytes.operator()<4>();
  }
}

/// Planes of the same pixels follow each other.
Sharings sharings_of(const stage::Luma::Problem& p, const std::uint8_t* pixels) {
  Sharings all;
  for (int i = 0; i < p.planes; ++i) {
    const stage::Luma::Source& source = p.sources[i];
    if (i > 0 && source.shares_pixels_of(p.sources[i - 1])) {
      all.of[all.count - 1].last = i + 1;
      continue;
    }
    const auto place = reinterpret_cast<std::uintptr_t>(pixels + source.place) | source.pitch;
    int word_bytes = 1;
    // Parts begin anywhere.
    if (!p.parts && !source.halved_x && place % sizeof(unsigned) == 0)
      word_bytes =
          source.layout.bytes == 4 && place % sizeof(uint4) == 0 ? sizeof(uint4) : sizeof(unsigned);
    all.of[all.count++] = {i, i + 1, word_bytes};
  }
  return all;
}

Status launch(const stage::Luma::Problem& p, const Device&, const stage::Luma::Buffers& b,
              PlanState*) {
  const Sharings sharings = sharings_of(p, b.pixels);
  const dim3 grid(ceil_div(p.size.width, threads_x * in_group),
                  grid_extent(ceil_div(p.size.height, threads_y)),
                  std::max(p.parts, sharings.count));
  return enqueue("luma", convert, grid, dim3(threads_x, threads_y), 0, b.stream, p, sharings,
                 b.pixels, p.parts ? b.corners : nullptr, b.luma);
}

bool supports(const stage::Luma::Problem& p, const Device&) { return p.parts <= 65535; }

constexpr Variant<stage::Luma> table[] = {
    {{.name = "luma",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::several_images, Feature::subsampled, Feature::planes}},
     {.supports = supports, .launch = launch}},
};

}  // namespace

Family luma_family() { return Family(table); }

}  // namespace xcorr::cuda
