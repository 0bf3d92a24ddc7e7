// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Exact scores of pictures at the places round the expected ones on the GPU: a block a picture, and
// its warps share the places.
#include "cuda/common/launch.cuh"
#include "cuda/common/warp.cuh"
#include "stages/probe.hpp"
#include "stages/score.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr int across = 2 * stage::Probe::reach + 1, places = across * across;

struct Windows {
  const std::uint8_t* frame;
  const std::uint8_t* pictures;
  const std::uint8_t* masks;
  const TurnedSums* sums;
  const ProbePlace* expected;
};

/// By one warp, whose threads all get it.
__device__ double score_at(const stage::Probe::Problem& p, const Windows& w, int index, int x,
                           int y) {
  const ProbePlace size = w.expected[index];
  const std::uint8_t* picture = w.pictures + index * p.most.area();
  const std::uint8_t* mask = w.masks + index * p.most.area();
  const int lane = threadIdx.x % 32;
  unsigned long long product = 0, sum = 0, squares = 0;
  for (int j = 0; j < size.height; ++j) {
    const std::uint8_t* f = w.frame + (y + j) * p.pitch + x;
    const std::int64_t row = std::int64_t{j} * p.most.width;
    unsigned in_row[3] = {};  // a thread's share of a row fits
    for (int i = lane; i < size.width; i += 32) {
      const unsigned counted = mask[row + i] ? f[i] : 0;
      in_row[0] += counted * picture[row + i];
      in_row[1] += counted;
      in_row[2] += counted * counted;
    }
    product += in_row[0];
    sum += in_row[1];
    squares += in_row[2];
  }
  const TurnedSums& right = w.sums[index];
  return score(p.method, WindowTerms<std::int64_t>{static_cast<std::int64_t>(right.counted),
                                                   static_cast<std::int64_t>(warp_sum(product)),
                                                   static_cast<std::int64_t>(warp_sum(sum)),
                                                   static_cast<std::int64_t>(warp_sum(squares)),
                                                   static_cast<std::int64_t>(right.sums.sum),
                                                   static_cast<std::int64_t>(right.sums.squares)});
}

__global__ void __launch_bounds__(threads)
    probe(stage::Probe::Problem p, Windows w, ProbedPlace* found) {
  __shared__ ProbedPlace tried[places];
  for (int index = blockIdx.x; index < p.count; index += gridDim.x) {
    const ProbePlace expected = w.expected[index];
    for (int place = threadIdx.x / 32; place < places; place += warps) {
      const int x = expected.left() - stage::Probe::reach + place % across;
      const int y = expected.top() - stage::Probe::reach + place / across;
      const bool inside = w.sums[index].counted > 0 && x >= 0 && y >= 0 &&
                          x <= p.frame.width - expected.width &&
                          y <= p.frame.height - expected.height;
      const double here = inside ? score_at(p, w, index, x, y) : 0;
      if (threadIdx.x % 32 == 0) tried[place] = {here, x, y, inside};
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      const bool minimum = info(p.method).minimum;
      ProbedPlace best{};
      for (const ProbedPlace& one : tried)
        if (one.is_inside &&
            (!best.is_inside || (minimum ? one.score < best.score : one.score > best.score)))
          best = one;
      found[index] = best;
    }
    __syncthreads();  // the next picture overwrites `tried`
  }
}

Status launch(const stage::Probe::Problem& p, const Device&, const stage::Probe::Buffers& b,
              PlanState*) {
  return enqueue("probe", probe, dim3(grid_extent(p.count)), dim3(threads), 0, b.stream, p,
                 Windows{b.frame, b.pictures, b.masks, b.sums, b.expected}, b.found);
}

constexpr Variant<stage::Probe> table[] = {
    {{"probe", Backend::cuda, Feature::u8}, supports_all, launch},
};

}  // namespace

Family probe_family() { return Family(table); }

}  // namespace xcorr::cuda
