// SPDX-License-Identifier: LGPL-2.1-or-later
//
// overlap-wise (paper section 3.1): a thread computes one overlap, that is one element of the
// output, straight from the definition. Neighbouring threads read neighbouring left elements and
// the same right element, which the caches serve. It is right for every problem, fast for small
// rights and few shifts, and the yardstick for the families that reuse data.
#include "launch.cuh"

namespace xcorr::cuda {
namespace {

constexpr int block_width = 32, block_height = 8;

/// Elements of the right that meet the left at shift d, as [begin, end).
struct Span {
  int begin, end;
  __device__ Span(int d, int left, int right)
      : begin(d < 0 ? -d : 0), end(left - d < right ? left - d : right) {}
};

/// Row: the sum within one row of the overlap; Out: over all rows. A row of u8 products fits 32
/// bits up to a width of 66,051.
template <class In, class Row, class Out>
__global__ void __launch_bounds__(block_width* block_height)
    overlap_wise(Problem p, const std::byte* lefts, const std::byte* rights, int first_right,
                 int right_count, Out* out) {
  const int x = blockIdx.x * block_width + threadIdx.x;
  const int y = blockIdx.y * block_height + threadIdx.y;
  if (x >= p.shifts.width || y >= p.shifts.height) return;
  const int dx = p.shifts.x + x, dy = p.shifts.y + y;
  const Span columns(dx, p.left.width, p.right.width), rows(dy, p.left.height, p.right.height);

  for (int o = blockIdx.z; o < p.lefts * right_count; o += gridDim.z) {
    const int l = o / right_count, r = first_right + o % right_count;
    const std::byte* left = lefts + l * p.left_stride;
    const std::byte* right = rights + p.right_of(std::int64_t{l} * p.rights + r) * p.right_stride;
    Out sum = 0;
    for (int j = rows.begin; j < rows.end; ++j) {
      const In* a = reinterpret_cast<const In*>(left + (j + dy) * p.left_pitch) + dx;
      const In* b = reinterpret_cast<const In*>(right + j * p.right_pitch);
      Row row = 0;
      for (int i = columns.begin; i < columns.end; ++i) row += Row(a[i]) * Row(b[i]);
      sum += row;
    }
    out[(std::int64_t{o} * p.shifts.height + y) * p.shifts.width + x] = sum;
  }
}

template <class In, class Row, class Out>
Status launch_as(const Problem& p, const Buffers& b) {
  const dim3 block(block_width, block_height);
  const dim3 grid(ceil_div(p.shifts.width, block_width), ceil_div(p.shifts.height, block_height),
                  grid_extent(std::int64_t{p.lefts} * b.right_count));
  overlap_wise<In, Row, Out><<<grid, block, 0, native(b.stream)>>>(
      p, static_cast<const std::byte*>(b.lefts), static_cast<const std::byte*>(b.rights),
      b.first_right, b.right_count, static_cast<Out*>(b.products));
  return launched("overlap_wise");
}

Status launch(const MatchProblem& p, const Device&, const Buffers& b, PlanState*) {
  switch (p.correlate.output_type()) {
    case ElementType::u32:
      return launch_as<std::uint8_t, std::uint32_t, std::uint32_t>(p.correlate, b);
    case ElementType::u64:
      return launch_as<std::uint8_t, std::uint32_t, unsigned long long>(p.correlate, b);
    default:
      return launch_as<float, float, float>(p.correlate, b);
  }
}

bool supports(const MatchProblem& p, const Device&) {
  return p.products == p.correlate.output_type() && p.correlate.right.width <= 66051 &&
         p.correlate.shifts.height <= 65535LL * block_height;
}

constexpr Variant table[] = {
    {"overlap_wise", Stage::correlate, Backend::cuda, true, supports, no_workspace, launch},
};

}  // namespace

Family overlap_wise_family() { return table; }

}  // namespace xcorr::cuda
