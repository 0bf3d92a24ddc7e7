// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The luma of packed pixels on the GPU. A thread converts four pixels of a row, or of a few rows
// where a pixel has few bytes: it reads them as the widest words that the image's alignment allows
// and writes them as one word, or as more where a pixel is of two columns or rows. Planes that are
// of the same pixels are made of one reading. Like a copy, it is bound by memory.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cuda/common/launch.cuh"
#include "stages/image/luma.hpp"

namespace xcorr::cuda {
namespace {

using u32 = std::uint32_t;

constexpr int threads_x = 32, threads_y = 8;
constexpr int in_group = 4;
/// Rows of a thread, all read before the first is written.
constexpr int rows_at_once(int bytes) { return bytes < 3 ? 4 / bytes : 1; }

/// The planes from `first` until `last` are of the same pixels, which are read as such words; 1:
/// byte by byte, as parts are, and what is not aligned or begins with fewer luma of a pixel.
struct Sharing {
  int first = 0, last = 1;
  int word_bytes = 1;
};

struct Sharings {
  Sharing of[color_planes];  ///< by the third index of a block, unless that is a part
  int count = 0;
  int blocks_down = 0;       ///< for rows_at_once() of each thread
  int picked[color_planes];  ///< the byte of a pixel that is a plane's, or -1: its luma
};

/// Four pixels side by side, in the order of memory.
template <int bytes>
struct Group {
  u32 words[bytes];

  /// \param byte  of pixel i the k-th
  template <class Byte>
  __device__ void gather(Byte byte) {
#pragma unroll
    for (int w = 0; w < bytes; ++w) words[w] = 0;
#pragma unroll
    for (int i = 0; i < in_group * bytes; ++i)
      words[i / 4] |= u32(byte(i / bytes, i % bytes)) << 8 * (i % 4);
  }
  template <class Word>
  __device__ void read(const std::uint8_t* from) {
    static_assert(sizeof(words) % sizeof(Word) == 0 && sizeof(Word) % sizeof(u32) == 0);
#pragma unroll
    for (int i = 0; i < int(sizeof(words) / sizeof(Word)); ++i) {
      const Word word = reinterpret_cast<const Word*>(from)[i];
      std::memcpy(words + i * sizeof(Word) / sizeof(u32), &word, sizeof(Word));
    }
  }
  __device__ u32 luma(const PixelLayout& layout) const {
    std::uint8_t pixels[in_group * bytes];
    std::memcpy(pixels, words, sizeof(pixels));
    u32 luma = 0;
#pragma unroll
    for (int i = 0; i < in_group; ++i)
      luma |= u32(luma_of<bytes>(layout, pixels + i * bytes)) << 8 * i;
    return luma;
  }
  /// The k-th byte of each pixel.
  __device__ u32 pick(int k) const {
    if constexpr (bytes == 1) {
      return words[0];
    } else if constexpr (bytes == 2) {
      return __byte_perm(words[0], words[1], 0x6420 + 0x1111 * k);
    } else if constexpr (bytes == 3) {
      const u32 first = __byte_perm(words[0], words[1], 0x0030 + 0x0011 * k + ((6 + k) & 7) * 256);
      return __byte_perm(first, words[2], k < 2 ? 0x5210 + 0x1000 * k : 0x7410);
    } else {
      const int of_two = 0x40 + 0x11 * k;
      return __byte_perm(__byte_perm(words[0], words[1], of_two),
                         __byte_perm(words[2], words[3], of_two), 0x5410);
    }
  }
};

/// Calls take(plane, word) with a group's four of each plane.
template <int bytes, class Take>
__device__ void for_planes(const stage::Luma::Problem& p, const Sharings& sharings,
                           const Sharing& sharing, const Group<bytes>& group, Take take) {
#pragma unroll
  for (int plane = 0; plane < color_planes; ++plane) {
    if (plane < sharing.first || plane >= sharing.last) continue;
    const int k = sharings.picked[plane];
    take(plane, k >= 0 ? group.pick(k) : group.luma(p.sources[plane].layout));
  }
}

/// What a thread converts of an image, or of a part of it whose first pixel's luma is at `corner`.
template <int bytes>
struct Conversion {
  const stage::Luma::Problem& p;
  const Sharings& sharings;
  const Sharing& sharing;
  const stage::Luma::Source& source;
  PartCorner corner;
  const std::uint8_t* __restrict__ from;
  std::uint8_t* __restrict__ to;

  /// Four of the luma, at any place and alignment.
  __device__ void convert(int x, int y) const {
    const std::uint8_t* const row = from + ((corner.y + y) >> source.halved_y) * source.pitch;
    Group<bytes> group;
    group.gather([&](int i, int k) {
      return row[((corner.x + min(x + i, p.size.width - 1)) >> source.halved_x) * bytes + k];
    });
    for_planes(p, sharings, sharing, group,
               [&](int plane, u32 word) { *words(plane, x, y) = word; });
  }
  /// What is of four pixels of rows `step` apart, where a row's first one is of as much luma as
  /// others.
  template <class Word>
  __device__ void convert_rows(int x, int first, int step, int height) const {
    constexpr int rows = rows_at_once(bytes);
    const int across = source.halved_x, left = x << across;
    Group<bytes> groups[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r)
      groups[r].template read<Word>(from + min(first + r * step, height - 1) * source.pitch +
                                    x * bytes);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const int top = (first + r * step) << source.halved_y;
      for_planes(p, sharings, sharing, groups[r], [&](int plane, u32 word) {
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          if (k > source.halved_y || top + k >= p.size.height) break;
          u32* const to = words(plane, left, top + k);
          to[0] = across ? __byte_perm(word, 0, 0x1100) : word;
          if (across) to[1] = __byte_perm(word, 0, 0x3322);
        }
      });
    }
  }

 private:
  __device__ u32* words(int plane, int x, int y) const {
    return reinterpret_cast<u32*>(to + plane * p.luma_stride + y * p.luma_pitch + x);
  }
};

/// By words of that type, or byte by byte, as the end of a row is, too.
template <class Word, int bytes>
__device__ void convert_all(const Conversion<bytes>& all) {
  const Size luma = all.p.size, pixels = all.source.pixels(luma);
  const int x = (blockIdx.x * threads_x + threadIdx.x) * in_group, step = gridDim.y * threads_y;
  int y = blockIdx.y * threads_y + threadIdx.y;
  if constexpr (sizeof(Word) > 1)
    if (x + in_group <= pixels.width) {
      for (; y < pixels.height; y += rows_at_once(bytes) * step)
        all.template convert_rows<Word>(x, y, step, pixels.height);
      return;
    }
  const int across = sizeof(Word) > 1 ? all.source.halved_x : 0;
  for (; y < luma.height; y += step)
    for (int k = 0; k <= across; ++k)
      if (const int left = (x << across) + k * in_group; left < luma.width) all.convert(left, y);
}

/// Grid: groups of pixels, rows, parts or sharings.
__global__ void convert(const __grid_constant__ stage::Luma::Problem p,
                        const __grid_constant__ Sharings sharings, const std::uint8_t* from,
                        const PartCorner* corners, std::uint8_t* to) {
  wait_for_previous();
  const int z = blockIdx.z;
  const Sharing& sharing = sharings.of[corners ? 0 : z];
  const stage::Luma::Source& source = p.sources[sharing.first];
  const PartCorner corner = corners ? corners[z] : PartCorner{source.odd_x, source.odd_y};
  const auto convert_as = [&]<int bytes>() {
    const Conversion<bytes> all{p,
                                sharings,
                                sharing,
                                source,
                                corner,
                                from + source.place,
                                to + (corners ? z * p.luma_stride : 0)};
    if constexpr (bytes == 4)
      if (sharing.word_bytes == sizeof(uint4)) return convert_all<uint4>(all);
    if (sharing.word_bytes > 1)
      convert_all<u32>(all);
    else
      convert_all<std::uint8_t>(all);
  };
  switch (source.layout.bytes) {
    case 1:
      return convert_as.operator()<1>();
    case 2:
      return convert_as.operator()<2>();
    case 3:
      return convert_as.operator()<3>();
    case 4:
      return convert_as.operator()<4>();
  }
}

/// Of which bytes words are read, given a place that is aligned as all rows are.
int word_bytes_of(const stage::Luma::Source& source, std::uintptr_t place) {
  if (source.odd_x || source.odd_y || place % sizeof(u32) != 0) return 1;
  return source.layout.bytes == 4 && place % sizeof(uint4) == 0 ? sizeof(uint4) : sizeof(u32);
}

/// Planes of the same pixels follow each other.
Sharings sharings_of(const stage::Luma::Problem& p, const std::uint8_t* pixels) {
  Sharings all;
  for (int i = 0; i < p.planes; ++i) {
    const stage::Luma::Source& source = p.sources[i];
    const int* const weights = source.layout.weights;
    const int* const whole = std::find(weights, weights + source.layout.bytes, 256);
    all.picked[i] = whole == weights + source.layout.bytes ? -1 : static_cast<int>(whole - weights);
    if (i > 0 && source.shares_pixels_of(p.sources[i - 1])) {
      all.of[all.count - 1].last = i + 1;
      continue;
    }
    const auto place = reinterpret_cast<std::uintptr_t>(pixels + source.place) | source.pitch;
    all.of[all.count++] = {i, i + 1, p.parts ? 1 : word_bytes_of(source, place)};
    all.blocks_down = std::max(
        all.blocks_down,
        ceil_div(source.pixels(p.size).height, threads_y * rows_at_once(source.layout.bytes)));
  }
  return all;
}

Status launch(const stage::Luma::Problem& p, const Device& device, const stage::Luma::Buffers& b,
              PlanState*) {
  const Sharings sharings = sharings_of(p, b.pixels);
  const dim3 grid(ceil_div(p.size.width, threads_x * in_group), grid_extent(sharings.blocks_down),
                  std::max(p.parts, sharings.count));
  return enqueue_early(device, "luma", convert, grid, dim3(threads_x, threads_y), 0, b.stream, p,
                       sharings, b.pixels, p.parts ? b.corners : nullptr, b.luma);
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
