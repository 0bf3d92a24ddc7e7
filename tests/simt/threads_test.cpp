// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Threads that wait for each other: correct kernels complete in every order, broken ones are
// reported with the reason.
#include <numeric>

#include "support.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 96;

/// Runs `kernel(int*)` in each order; the results of a block of `threads`, by order.
template <class Kernel>
std::vector<std::vector<int>> in_all_orders(Kernel kernel) {
  std::vector<std::vector<int>> results;
  for (const simt::Order order : all_orders) {
    simt::set_order(order, 3);
    Array<int> out(threads, -1);
    run(kernel, 1, threads, 0, out.data());
    results.push_back(out.values());
  }
  simt::set_order(simt::Order::ascending);
  return results;
}

template <class Kernel>
void run_one_block(Kernel kernel, dim3 block = threads) {
  Array<int> out(threads);
  run(kernel, 1, block, 0, out.data());
}

// ---- barriers -------------------------------------------------------------------------------

template <bool with_barrier>
__global__ void left_neighbour(int* out) {
  __shared__ int values[threads];
  const int t = threadIdx.x;
  values[t] = t;
  if (with_barrier) __syncthreads();
  out[t] = values[t ? t - 1 : threads - 1];
}

TEST(Barrier, OrdersWritesAndReads) {
  std::vector<int> expected(threads);
  std::iota(expected.begin(), expected.end(), -1);
  expected[0] = threads - 1;
  for (const auto& result : in_all_orders(left_neighbour<true>)) EXPECT_EQ(result, expected);
}

TEST(Barrier, MissingOneShowsInSomeOrder) {
  const auto results = in_all_orders(left_neighbour<false>);
  EXPECT_EQ(results[0][1], 0);  // ascending: the left neighbour has been there
  EXPECT_NE(results[1][1], 0);  // descending: it has not
  EXPECT_NE(results[2], results[0]);
}

/// The sum of the threads' numbers, round after round in the same memory.
template <bool with_second_barrier>
__global__ void sums(int* out) {
  __shared__ int value;
  int sum = 0;
  for (int i = 0; i < threads; ++i) {
    if (static_cast<int>(threadIdx.x) == i) value = i;
    __syncthreads();
    sum += value;
    if (with_second_barrier) __syncthreads();
  }
  out[threadIdx.x] = sum;
}

TEST(Barrier, MissingOneBeforeMemoryIsWrittenAnewShows) {
  const std::vector<int> expected(threads, threads * (threads - 1) / 2);
  for (const auto& result : in_all_orders(sums<true>)) EXPECT_EQ(result, expected);
  const auto wrong = in_all_orders(sums<false>);
  EXPECT_TRUE(wrong[0] != expected || wrong[1] != expected || wrong[2] != expected);
}

__global__ void counts(int* out) {
  const int even = threadIdx.x % 2 == 0;
  const int count = __syncthreads_count(even), any = __syncthreads_or(threadIdx.x == 5),
            none = __syncthreads_or(0), all = __syncthreads_and(1),
            not_all = __syncthreads_and(threadIdx.x != 7);
  out[threadIdx.x] = count + 1000 * any + 2000 * none + 4000 * all + 8000 * not_all;
}

TEST(Barrier, CountsPredicates) {
  for (const auto& result : in_all_orders(counts))
    EXPECT_EQ(result, std::vector<int>(threads, threads / 2 + 1000 + 4000));
}

__global__ void two_places(int*) {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
}

__global__ void some_end(int*) {
  if (threadIdx.x == 40) return;
  __syncthreads();
}

TEST(BarrierDeathTest, InTwoPlaces) {
  EXPECT_DEATH(run_one_block(two_places), "other threads of the block wait at another barrier");
}

TEST(BarrierDeathTest, SomeThreadEnds) {
  EXPECT_DEATH(run_one_block(some_end), "thread \\(40, 0, 0\\) has ended and will not come");
}

// ---- warps ----------------------------------------------------------------------------------

__global__ void shuffles(int* out) {
  const int t = threadIdx.x, lane = t % 32;
  int wrong = 0;
  wrong += __shfl_sync(~0u, t, 7) != t - lane + 7;
  wrong += __shfl_sync(~0u, t, lane + 33) != t - lane + (lane + 1) % 32;
  wrong += __shfl_up_sync(~0u, t, 3) != (lane < 3 ? t : t - 3);
  wrong += __shfl_down_sync(~0u, t, 3) != (lane > 28 ? t : t + 3);
  wrong += __shfl_xor_sync(~0u, t, 5) != (t ^ 5);
  wrong += __shfl_sync(~0u, t, 9, 8) != t - lane % 8 + 1;
  wrong += __shfl_up_sync(~0u, t, 1, 16) != (lane % 16 ? t - 1 : t);
  wrong += __shfl_down_sync(~0u, t, 1, 4) != (lane % 4 == 3 ? t : t + 1);
  wrong += __shfl_xor_sync(~0u, t, 4, 4) != (lane & 4 ? t - 4 : t);
  wrong += __shfl_sync(~0u, 0.5 + t, 31) != 0.5 + (t | 31);
  wrong += __shfl_sync(~0u, 0.5f + t, 31) != 0.5f + (t | 31);
  wrong += __shfl_down_sync(~0u, (1ull << 40) + t, 1) != (1ull << 40) + (lane == 31 ? t : t + 1);
  const unsigned half = lane < 16 ? 0xffffu : 0xffff0000u;
  wrong += __shfl_sync(half, t, 3, 16) != t - lane % 16 + 3;
  out[t] = wrong;
}

TEST(Warp, Shuffles) {
  for (const auto& result : in_all_orders(shuffles))
    EXPECT_EQ(result, std::vector<int>(threads, 0));
}

__global__ void votes(int* out) {
  const int t = threadIdx.x, lane = t % 32;
  int wrong = 0;
  wrong += __ballot_sync(~0u, lane % 2) != 0xaaaaaaaau;
  wrong += !__any_sync(~0u, lane == 3) || __any_sync(~0u, 0);
  wrong += !__all_sync(~0u, 1) || __all_sync(~0u, lane != 3);
  wrong += __match_any_sync(~0u, lane % 4) != 0x11111111u << lane % 4;
  int all = 0;
  wrong += __match_all_sync(~0u, 1.5, &all) != ~0u || !all;
  wrong += __match_all_sync(~0u, lane / 31, &all) != 0 || all;
  wrong += __reduce_add_sync(~0u, lane) != 496;
  wrong += __reduce_min_sync(~0u, lane - 5) != -5 || __reduce_max_sync(~0u, lane - 5) != 26;
  wrong += __reduce_max_sync(~0u, unsigned(lane) - 5) != ~0u;
  wrong += __reduce_or_sync(~0u, 1u << lane) != ~0u || __reduce_xor_sync(~0u, 1u) != 0;
  wrong += __reduce_and_sync(~0u, ~(1u << lane)) != 0;
  out[t] = wrong;
}

TEST(Warp, VotesMatchesAndReductions) {
  for (const auto& result : in_all_orders(votes)) EXPECT_EQ(result, std::vector<int>(threads, 0));
}

template <bool with_barrier>
__global__ void exchange(int* out) {
  __shared__ int values[threads];
  const int t = threadIdx.x;
  values[t] = t;
  if (with_barrier) __syncwarp();
  out[t] = values[t ^ 1];
}

TEST(Warp, SyncwarpOrdersAndIsMissed) {
  for (const auto& result : in_all_orders(exchange<true>))
    for (int t = 0; t < threads; ++t) EXPECT_EQ(result[t], t ^ 1);
  for (const auto& result : in_all_orders(exchange<false>)) {
    int right = 0;
    for (int t = 0; t < threads; ++t) right += result[t] == (t ^ 1);
    EXPECT_LT(right, threads);
  }
}

__global__ void some_lanes_only(int* out) {
  if (threadIdx.x % 32 < 16) out[threadIdx.x] = __shfl_xor_sync(~0u, 1, 1);
}
__global__ void different_shuffles(int* out) {
  out[threadIdx.x] = threadIdx.x % 2 ? __shfl_xor_sync(~0u, 1, 1) : __shfl_up_sync(~0u, 1, 1);
}
__global__ void shuffle_and_barrier(int* out) {
  if (threadIdx.x == 33)
    __syncthreads();
  else
    out[threadIdx.x] = __shfl_xor_sync(~0u, 1, 1);
}
__global__ void mask_without_the_caller(int* out) { out[threadIdx.x] = __shfl_sync(0xffff, 1, 1); }
__global__ void reads_outside_the_mask(int* out) {
  if (threadIdx.x % 32 < 16) out[threadIdx.x] = __shfl_down_sync(0xffff, 1, 1);
}
__global__ void different_masks(int* out) {
  const unsigned mask = threadIdx.x % 32 == 9 ? 0x3ff : ~0u;
  out[threadIdx.x] = __shfl_xor_sync(mask, 1, 1);
}

TEST(WarpDeathTest, SomeLanesDoNotCome) {
  EXPECT_DEATH(run_one_block(some_lanes_only),
               "__shfl_xor_sync: lane 16 of the mask 0xffffffff has ended");
}
TEST(WarpDeathTest, LanesAtDifferentShuffles) {
  EXPECT_DEATH(run_one_block(different_shuffles),
               "__shfl_up_sync with the mask 0xffffffff: lane 1 is at __shfl_xor_sync");
}
TEST(WarpDeathTest, LaneWaitsAtABarrier) {
  EXPECT_DEATH(run_one_block(shuffle_and_barrier), "lane 1 of the mask .* waits at __syncthreads");
}
TEST(WarpDeathTest, MaskLacksTheCaller) {
  EXPECT_DEATH(run_one_block(mask_without_the_caller), "lane 16 calls it .* which lacks it");
}
TEST(WarpDeathTest, ReadsALaneOutsideTheMask) {
  EXPECT_DEATH(run_one_block(reads_outside_the_mask), "lane 15 reads lane 16, which is not");
}
TEST(WarpDeathTest, MasksDiffer) {
  EXPECT_DEATH(run_one_block(different_masks),
               "lane 9 is at __shfl_xor_sync with the mask 0x000003ff");
}
TEST(WarpDeathTest, BlockEndsAmidTheWarp) {
  EXPECT_DEATH(run_one_block(shuffles, 40), "lane 8 of the mask 0xffffffff does not exist");
}
TEST(WarpDeathTest, ReportNamesBlockThreadAndKernel) {
  EXPECT_DEATH(run_one_block(some_lanes_only, dim3(32, 2)),
               "by block \\(0, 0, 0\\), thread \\(0, 0, 0\\)\n.*some_lanes_only.*block 32x2x1");
}

__global__ void coordinates(int* out) {
  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const int all = blockDim.x * blockDim.y * blockDim.z;
  // Fibers change hands here.
  out[block * all + thread] = __shfl_xor_sync(~0u, static_cast<int>(threadIdx.x), 0) + 10 * thread;
}

TEST(Threads, HaveTheirCoordinates) {
  Array<int> out(64 * 8);
  run(coordinates, dim3(2, 2, 2), dim3(4, 8, 2), 0, out.data());
  const auto values = out.values();
  for (int i = 0; i < 64 * 8; ++i) EXPECT_EQ(values[i], i % 4 + 10 * (i % 64)) << i;
}

}  // namespace
}  // namespace xcorr::cuda
