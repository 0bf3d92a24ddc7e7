// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The window sums of masked windows of 8 bits as three correlations with the mask, by the
// instructions for four warps together of compute capability 9.0 (tensor_warpgroups.cuh): of the
// frame, and of both bytes of its squares. However many runs the mask has, the time is the same.
// So it is with weights, whose sums of squares take 64 bits. For masks up to 65 columns wide.
#include <array>

#include "cuda/common/row_words.cuh"
#include "cuda/tensor/tensor_warpgroups.cuh"
#include "stages/match/window_sums.hpp"

namespace xcorr::cuda {
namespace {

using u32 = std::uint32_t;

/// The squares of the lefts' pixels: for each left a plane of their high bytes, then one of their
/// low bytes, in rows as the products' 16-byte copies take them.
struct SquarePlanes {
  std::byte* bytes;
  std::int64_t pitch, plane;  ///< bytes from row to row, and from plane to plane

  SquarePlanes(const Problem& p, void* workspace)
      : bytes(static_cast<std::byte*>(workspace)),
        pitch(ceil_div(p.left.width, 16) * 16),
        plane(pitch * p.left.height) {}

  __host__ __device__ std::byte* high(int left) const { return bytes + 2 * left * plane; }
  __host__ __device__ std::byte* low(int left) const { return high(left) + plane; }
};

constexpr int square_threads = 128, pixels_at_once = 8;

/// A thread squares eight pixels of a row.
__global__ void __launch_bounds__(square_threads)
    square_bytes(Problem p, const std::byte* lefts, SquarePlanes to) {
  let_next_begin();
  const int x = pixels_at_once * static_cast<int>(blockIdx.x * square_threads + threadIdx.x);
  if (x >= p.left.width) return;
  const int left = blockIdx.z;
  for (int y = blockIdx.y; y < p.left.height; y += gridDim.y) {
    u32 pixels[pixels_at_once / 4];
    load_words(
        reinterpret_cast<const std::uint8_t*>(lefts + p.left_offset(left)) + y * p.left_pitch, x,
        p.left.width, pixels);
    u32 high[pixels_at_once / 4], low[pixels_at_once / 4];
#pragma unroll
    for (int i = 0; i < pixels_at_once / 4; ++i) {
      u32 squares[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const u32 f = __byte_perm(pixels[i], 0, 0x4440 + k);
        squares[k] = f * f;
      }
      const u32 first = squares[0] | squares[1] << 16, second = squares[2] | squares[3] << 16;
      low[i] = __byte_perm(first, second, 0x6420);
      high[i] = __byte_perm(first, second, 0x7531);
    }
    const std::int64_t place = y * to.pitch + x;
    *reinterpret_cast<uint2*>(to.high(left) + place) = {high[0], high[1]};
    *reinterpret_cast<uint2*>(to.low(left) + place) = {low[0], low[1]};
  }
}

/// Calls take(place, sum) for the block's sums of windows.
template <class T, class Take>
__device__ void for_sums(const Problem& p, Corner corner, Take take) {
  const BlockSums<T> sums(corner);
  const int x = sums.x();
  if (x < 0 || x >= p.shifts.width) return;
  for (int row = sums.first_row(); row < T::rows(); row += sums.step)
#pragma unroll
    for (int r = 0; r < 8; ++r)
      if (const int y = corner.y + row + r; y < p.shifts.height)
        take(std::int64_t{y} * p.shifts.width + x, sums.at(row, r));
}

/// Blocks are, for each left, first those of squares, which take twice as long, then those of sums.
/// Sum: of 32 bits, or of weights of 64.
template <class T, class Sum>
__global__ void __launch_bounds__(T::threads(), T::blocks)
    masked_sums(Problem p, const std::byte* lefts, SquarePlanes planes, const u32* mask,
                bool aligned, Sum* sums, Sum* squares) {
  let_next_begin();
  const int left = blockIdx.z / 2;
  const bool squared = blockIdx.z % 2 == 0;
  const Corner corner{int(blockIdx.x) * T::columns() - skew_of(p), int(blockIdx.y) * T::rows()};
  Sum* const to = (squared ? squares : sums) + first_window(p, left);
  const std::byte* from = squared ? planes.high(left) : lefts + p.left_offset(left);
  if (squared) {
    p.left_pitch = planes.pitch;
    aligned = true;
  }
  wait_for_previous();
#pragma unroll 1
  for (int pass = 0; pass < (squared ? 2 : 1); ++pass, from += planes.plane) {
    __syncthreads();  // the sums of the pass before have been read
    sum_products<1>(T(), p, from, 0, mask, corner, {0, p.right.height}, aligned);
    for_sums<T>(p, corner, [&](std::int64_t place, u32 sum) {
      to[place] = !squared ? sum : pass == 0 ? Sum{sum} << 8 : to[place] + sum;
    });
  }
}

/// The correlation with the mask: dense, and the only right.
Problem with_mask(Problem p) {
  p.lefts = p.rights = 1;
  p.own_lefts = false;
  p.right_pitch = p.right.width;
  p.right_stride = p.right.area();
  return p;
}

template <class T>
Result<std::unique_ptr<PlanState>> plan(const stage::WindowSums::Problem& problem,
                                        const Device& device) {
  struct {
    Problem correlate;
  } const of_mask{with_mask(problem.correlate)};
  return LaidOutRights<T>::make(of_mask, device);
}

std::size_t workspace(const stage::WindowSums::Problem& problem, const Device&) {
  const Problem& p = problem.correlate;
  return 2 * p.total_lefts() * SquarePlanes(p, nullptr).plane;
}

template <class T, class Sum>
Status launch_as(const stage::WindowSums::Problem& problem, const Device& device,
                 const stage::WindowSums::Buffers& b, PlanState* state) {
  const Problem& p = problem.correlate;
  const auto* lefts = static_cast<const std::byte*>(b.lefts);
  const SquarePlanes planes(p, b.workspace);
  const auto count = static_cast<unsigned>(p.total_lefts());
  const dim3 blocks(ceil_div(p.left.width, pixels_at_once * square_threads),
                    grid_extent(p.left.height), count);
  if (Status s = enqueue("square_bytes", square_bytes, blocks, square_threads, 0, b.stream, p,
                         lefts, planes);
      !s.ok())
    return s;
  return enqueue_early(device, "masked_sums", masked_sums<T, Sum>, tensor_grid<T>(p, 2 * count),
                       T::threads(), T::shared_bytes(p.right.width, p.right.height), b.stream, p,
                       lefts, planes, static_cast<const LaidOutRights<T>*>(state)->words(),
                       is_left_aligned(p, lefts), static_cast<Sum*>(b.window_sums),
                       static_cast<Sum*>(b.window_squares));
}

template <class T>
Status launch(const stage::WindowSums::Problem& problem, const Device& device,
              const stage::WindowSums::Buffers& b, PlanState* state) {
  return problem.masking.weighted ? launch_as<T, unsigned long long>(problem, device, b, state)
                                  : launch_as<T, u32>(problem, device, b, state);
}

template <class T>
bool supports(const stage::WindowSums::Problem& problem, const Device& device) {
  const Problem of_mask = with_mask(problem.correlate);
  return problem.masking && supports_tiling<T>(of_mask, 1, device) &&
         max_rows_in_32_bits(of_mask) == of_mask.right.height &&
         2 * problem.correlate.total_lefts() <= 65535;
}

/// So many sums of runs take longer whatever the frame: some 0.1 ms on an H200, by the 2.8 ms that
/// 30 times as many of weights took.
constexpr std::int64_t many_in_runs = std::int64_t{1} << 27;

/// Whether it takes less time than a mask's runs, whose time is in proportion to windows and runs,
/// of which there is mostly one in a row, while here a block takes as long however many of its
/// windows exist, and few blocks as long as many.
template <class T>
bool is_preferred(const stage::WindowSums::Problem& problem, const Device&) {
  const Problem& p = problem.correlate;
  const dim3 blocks = tensor_grid<T>(p, p.total_lefts());
  const std::int64_t most = std::int64_t{blocks.x} * blocks.y * blocks.z * T::columns() * T::rows();
  const std::int64_t windows = windows_of(p);
  const bool in_rows = p.right.height >= 32 && windows >= 1 << 20;
  return (in_rows || windows * problem.masking.runs >= many_in_runs) && 2 * windows >= most;
}

template <class T>
constexpr VariantName name = T::name("masked_window_sums_wgmma");

/// The narrowest that takes the mask is the quickest.
template <class... T>
constexpr auto make_table(Tilings<T...>) {
  return std::array{Variant<stage::WindowSums>{
      {.name = name<T>.text,
       .backend = Backend::cuda,
       .features = {Feature::u8, Feature::mask, Feature::weights, Feature::own_lefts},
       .rank = 10 - T::steps},
      {.supports = supports<T>,
       .launch = launch<T>,
       .workspace = workspace,
       .plan = plan<T>,
       .is_preferred = is_preferred<T>}}...};
}
/// Wider masks take longer than their runs do.
constexpr auto table = make_table(
    Tilings<ByWarpgroups<WgmmaTuning{
                .steps = 2, .tiles = 4, .groups = 2, .rows_at_once = 8, .blocks = 2}>,
            ByWarpgroups<WgmmaTuning{
                .steps = 3, .tiles = 4, .groups = 2, .rows_at_once = 8, .blocks = 2}>>());

}  // namespace

Family masked_window_sums_wgmma_family() { return Family(table); }

}  // namespace xcorr::cuda
