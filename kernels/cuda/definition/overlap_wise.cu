// SPDX-License-Identifier: LGPL-2.1-or-later
//
// overlap-wise (paper section 3.1): a thread computes one overlap, that is one element of the
// output, straight from the definition. Neighbouring threads read neighbouring left elements and
// the same right element, which the caches serve. It supports every problem, is fast for small
// rights and few shifts, and is the baseline for the families that reuse data.
#include "cuda/common/element.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/overlap.cuh"

namespace xcorr::cuda {
namespace {

constexpr int block_width = 32, block_height = 8;

template <class E>
__global__ void __launch_bounds__(block_width* block_height)
    overlap_wise(Problem p, const std::byte* lefts, const std::byte* rights, int first_right,
                 int right_count, typename E::Out* out) {
  const int x = blockIdx.x * block_width + threadIdx.x;
  const int y = blockIdx.y * block_height + threadIdx.y;
  if (x >= p.shifts.width || y >= p.shifts.height) return;
  const int dx = p.shifts.x + x, dy = p.shifts.y + y;
  const Span columns = overlap(dx, p.left.width, p.right.width);
  const Span rows = overlap(dy, p.left.height, p.right.height);

  for (int o = blockIdx.z; o < p.lefts * right_count; o += gridDim.z) {
    const Pair pair = pair_of(p, o, first_right, right_count);
    const auto left = matrix<E>(lefts, pair.left, p.left_stride, p.left_pitch);
    const auto right = matrix<E>(rights, pair.right, p.right_stride, p.right_pitch);
    typename E::Out sum = 0;
    for (int j = rows.begin; j < rows.end; ++j) {
      const auto* a = left.row(j + dy) + dx;
      const auto* b = right.row(j);
      typename E::Row row = 0;
      for (int i = columns.begin; i < columns.end; ++i)
        row += typename E::Row(a[i]) * typename E::Row(b[i]);
      sum += row;
    }
    out[(std::int64_t{o} * p.shifts.height + y) * p.shifts.width + x] = sum;
  }
}

Status launch(const stage::Correlate::Problem& problem, const Device&,
              const stage::Correlate::Buffers& b, PlanState*) {
  const Problem& p = problem.correlate;
  const auto launch_as = [&]<class E>() {
    const dim3 block(block_width, block_height);
    const dim3 grid(ceil_div(p.shifts.width, block_width), ceil_div(p.shifts.height, block_height),
                    grid_extent(std::int64_t{p.lefts} * b.right_count));
    return enqueue("overlap_wise", overlap_wise<E>, grid, block, 0, b.stream, p,
                   static_cast<const std::byte*>(b.lefts), static_cast<const std::byte*>(b.rights),
                   b.first_right, b.right_count, static_cast<typename E::Out*>(b.products));
  };
  if (p.type == ElementType::u16) return launch_as.template operator()<ElementU16>();
  return with_element(p, launch_as);
}

bool supports(const stage::Correlate::Problem& p, const Device&) {
  return supports_definition(p) && p.correlate.shifts.height <= 65535LL * block_height;
}

constexpr Variant<stage::Correlate> table[] = {
    {{.name = "overlap_wise",
      .backend = Backend::cuda,
      .features = definition_features | Features(Feature::u16)},
     {.supports = supports, .launch = launch}},
};

}  // namespace

Family overlap_wise_family() { return Family(table); }

}  // namespace xcorr::cuda
