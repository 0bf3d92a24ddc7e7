// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Bytes as words on the GPU: a thread takes eight pixels of a row. It is bound by memory.
#include "cuda/common/launch.cuh"
#include "cuda/common/row_words.cuh"
#include "stages/image/widen.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads_x = 32, threads_y = 8;
constexpr int in_group = 8;

/// Grid: groups of pixels, rows, planes.
__global__ void __launch_bounds__(threads_x* threads_y)
    widen(stage::Widen::Problem p, const std::uint8_t* pixels, std::byte* words) {
  const int x = static_cast<int>(blockIdx.x * threads_x + threadIdx.x) * in_group;
  if (x >= p.size.width) return;
  pixels += blockIdx.z * p.plane;
  words += blockIdx.z * p.word_plane;
  for (int y = static_cast<int>(blockIdx.y * threads_y + threadIdx.y); y < p.size.height;
       y += static_cast<int>(gridDim.y) * threads_y) {
    std::uint32_t four[in_group / 4];
    load_words(pixels + y * p.pitch, x, p.size.width, four);
    const auto pair = [&](int i) {  // a byte, nothing, the next byte, nothing
      return __byte_perm(four[i / 2], 0, i % 2 ? 0x4342 : 0x4140);
    };
    *reinterpret_cast<uint4*>(words + y * p.word_pitch + x * sizeof(std::uint16_t)) = {
        pair(0), pair(1), pair(2), pair(3)};
  }
}

Status launch(const stage::Widen::Problem& p, const Device&, const stage::Widen::Buffers& b,
              PlanState*) {
  const dim3 grid(ceil_div(p.size.width, threads_x * in_group),
                  grid_extent(ceil_div(p.size.height, threads_y)), p.planes);
  return enqueue("widen", widen, grid, dim3(threads_x, threads_y), 0, b.stream, p, b.pixels,
                 reinterpret_cast<std::byte*>(b.words));
}

constexpr Variant<stage::Widen> table[] = {
    {{.name = "widen", .backend = Backend::cuda, .features = {Feature::u8, Feature::planes}},
     {.launch = launch}},
};

}  // namespace

Family widen_family() { return Family(table); }

}  // namespace xcorr::cuda
