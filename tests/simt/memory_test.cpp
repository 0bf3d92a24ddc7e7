// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Memory and launches: accesses outside a buffer, uninitialised memory, copies in flight, and the
// limits of CUDA.
#include "cuda/common/async_copy.cuh"
#include "cuda/common/shared_memory.cuh"
#include "support.hpp"

namespace xcorr::cuda {
namespace {

// ---- bounds ---------------------------------------------------------------------------------

__global__ void write_at(int* out, int place) { out[place] = 1; }
__global__ void read_at(int* out, int place) { out[0] = out[place]; }

__global__ void shared_at(int* out, int place) {
  __shared__ int before[8], values[8], behind[8];
  before[threadIdx.x] = values[threadIdx.x] = behind[threadIdx.x] = 1;
  out[0] = before[0] + values[place] + behind[0];
}
__global__ void dynamic_at(int* out, int place) {
  int* values = dynamic_shared<int>();
  values[place] = 1;
  out[0] = values[place];
}
__global__ void vector_at(int* out, int place) {
  out[0] = reinterpret_cast<const int4*>(out + place)->x;
}

template <class Kernel>
void run_at(Kernel kernel, int place) {
  Array<int> out(16);
  run(kernel, 1, 8, 8 * sizeof(int), out.data(), place);
}

TEST(Bounds, InsideIsNoError) {
  run_at(write_at, 15);
  run_at(read_at, 15);
  run_at(shared_at, 7);
  run_at(dynamic_at, 7);
  run_at(vector_at, 12);
}
TEST(BoundsDeathTest, WriteOutside) {
  EXPECT_DEATH(run_at(write_at, 16), "heap-buffer-overflow");
  EXPECT_DEATH(run_at(write_at, -1), "heap-buffer-overflow");
}
TEST(BoundsDeathTest, ReadOutside) { EXPECT_DEATH(run_at(read_at, 16), "heap-buffer-overflow"); }
TEST(BoundsDeathTest, StaticSharedMemory) {
  EXPECT_DEATH(run_at(shared_at, 8), "index 8 out of bounds|global-buffer-overflow");
}
TEST(BoundsDeathTest, DynamicSharedMemory) {
  EXPECT_DEATH(run_at(dynamic_at, 8), "heap-buffer-overflow");
}
TEST(BoundsDeathTest, MisalignedVector) {
  EXPECT_DEATH(run_at(vector_at, 2), "misaligned address");
}
TEST(BoundsDeathTest, FreedMemory) {
  const auto use_after_free = [] {
    int* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, 64), cudaSuccess);
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
    run(write_at, 1, 1, 0, memory, 0);
  };
  EXPECT_DEATH(use_after_free(), "heap-use-after-free");
}

TEST(Memory, HoldsGarbageAtFirst) {
  int* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 64), cudaSuccess);
  for (int i = 0; i < 16; ++i) EXPECT_NE(memory[i], 0);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaErrorInvalidValue);
}

TEST(Memory, EndsSomewhere) {
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, std::size_t{1} << 40), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

__global__ void shared_at_first(int* out) {
  __shared__ int value;
  out[2 * blockIdx.x] = value;
  out[2 * blockIdx.x + 1] = *dynamic_shared<int>();
  value = *dynamic_shared<int>() = 0;
}

TEST(Memory, SharedHoldsGarbageAtFirst) {
  Array<int> out(4);
  run(shared_at_first, 2, 1, sizeof(int), out.data());
  for (const int value : out.values()) EXPECT_NE(value, 0);
}

// ---- asynchronous copies ----------------------------------------------------------------------

template <int pending, bool with_barrier = true>
__global__ void through_shared(const int* in, int* out) {
  int* values = dynamic_shared<int>();
  const int t = threadIdx.x, n = blockDim.x;
  copy_async<4>(values + t, in + t, 4);
  commit_copies();
  copy_async<4>(values + n + t, in + n + t, t ? 4 : 0);
  commit_copies();
  wait_copies<pending>();
  if (with_barrier) __syncthreads();
  out[t] = values[n - 1 - t];
  out[n + t] = values[2 * n - 1 - t];
}

std::vector<int> copy_through_shared(void (*kernel)(const int*, int*)) {
  std::vector<int> numbers(64);
  for (int i = 0; i < 64; ++i) numbers[i] = i + 1;
  const Array<int> in(numbers);
  const Array<int> out(64);
  run(kernel, 1, 32, 64 * sizeof(int), in.data(), out.data());
  return out.values();
}

TEST(AsyncCopy, IsThereAfterTheWait) {
  std::vector<int> expected(64);
  for (int i = 0; i < 32; ++i) expected[i] = 32 - i, expected[32 + i] = 64 - i;
  expected[63] = 0;  // filled
  EXPECT_EQ(copy_through_shared(through_shared<0>), expected);
}

TEST(AsyncCopy, IsNotThereBeforeTheWait) {
  const auto values = copy_through_shared(through_shared<1>);
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(values[i], 32 - i);
    EXPECT_NE(values[32 + i], 64 - i);
  }
}

TEST(AsyncCopy, OfOthersIsNotThereWithoutABarrier) {
  EXPECT_NE(copy_through_shared(through_shared<0, false>),
            copy_through_shared(through_shared<0, true>));
}

__global__ void misaligned_copy(const int* in) {
  copy_async<16>(dynamic_shared<int>(), in + 1, 16);
}
__global__ void copy_from_outside(const int* in) {
  copy_async<16>(dynamic_shared<int>(), in + 8, 16);
}

TEST(AsyncCopyDeathTest, Misaligned) {
  const Array<int> in(8);
  EXPECT_DEATH(run(misaligned_copy, 1, 1, 64, in.data()), "not aligned to 16 bytes");
}
TEST(AsyncCopyDeathTest, FromOutside) {
  const Array<int> in(8);
  EXPECT_DEATH(run(copy_from_outside, 1, 1, 64, in.data()), "heap-buffer-overflow");
}

// ---- launches -------------------------------------------------------------------------------

__global__ void nothing() {}

Status launch_nothing(dim3 grid, dim3 block, std::size_t shared_bytes = 0) {
  return enqueue("nothing", nothing, grid, block, shared_bytes, {});
}

TEST(Launch, WithinTheLimits) {
  EXPECT_TRUE(launch_nothing(70000, 32).ok());
  EXPECT_TRUE(launch_nothing({1, 65535, 1}, 1).ok());
  EXPECT_TRUE(launch_nothing(1, {32, 32, 1}).ok());
  EXPECT_TRUE(launch_nothing(1, 1, 227 * 1024).ok());
}

TEST(Launch, PastTheLimitsIsAnErrorThatNamesTheKernel) {
  for (const Status& status :
       {launch_nothing(1, 1025), launch_nothing(1, {1, 1, 65}), launch_nothing(1, {64, 32, 1}),
        launch_nothing(0, 1), launch_nothing(1, 0), launch_nothing({1, 65536, 1}, 1),
        launch_nothing({1, 1, 65536}, 1)})
    EXPECT_EQ(status.message(), "nothing: invalid configuration argument");
  EXPECT_EQ(launch_nothing(1, 1, 228 * 1024).message(), "nothing: invalid argument");
}

__global__ void wants_much() {}

TEST(Launch, SharedMemoryPast48KiBMustBeAskedFor) {
  cudaLaunchConfig_t config;
  config.dynamicSmemBytes = 49 * 1024;
  EXPECT_EQ(cudaLaunchKernelEx(&config, wants_much), cudaErrorInvalidValue);
  EXPECT_TRUE(enqueue("wants_much", wants_much, 1, 1, 49 * 1024, {}).ok());
  EXPECT_EQ(cudaLaunchKernelEx(&config, wants_much), cudaSuccess);
}

__global__ void wants_more_or_less() {}

/// Of two threads that launch one kernel, that with less must not take from the other one.
TEST(Launch, LimitOfSharedMemoryIsNotLowered) {
  cudaLaunchConfig_t config;
  config.dynamicSmemBytes = 100 * 1024;
  EXPECT_TRUE(enqueue("more", wants_more_or_less, 1, 1, config.dynamicSmemBytes, {}).ok());
  EXPECT_TRUE(enqueue("less", wants_more_or_less, 1, 1, 49 * 1024, {}).ok());
  EXPECT_EQ(cudaLaunchKernelEx(&config, wants_more_or_less), cudaSuccess);
}

}  // namespace
}  // namespace xcorr::cuda
