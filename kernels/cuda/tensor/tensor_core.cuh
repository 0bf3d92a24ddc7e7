// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Shared by the families tensor_core (by warps) and tensor_core_wgmma (by groups of four warps):
// exact sums of products of bytes, see tensor_block.cuh, stored for every shift; of 16 bits by
// halves, see u16_split.hpp. Rights whose sums exceed 32 bits are split into bands of rows, one
// launch each, whose sums are added in 64 bits.
#pragma once

#include <array>

#include "cuda/tensor/tensor_warpgroups.cuh"
#include "cuda/tensor/tensor_warps.cuh"
#include "cuda/tensor/u16_split.cuh"

namespace xcorr::cuda::tensor_core_kernel {

/// `new_left`: the kernel before may have written the lefts. `add`: adds to what an earlier band of
/// rows left in `out`.
template <class T, class Out>
__global__ void __launch_bounds__(T::threads(), T::blocks)
    tensor_core(Problem p, const std::byte* lefts, bool new_left, const std::uint32_t* laid_out,
                RightRows rows, int first_right, int right_count, int skew, bool aligned, bool add,
                Out* out) {
  if (new_left) wait_for_previous();
  let_next_begin();
  const Corner corner{int(blockIdx.x) * T::columns() - skew, int(blockIdx.y) * T::rows()};
  const Pair pair = pair_of(p, blockIdx.z, first_right, right_count);
  sum_products<1>(T(), p, lefts + pair.left * p.left_stride + p.left_offset(pair.right), pair.right,
                  laid_out, corner, rows, aligned);
  wait_for_previous();

  const BlockSums<T> sums(corner);
  const int x = sums.x();
  if (x < 0 || x >= p.shifts.width) return;
  out += std::int64_t{blockIdx.z} * p.shifts.width * p.shifts.height + x;
  for (int row = sums.first_row(); row < T::rows(); row += sums.step) {
    std::uint32_t values[8];
#pragma unroll
    for (int r = 0; r < 8; ++r) values[r] = sums.at(row, r);
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      const int y = corner.y + row + r;
      if (y >= p.shifts.height) continue;
      Out& to = out[std::int64_t{y} * p.shifts.width];
      to = add ? to + values[r] : values[r];
    }
  }
}

template <class T, class Out>
Status launch_as(const Problem& p, const Device& device, const stage::Correlate::Buffers& b,
                 PlanState* state) {
  const int max_rows = max_rows_in_32_bits(p);
  for (int first = 0; first < p.right.height; first += max_rows) {
    const RightRows rows{first, std::min(max_rows, p.right.height - first)};
    const dim3 blocks = tensor_grid<T>(p, p.lefts * b.right_count);
    const std::size_t bytes = T::shared_bytes(p.right.width, rows.count);
    if (Status s =
            enqueue_early(device, "tensor_core", tensor_core<T, Out>, blocks, dim3(T::threads()),
                          b.new_left ? spreading_bytes(device, blocks, bytes) : bytes, b.stream, p,
                          static_cast<const std::byte*>(b.lefts), b.new_left,
                          static_cast<const LaidOutRights<T>*>(state)->words(), rows, b.first_right,
                          b.right_count, skew_of(p), is_left_aligned(p, b.lefts), first > 0,
                          static_cast<Out*>(b.products));
        !s.ok())
      return s;
  }
  return {};
}

template <class T>
Status launch(const stage::Correlate::Problem& problem, const Device& device,
              const stage::Correlate::Buffers& b, PlanState* state) {
  return problem.products == ElementType::u32
             ? launch_as<T, std::uint32_t>(problem.correlate, device, b, state)
             : launch_as<T, std::uint64_t>(problem.correlate, device, b, state);
}

constexpr Features features{Feature::u8, Feature::several_images, Feature::partial_overlap,
                            Feature::wide_sums, Feature::own_lefts};

template <class T>
bool supports(const stage::Correlate::Problem& problem, const Device& device) {
  return supports_tiling<T>(problem.correlate, problem.max_rights(), device);
}

template <class Family, class T>
constexpr VariantName name = T::name(Family::name);

template <class Family, class T>
inline constexpr Variant<stage::Correlate> of_bytes = {
    {.name = name<Family, T>.text, .backend = Backend::cuda, .features = features},
    {.supports = supports<T>,
     .launch = launch<T>,
     .plan = LaidOutRights<T>::template make<stage::Correlate::Problem>}};

/// The variants of a family's tilings.
template <class Family, class... T>
constexpr auto make_table(Tilings<T...>) {
  return std::array{U16Split<U16Splitter, of_bytes<Family, T>>::variant(features)...};
}

}  // namespace xcorr::cuda::tensor_core_kernel
