// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Exact scores of warped templates at the places near the expected ones on the GPU. A try's
// image is cut into strips of rows, a block a strip, which adds its sums to those of the try; the
// last block computes the scores.
#include "cuda/common/resident.cuh"
#include "cuda/common/shared_budget.cuh"
#include "cuda/common/shared_memory.cuh"
#include "cuda/poses/rescoring.cuh"

namespace xcorr::cuda {
namespace {

using u64 = unsigned long long;

/// What a block has besides a strip's pixels. In registers all but sums would leave too few.
template <int planes>
struct Own {
  typename Rescoring<planes>::Sums sums;
  typename Rescoring<planes>::Totals all;
  RescoredTry rescored;
  WarpedPlaces places;  ///< of its image's samples
  int most_strips;      ///< of an image
  int index, strips;    ///< of the try, and how many its image has
  int first_row, rows;  ///< of the image in this strip; maybe none
};

/// How images are cut into strips.
template <int planes>
struct Cut {
  int most_rows;  ///< of a strip, for which there is shared memory
  int height;     ///< of the largest image
  int words;      ///< of a row of it

  static constexpr int fewest_rows = 4;  ///< lower ones read more of the frame than they share

  static Cut of(Size most) {
    const int words = ceil_div(most.width, 4);
    int rows = most.height;
    while (rows > 1 && Rescoring<planes>::bytes(words, rows) > dynamic_budget<Own<planes>>())
      --rows;
    return {rows, most.height, words};
  }
  /// Even of one row.
  static bool fits(Size most) {
    return Rescoring<planes>::bytes(ceil_div(most.width, 4), 1) <= dynamic_budget<Own<planes>>();
  }
  std::size_t bytes() const { return Rescoring<planes>::bytes(words, most_rows); }
  /// The strips of an image, so that those of all tries are about as many as blocks: a block alone
  /// with an image adds nothing to what others have, and few images are shared by many blocks.
  __host__ __device__ int strips(int tries, int blocks) const {
    const int fewest = ceil_div(height, most_rows), most = ceil_div(height, fewest_rows),
              shared = blocks / (tries > 0 ? tries : 1);
    const int wanted = shared < most ? shared : most;
    return wanted > fewest ? wanted : fewest;
  }
};

template <int planes>
__global__ void __launch_bounds__(Rescoring<planes>::threads, resident_blocks(3, 1))
    local_rescore(stage::LocalRescore::Problem p, stage::LocalRescore::Buffers b, bool minimum,
                  Cut<planes> cut, unsigned* block_counters, u64* totals) {
  using OfPlanes = Rescoring<planes>;
  constexpr int sum_count = OfPlanes::sum_count;
  static_assert(sum_count <= OfPlanes::threads, "a thread a sum");
  __shared__ Own<planes> own;
  auto& [sums, all, rescored, places, most_strips, index, strips, first_row, rows] = own;
  wait_for_previous();
  const int count = *b.candidate_count * p.tries();
  const int items = count * cut.strips(count, gridDim.x);
  if (threadIdx.x == 0) most_strips = cut.strips(count, gridDim.x);
  for (int item = blockIdx.x; item < items; item += gridDim.x) {
    if (threadIdx.x == 0) {
      index = item / most_strips;
      rescored = RescoredTry::of(p, b, index);
      places = WarpedPlaces(WarpedTemplate(p.pyramid, b.pixels, b.mask, rescored.map.level),
                            rescored.map);
      const int height = rescored.map.height, strip = item % most_strips,
                of_strip = max(ceil_div(height, most_strips), min(cut.fewest_rows, cut.most_rows));
      strips = ceil_div(height, of_strip);
      first_row = strip * of_strip;
      rows = min(height - first_row, of_strip);
      if (strip == 0 && !rescored.exists()) b.found[index] = {};
    }
    if (threadIdx.x < sum_count) sums[threadIdx.x] = 0;
    __syncthreads();
    if (rows > 0) {
      OfPlanes::add(p, b, rescored, places, first_row, rows, dynamic_shared<std::uint8_t>(), sums);
      __syncthreads();
      u64* const of_try = totals + std::int64_t{index} * sum_count;
      if (add_up(sums, of_try, &block_counters[index], strips, all) && threadIdx.x < 32)
        OfPlanes::find(p, minimum, rescored, all, b.found[index]);
    }
    __syncthreads();  // the next strip overwrites what is shared
  }
}

template <int planes>
Status launch_as(const stage::LocalRescore::Problem& p, const Device& device,
                 const stage::LocalRescore::Buffers& b, PlanState* state) {
  const auto cut = Cut<planes>::of(p.most);
  const std::int64_t blocks =
      std::int64_t{p.count} * p.tries() * ceil_div(p.most.height, cut.fewest_rows);
  const auto& totals = *static_cast<const RescoringTotals*>(state);
  // One more is there for another search: with that of its own, images are cut into more strips.
  constexpr int blocks_of_processor = 2;
  const auto most = std::int64_t{blocks_of_processor} * std::max(device.multiprocessors, 1);
  return enqueue_early(device, "local_rescore", local_rescore<planes>,
                       dim3(grid_extent(std::min(blocks, most))), dim3(Rescoring<planes>::threads),
                       cut.bytes(), b.stream, p, b, info(p.method).minimum, cut,
                       totals.block_counters(), totals.totals());
}

Status launch(const stage::LocalRescore::Problem& p, const Device& device,
              const stage::LocalRescore::Buffers& b, PlanState* state) {
  const auto run = p.planes == 1 ? launch_as<1> : launch_as<color_planes>;
  return run(p, device, b, state);
}

Result<std::unique_ptr<PlanState>> plan(const stage::LocalRescore::Problem& p, const Device&) {
  return RescoringTotals::make(p, p.planes * Rescoring<1>::sum_count);
}

/// Of one row at least the strip must fit, and its sums into 32 bits. Edges are not made here.
bool supports(const stage::LocalRescore::Problem& p, const Device&) {
  return p.planes == 1 ? Cut<1>::fits(p.most)
                       : p.planes == color_planes && Cut<color_planes>::fits(p.most);
}

constexpr Variant<stage::LocalRescore> table[] = {
    {{.name = "local_rescore",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::mask, Feature::contrast, Feature::planes}},
     {.supports = supports, .launch = launch, .plan = plan}},
};

}  // namespace

Family local_rescore_family() { return Family(table); }

}  // namespace xcorr::cuda
