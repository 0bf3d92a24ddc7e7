// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a chain of kernels costs, whatever they do, where each begins when the one before has ended;
// the last one writes to pinned host memory. One CSV line a case on standard output: microseconds,
// from the first launch until the host knows the end, one chain at a time; and a chain among many
// that are enqueued one after the other. `early`: programmatic dependent launches, which need not
// wait for the memory of the one before, but do not begin before its blocks have ended either.
//
//   chain_floor
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

namespace {

using Clock = std::chrono::steady_clock;

void require(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "chain_floor: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

__global__ void link(unsigned* at, unsigned* host) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  if (blockIdx.x + threadIdx.x > 0) return;
  *at += 1;
  if (host) *host = *at;
}

class Chain {
 public:
  Chain(int kernels, int blocks, bool early) : kernels_(kernels), blocks_(blocks), early_(early) {
    require(cudaMalloc(&at_, sizeof *at_));
    require(cudaMemset(at_, 0, sizeof *at_));
    require(cudaHostAlloc(&host_, sizeof *host_, cudaHostAllocDefault));
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    require(cudaEventCreateWithFlags(&end_, cudaEventDisableTiming));
  }
  ~Chain() {
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
    cudaFreeHost(host_);
    cudaFree(at_);
  }
  /// Microseconds a chain of `count`, median.
  double measure(int count) {
    std::vector<double> times;
    for (int turn = 0; turn < 2000 / count; ++turn) {
      const auto begin = Clock::now();
      for (int i = 0; i < count; ++i) enqueue();
      require(cudaEventRecord(end_, stream_));
      require(cudaEventSynchronize(end_));
      times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2] / count;
  }

 private:
  void enqueue() {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks_);
    config.blockDim = dim3(256);
    config.stream = stream_;
    config.attrs = &attribute;
    config.numAttrs = early_ ? 1 : 0;
    for (int k = 0; k < kernels_; ++k)
      require(cudaLaunchKernelEx(&config, link, at_, k + 1 == kernels_ ? host_ : nullptr));
  }

  int kernels_, blocks_;
  bool early_;
  unsigned *at_ = nullptr, *host_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

}  // namespace

int main() {
  std::puts("kernels,blocks,early,alone_us,stream_us");
  for (const bool early : {false, true})
    for (const int blocks : {1, 132})
      for (const int kernels : {1, 2, 3, 4, 6, 8, 12, 16}) {
        Chain chain(kernels, blocks, early);
        chain.measure(1);
        const double alone = chain.measure(1);
        std::printf("%d,%d,%d,%.2f,%.2f\n", kernels, blocks, early, alone, chain.measure(20));
      }
}
