// SPDX-License-Identifier: LGPL-2.1-or-later
//
// refine for 8-bit pixels in one launch: some blocks share a candidate's rows, and the last one to
// finish computes the peak from their sums (refinement.cuh).
#include "cuda/common/element.cuh"
#include "cuda/common/last_block.cuh"
#include "cuda/match/refinement.cuh"

namespace xcorr::cuda {
namespace {

using u64 = unsigned long long;

constexpr int threads = 512, warps = threads / 32;
constexpr int rows_of_warp = 4, rows_of_block = warps * rows_of_warp;

/// The most columns for which 32 bits hold a warp's sums.
constexpr int max_columns = widest_u8_row / rows_of_warp;

int blocks_of(const Problem& p) { return ceil_div(p.right.height, rows_of_block); }

/// Sums `mine` over the blocks that share a candidate in the last one to finish; the others return
/// false. `partial`: memory of these blocks.
__device__ bool add_blocks(u64& mine, unsigned* block_counter, u64 (*partial)[places]) {
  if (gridDim.x == 1) return true;
  const bool counts = threadIdx.x < places;
  if (counts) {
    partial[blockIdx.x][threadIdx.x] = mine;
    __threadfence();
  }
  __syncthreads();
  if (!is_last_block(block_counter, gridDim.x)) return false;
  if (counts) {
    const volatile u64* sums = &partial[0][threadIdx.x];
    mine = 0;
    for (int i = 0; i < static_cast<int>(gridDim.x); ++i) mine += sums[i * places];
  }
  return true;
}

/// Grid: blocks that share a candidate, candidates of a template, templates. `partial`: for each of
/// these blocks.
template <class Squares>
__global__ void __launch_bounds__(threads, 1)
    refine_bytes(stage::Refine::Problem p, bool minimum, MatchInputs<Squares> from, int first_right,
                 int right_count, const Candidate* candidates, const std::uint32_t* counts,
                 unsigned* block_counters, u64 (*partial)[places], RefinedPeak* peaks,
                 std::uint32_t* peak_counts) {
  using Refining = Refinement<stage::Refine::Problem, warps, Squares>;
  __shared__ typename Refining::Shared shared;
  wait_for_previous();
  for (int r = first_right + blockIdx.z; r < first_right + right_count; r += gridDim.z) {
    const std::int64_t index = std::int64_t{r} * p.max_peaks + blockIdx.y;
    const std::uint32_t count = counts[r];
    const Candidate at = candidates[index];  // garbage where there is none
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) peak_counts[r] = count;
    if (blockIdx.y >= count) continue;
    Refining refining(p, from, r, at, shared);
    u64 product = refining.template product<rows_of_warp, std::int64_t>(blockIdx.x, gridDim.x);
    if (add_blocks(product, &block_counters[index], partial + index * gridDim.x))
      refining.place(product, minimum, p.polarity, peaks[index]);
    __syncthreads();  // `shared` is overwritten
  }
}

std::size_t workspace(const stage::Refine::Problem& p, const Device&) {
  return sizeof(u64) * places * blocks_of(p.correlate) * p.correlate.rights * p.max_peaks;
}

Result<std::unique_ptr<PlanState>> plan(const stage::Refine::Problem& p, const Device&) {
  return BlockCounters::make(std::int64_t{p.correlate.rights} * p.max_peaks);
}

template <class Squares>
Status launch_as(const stage::Refine::Problem& p, const Device& device,
                 const stage::Refine::Buffers& b, PlanState* state) {
  const dim3 grid(blocks_of(p.correlate), p.max_peaks, grid_extent(b.right_count));
  return enqueue_early(device, "refine_bytes", refine_bytes<Squares>, grid, threads, 0, b.stream, p,
                       info(p.method).minimum, MatchInputs<Squares>(b), b.first_right,
                       b.right_count, b.candidates, b.counts,
                       static_cast<const BlockCounters*>(state)->counters(),
                       static_cast<u64(*)[places]>(b.workspace), b.peaks, b.peak_counts);
}

Status launch(const stage::Refine::Problem& p, const Device& device,
              const stage::Refine::Buffers& b, PlanState* state) {
  return p.correlate.output_type() == ElementType::u64
             ? launch_as<u64>(p, device, b, state)
             : launch_as<std::uint32_t>(p, device, b, state);
}

bool supports(const stage::Refine::Problem& p, const Device&) {
  return p.correlate.right.width <= max_columns;
}

constexpr Variant<stage::Refine> table[] = {
    {{.name = "refine_bytes",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::wide_sums, Feature::several_peaks, Feature::mask,
                   Feature::contrast, Feature::own_lefts},
      .rank = 1},
     {.supports = supports, .launch = launch, .workspace = workspace, .plan = plan}},
};

}  // namespace

Family refine_bytes_family() { return Family(table); }

}  // namespace xcorr::cuda
