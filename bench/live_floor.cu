// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a frame of a live stream costs at the least: one of 1920x1080 bytes is copied from pinned
// memory to the GPU, kernels that do nothing follow, and the host waits for their end; one frame
// after the other, and with time between them, in which machines go to sleep. One CSV line a case
// on standard output: median and 99th percentile in microseconds.
//
//   live_floor
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <cuda_runtime.h>

namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr std::size_t frame_bytes = 1920 * 1080;
constexpr int frames = 64;  ///< in more memory than caches have
constexpr Milliseconds gaps[] = {Milliseconds(0), Milliseconds(1), Milliseconds(1000.0 / 60)};

__global__ void nothing() {}

void require(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "live_floor: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

/// What is done for a frame.
struct Work {
  const char* name;
  bool copies;
  int kernels;
  bool spins;  ///< the host, until the next frame
};

constexpr Work works[] = {
    {"a kernel", false, 1, false},
    {"copy of a frame, kernel", true, 1, false},
    {"copy of a frame, five kernels", true, 5, false},
    {"the same, the host spins meanwhile", true, 5, true},
};

class LiveFloor {
 public:
  LiveFloor() {
    require(cudaHostAlloc(&host_, frames * frame_bytes, cudaHostAllocDefault));
    require(cudaMalloc(&device_, frame_bytes));
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    require(cudaEventCreateWithFlags(&end_, cudaEventDisableTiming));
  }

  void measure(const Work& work, Milliseconds gap) {
    const int count = gap > Milliseconds(2) ? 120 : 400, warm_up = count / 10;
    std::vector<double> microseconds;
    Clock::time_point due = Clock::now();
    for (int i = 0; i < count; ++i) {
      due += std::chrono::duration_cast<Clock::duration>(gap);
      if (work.spins)
        while (Clock::now() < due) continue;
      else
        std::this_thread::sleep_until(due);
      const double taken = frame(work, i % frames);
      if (i >= warm_up) microseconds.push_back(taken);
    }
    std::sort(microseconds.begin(), microseconds.end());
    std::printf("\"%s\",%.2f,%.1f,%.1f\n", work.name, gap.count(),
                microseconds[microseconds.size() / 2],
                microseconds[microseconds.size() * 99 / 100]);
  }

 private:
  double frame(const Work& work, int number) {
    const Clock::time_point begin = Clock::now();
    const auto* from = static_cast<const std::byte*>(host_) + number * frame_bytes;
    if (work.copies)
      require(cudaMemcpyAsync(device_, from, frame_bytes, cudaMemcpyHostToDevice, stream_));
    for (int k = 0; k < work.kernels; ++k) nothing<<<1, 32, 0, stream_>>>();
    require(cudaEventRecord(end_, stream_));
    require(cudaEventSynchronize(end_));
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }

  void *host_ = nullptr, *device_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

}  // namespace

int main() {
  LiveFloor floor;
  std::puts("work,gap_ms,p50_us,p99_us");
  for (const Milliseconds gap : gaps)
    for (const Work& work : works)
      if (gap > Milliseconds(0) || !work.spins) floor.measure(work, gap);
}
