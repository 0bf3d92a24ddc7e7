// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tensor-core: exact sums of products of bytes by matrix instructions, see tensor_core.cuh, stored
// for every shift. Rights of more pixels than 32 bits hold the sums of are taken in bands of rows,
// a launch each, whose sums are added in 64 bits. It is the fastest way for 8-bit matrices but for
// the smallest ones and, past a hundred pixels a side, next to an FFT.
#include <array>

#include "tensor_core.cuh"

namespace xcorr::cuda {
namespace {

constexpr const char* names[] = XCORR_TENSOR_NAMES("tensor_core");

/// `add`: to what an earlier band of rows left in `out`.
template <int number, class Out>
__global__ void __launch_bounds__(Tiling::threads, tilings[number].blocks)
    tensor_core(Problem p, const std::byte* lefts, const std::uint32_t* shifted, RightRows rows,
                int first_right, int right_count, int skew, bool aligned, bool add, Out* out) {
  constexpr Tiling t = tilings[number];
  const Corner corner{int(blockIdx.x) * t.columns() - skew, int(blockIdx.y) * t.rows()};
  const Pair pair = pair_of(p, blockIdx.z, first_right, right_count);
  sum_products<number>(p, lefts + pair.left * p.left_stride, pair.right, shifted, corner, rows,
                       aligned);

  const BlockSums<number> sums(corner);
  const int x = sums.x();
  if (x < 0 || x >= p.shifts.width) return;
  out += std::int64_t{blockIdx.z} * p.shifts.width * p.shifts.height + x;
  sums.for_eight_rows([&](int row) {
#pragma unroll
    for (int r = row; r < row + 8; ++r) {
      const int y = corner.y + r;
      if (y >= p.shifts.height) break;
      Out& to = out[std::int64_t{y} * p.shifts.width];
      to = add ? to + sums.at(r) : sums.at(r);
    }
  });
}

template <int number, class Out>
Status launch_as(const Problem& p, const Buffers& b, PlanState* state) {
  const int most_rows = most_rows_in_32_bits(p);
  for (int first = 0; first < p.right.height; first += most_rows) {
    const RightRows rows{first, std::min(most_rows, p.right.height - first)};
    if (Status s = enqueue(names[number], tensor_core<number, Out>,
                           tensor_grid<number>(p, p.lefts * b.right_count), dim3(Tiling::threads),
                           tensor_shared_bytes<number>(p, rows.count), b.stream, p,
                           static_cast<const std::byte*>(b.lefts),
                           static_cast<const ShiftedRights<number>*>(state)->words(), rows,
                           b.first_right, b.right_count, skew_of(p), is_left_aligned(p, b.lefts),
                           first > 0, static_cast<Out*>(b.products));
        !s.ok())
      return s;
  }
  return {};
}

template <int number>
Status launch(const MatchProblem& problem, const Device&, const Buffers& b, PlanState* state) {
  return problem.products == ElementType::u32
             ? launch_as<number, std::uint32_t>(problem.correlate, b, state)
             : launch_as<number, std::uint64_t>(problem.correlate, b, state);
}

template <int number>
bool supports(const MatchProblem& problem, const Device& device) {
  return problem.products == problem.correlate.output_type() &&
         supports_tiling<number>(problem, device);
}

template <std::size_t... numbers>
constexpr auto make_table(std::index_sequence<numbers...>) {
  return std::array{Variant{names[numbers], Stage::correlate, Backend::cuda, true,
                            supports<numbers>, no_workspace, launch<numbers>,
                            ShiftedRights<numbers>::make}...};
}

constexpr auto table = make_table(std::make_index_sequence<tiling_count>());

}  // namespace

Family tensor_core_family() { return table; }

}  // namespace xcorr::cuda
