// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What precedes the products of all planes in tensor_bank_wgmma.cu, see part_bounds.cuh: the parts
// are the places of warps, which have the products of the lead plane with many templates at once;
// then the windows that promise most are scored, and the parts listed that may hold a better one.
#pragma once

#include "cuda/match/bank_bounds.cuh"

namespace xcorr::cuda {

/// Of a part: the greatest square of a score that may be there, and the window's index.
struct PartBound {
  float high;
  unsigned index;

  __device__ void take_better(const PartBound& other) {
    if (other.high > high) *this = other;
  }
  __device__ PartBound of_lane(int step) const {
    return {__shfl_xor_sync(~0u, high, step), __shfl_xor_sync(~0u, index, step)};
  }
};

/// The bounds of the parts of a launch's rights: of `columns` rights together, part by part.
struct PartBounds {
  PartBound* of;
  int parts, columns;

  __device__ PartBound& at(int right, int part) const {
    return of[(std::int64_t{right / columns} * parts + part) * columns + right % columns];
  }
};

/// The lead's shares of the variances of a part's windows; the least is the larger one where there
/// are none.
struct LeadShares {
  float least, most;

  __device__ void add(const LeadShares& other) {
    least = fminf(least, other.least);
    most = fmaxf(most, other.most);
  }
  __device__ LeadShares of_lane(int step) const {
    return {__shfl_xor_sync(~0u, least, step), __shfl_xor_sync(~0u, most, step)};
  }
};

/// As above, where the window's share b is known to lie between these; the bound above is reached
/// where b is a s^2 / (a s^2 + 1 - a).
__device__ inline float bound_of(float rest, float of_lead, const LeadShares& shares) {
  const float own = own_share(rest, of_lead), both = own + rest;
  if (!(both > 0)) return 0;
  const float share = fmaxf(fminf(own / both, shares.most), shares.least),
              score = sqrtf(own * share) + sqrtf(rest * (1 - share + 2e-7f));
  return 1.0001f * score * score;
}

constexpr int shares_threads = 256;

/// Of each warp's windows. A warp for each.
template <class T>
__global__ void __launch_bounds__(shares_threads)
    measure_shares(CellInputs from, WindowOrder<T> order, LeadShares* to) {
  const Problem& p = from.problem.correlate;
  const int part = (blockIdx.x * shares_threads + threadIdx.x) / 32;
  const Windows<T> windows = order.at(part);
  const auto n = static_cast<float>(from.problem.pixels());
  LeadShares shares{1, 0};
  let_next_begin();
  wait_for_previous();
  if (part >= order.count()) return;
#pragma unroll
  for (int k = threadIdx.x % 32; k < T::warp_columns * T::tiles; k += 32) {
    if (!windows.inside(k)) continue;
    // The least and the most that variances may be, n^2 times.
    float lead[2] = {}, rest[2] = {};
    std::int64_t at = windows.index(k);
#pragma unroll
    for (int plane = 0; plane < color_planes; ++plane, at += windows_of(p)) {
      const auto sum = static_cast<float>(from.window_sums[at]),
                 squares = static_cast<float>(from.window_squares[at]);
      float(&of)[2] = plane == from.problem.lead_plane ? lead : rest;
      of[0] += fmaxf(fmaf(squares, less * n, -(more * sum) * sum), 0);
      of[1] += fmaxf(fmaf(squares, more * n, -(less * sum) * sum), 0);
    }
    if (lead[1] + rest[1] > 0)
      shares.add(
          {lead[0] / fmaxf(lead[0] + rest[1], 1e-30f), lead[1] / fmaxf(lead[1] + rest[0], 1e-30f)});
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) shares.add(shares.of_lane(step));
  if (threadIdx.x % 32 == 0) to[part] = shares;
}

/// The first pass of a search in colour: bounds of each warp's windows, for those parts a warp's
/// place, see part_bounds.cuh. Grid: as of tensor_bank().
template <class T>
__global__ void __launch_bounds__(T::threads(), 1)
    bound_bank(const __grid_constant__ CellInputs from, WordRows left, bool is_copy,
               const u32* laid_out, int first_group, int right_count, const LeadShares* shares,
               PartBounds to, OpenParts open, unsigned* marks) {
  __shared__ OfRights<T, 1> of_rights;
  __shared__ float rests[T::rights];
  const Problem& p = from.problem.correlate;
  const WindowOrder<T> order(p.shifts);
  const auto n = static_cast<u32>(from.problem.pixels());
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int group_of_rights = first_group + static_cast<int>(blockIdx.y);
  const Columns columns{group_of_rights * T::rights - from.first_right, right_count};
  const int lead_plane = from.problem.lead_plane;
  CellInputs of_lead = from;
  of_lead.template_sums += std::int64_t{lead_plane} * p.rights;
  of_lead.window_sums += lead_plane * windows_of(p);
  of_lead.window_squares += lead_plane * windows_of(p);
  using Shared = OfWarp<T, 1>;
  auto& of_warp = reinterpret_cast<Shared*>(dynamic_shared<std::uint8_t>() +
                                            T::shared_bytes(p.right.height, 1))[warp];
  ask_for_rights<T, 1>(of_lead, columns, of_rights);
  if (threadIdx.x < T::rights)
    rests[threadIdx.x] = columns.has(threadIdx.x)
                             ? rest_of_right(from.problem, from.template_sums,
                                             from.first_right + columns.right(threadIdx.x))
                             : 0;
  const auto rights = stage_bank<T, 1>(p, laid_out, group_of_rights * color_planes + lead_plane);
  let_next_begin();
  const int column = column_of(lane, number_of(lane));  // that this lane writes
  const int own = warp / 4, first = blockIdx.x * T::groups, stride = gridDim.x * T::groups,
            count = T::groups_of(p.shifts.size());
  const auto rows_of = [&](int number) {
    const Windows<T> windows = order.at(4 * number + warp % 4);
    return BankRows<T>(left.of_plane(lead_plane), windows.x0, windows.y0);
  };
  if (is_copy) wait_for_previous();
  BankProducts products(p.right.height, T::staged_bytes(p.right.height, 1), rights,
                        rows_of(first + own));
  for (int block = first; block < count; block += stride) {
    const int number = block + own, part = 4 * number + warp % 4;
    const Windows<T> windows = order.at(part);
    const bool waited = is_copy || block > first;
    if (waited) ask_for_windows(of_lead, windows, of_warp);
    BankSums<T> sums;
    products.multiply([&] { return rows_of(number + stride); }, sums);
    if (!waited) {
      wait_for_previous();
      ask_for_windows(of_lead, windows, of_warp);
    }
    wait_copies<0>();
    __syncwarp();
    float greatest[8];
    greatest_numbered(sums, windows, n, of_warp, of_rights, greatest);
    __syncwarp();  // what the warp shares is overwritten for the next windows
    const float value = greatest_of(greatest), variance = of_rights.variances[column];
    if (part >= to.parts) continue;
    // A little more than numbers in the last bits take away.
    const float high = variance > 0 ? 1.002f * value * value / variance : 0;
    const int k = __float_as_int(value) & (Shared::windows - 1);
    to.at(blockIdx.y * T::rights + column, part) = {bound_of(rests[column], high, shares[part]),
                                                    windows.inside(k) ? windows.index(k) : 0};
    if (lane == 0) marks[std::int64_t{blockIdx.y} * to.parts + part] = 0;
    if (lane == 0 && part == 0) open.counts[blockIdx.y] = 0;
  }
}

/// A thread's share of the product of a template with the window at an index, over all planes.
__device__ inline u32 share_of_product(const CellInputs& from, int right, unsigned index) {
  const Problem& p = from.problem.correlate;
  const int x = p.shifts.x + static_cast<int>(index % p.shifts.width),
            y = p.shifts.y + static_cast<int>(index / p.shifts.width),
            words_across = ceil_div(p.right.width, 4), words = words_across * p.right.height;
  u32 product[1] = {};
#pragma unroll 2
  for (int i = threadIdx.x; i < p.planes * words; i += blockDim.x) {
    const int plane = i / words, word = i - plane * words, j = word / words_across,
              column = 4 * (word - j * words_across);
    add_products(from.template_row(right, plane, j), column, p.right.width,
                 from.frame_row(right, plane, y + j), x + column, p.left.width, product);
  }
  return product[0];
}

constexpr int trial_threads = 256, trials = 8;

/// Scores the windows exactly that promise most, one of each share of the parts. Grid: trials,
/// rights. `first`: the first right among the bounds' columns.
static __global__ void __launch_bounds__(trial_threads)
    try_best(CellInputs from, PartBounds bounds, int first, Key* best) {
  __shared__ PartBound of_warps[trial_threads / 32];
  __shared__ u32 product;
  let_next_begin();
  wait_for_previous();
  const int right = blockIdx.y, column = first + right, warp = threadIdx.x / 32;
  PartBound mine{0, 0};
  for (int part = blockIdx.x + trials * threadIdx.x; part < bounds.parts;
       part += trials * trial_threads)
    mine.take_better(bounds.at(column, part));
#pragma unroll
  for (int step = 16; step > 0; step /= 2) mine.take_better(mine.of_lane(step));
  if (threadIdx.x == 0) product = 0;
  if (threadIdx.x % 32 == 0) of_warps[warp] = mine;
  __syncthreads();
  mine = of_warps[0];  // the same for all threads, also where several promise as much
  for (const PartBound& of_warp : of_warps) mine.take_better(of_warp);
  const ScorerOf<color_planes> scorer = from.scorer<color_planes>(right);
  if (mine.high == 0 || !may_hold(mine.high, scorer.limit)) return;
  const u32 share = warp_sum(share_of_product(from, right, mine.index));
  if (threadIdx.x % 32 == 0) atomicAdd(&product, share);
  __syncthreads();
  if (threadIdx.x > 0) return;
  if (const Key key = scorer.key(product, mine.index)) atomicMax(&best[right], key);
}

/// Lists the parts that may hold a better window under the rights' groups of columns. `marks`: of
/// parts that are listed, 0 before, as the counts. Grid: shares of the parts, rights.
static __global__ void __launch_bounds__(trial_threads)
    list_open_parts(CellInputs from, PartBounds bounds, int first, OpenParts open, unsigned* marks,
                    const Key* best) {
  let_next_begin();
  wait_for_previous();
  const int right = blockIdx.y, column = first + right;
  ScorerOf<color_planes> scorer = from.scorer<color_planes>(right);
  if (const Key known = best[right]) scorer.raise(score_of(known, false));
  for (int part = blockIdx.x * trial_threads + threadIdx.x; part < bounds.parts;
       part += gridDim.x * trial_threads)
    if (may_hold(bounds.at(column, part).high, scorer.limit)) {
      const int group = column / bounds.columns;
      const std::int64_t before = std::int64_t{group} * bounds.parts;
      if (atomicExch(&marks[before + part], 1u) == 0)
        open.parts[before + atomicAdd(&open.counts[group], 1u)] = part;
    }
}

/// Of the first pass.
template <class T>
std::size_t bounding_bytes(const Problem& p) {
  return T::shared_bytes(p.right.height, 1) + T::warps() * sizeof(OfWarp<T, 1>);
}

/// What the first pass leaves, for launches of that many rights.
template <class T>
struct BoundMemory {
  PartBounds bounds;
  OpenParts open;
  unsigned* marks;  ///< see list_open_parts()
  LeadShares* shares;
  std::size_t bytes;

  BoundMemory(const Problem& p, int rights, void* memory) {
    const int parts = WindowOrder<T>(p.shifts).count();
    // Rights that begin within a group are of one group more.
    const std::size_t groups = ceil_div(rights, T::rights) + 1, count = groups * parts;
    bounds = {static_cast<PartBound*>(memory), parts, T::rights};
    open.parts = reinterpret_cast<int*>(bounds.of + count * T::rights);
    marks = reinterpret_cast<unsigned*>(open.parts + count);
    shares = reinterpret_cast<LeadShares*>(marks + count);
    open.counts = reinterpret_cast<unsigned*>(shares + parts);
    bytes = count * (T::rights * sizeof(PartBound) + sizeof(int) + sizeof(unsigned)) +
            parts * sizeof(LeadShares) + groups * sizeof(unsigned);
  }
};

template <class T>
bool bounds_first(const stage::Search::Problem& p, const Device& device) {
  return bounds_parts(p) && bounding_bytes<T>(p.correlate) <= max_shared_bytes(device);
}

}  // namespace xcorr::cuda
