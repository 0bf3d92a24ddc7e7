// SPDX-License-Identifier: LGPL-2.1-or-later
//
// block-per-overlap: a block computes one overlap. Its threads stride over the overlap's elements,
// taken row after row, in steps of the block's size; each warp adds its sums by shuffles, and the
// first warp adds those of all warps. Nothing is reused, so it only pays where there are so few
// overlaps (a handful of shifts) that even a warp for each would leave most of the GPU idle.
//
// block_per_overlap.bN: blocks of N threads.
#include "cuda/common/launch.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/definition/overlap_sum.cuh"
#include "stages/common/variant_name.hpp"

namespace xcorr::cuda {
namespace {

/// The sum over the threads of a block, returned to the first warp. `scratch` may be reused after
/// the next barrier.
template <int threads, class T>
__device__ T block_sum(T value, T* scratch) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  value = warp_sum(value);
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
  if (warp > 0) return value;
  return warp_sum(lane < threads / 32 ? scratch[lane] : T(0));
}

template <class E, int threads>
__global__ void __launch_bounds__(threads)
    block_per_overlap(Problem p, const std::byte* lefts, const std::byte* rights, int first_right,
                      int right_count, typename E::Out* out) {
  __shared__ typename E::Out scratch[threads / 32];
  const int x = blockIdx.x;
  for (int o = blockIdx.z; o < p.lefts * right_count; o += gridDim.z) {
    const Pair pair = pair_of(p, o, first_right, right_count);
    for (int y = blockIdx.y; y < p.shifts.height; y += gridDim.y) {
      const int dx = p.shifts.x + x, dy = p.shifts.y + y;
      const Span rows = overlap(dy, p.left.height, p.right.height);
      const Overlap<E> elements = overlap_of<E>(p, lefts, rights, pair, dx, dy, rows);
      const auto sum = block_sum<threads>(serial_sum<threads>(elements, threadIdx.x), scratch);
      if (threadIdx.x == 0) out[(std::int64_t{o} * p.shifts.height + y) * p.shifts.width + x] = sum;
      __syncthreads();
    }
  }
}

struct Tuning {
  int threads;  ///< per block
};

template <Tuning t>
Status launch(const stage::Correlate::Problem& problem, const Device&,
              const stage::Correlate::Buffers& b, PlanState*) {
  const Problem& p = problem.correlate;
  return with_element(p, [&]<class E>() {
    const dim3 grid(p.shifts.width, grid_extent(p.shifts.height),
                    grid_extent(std::int64_t{p.lefts} * b.right_count));
    return enqueue("block_per_overlap", block_per_overlap<E, t.threads>, grid, dim3(t.threads), 0,
                   b.stream, p, static_cast<const std::byte*>(b.lefts),
                   static_cast<const std::byte*>(b.rights), b.first_right, b.right_count,
                   static_cast<typename E::Out*>(b.products));
  });
}

bool supports(const stage::Correlate::Problem& p, const Device&) { return supports_definition(p); }

template <Tuning t>
constexpr VariantName name = variant_name("block_per_overlap.b", t.threads);

template <Tuning t>
constexpr Variant<stage::Correlate> variant() {
  return {{.name = name<t>.text, .backend = Backend::cuda, .features = definition_features},
          {.supports = supports, .launch = launch<t>}};
}

constexpr Variant<stage::Correlate> table[] = {
    variant<Tuning{.threads = 128}>(),
    variant<Tuning{.threads = 512}>(),
};

}  // namespace

Family block_per_overlap_family() { return Family(table); }

}  // namespace xcorr::cuda
