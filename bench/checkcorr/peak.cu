// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rate of multiply-adds that a GPU sustains: threads that do nothing else, with eight
// independent sums each to hide latency. Rates of kernels are given as a share of it.
#include "peak.hpp"

#include <algorithm>

#include "cuda/common/launch.cuh"
#include "device/runtime.hpp"

namespace checkcorr {
namespace {

using xcorr::ElementType;
using xcorr::Result;
using xcorr::Status;

constexpr int threads = 256, blocks_a_multiprocessor = 8, sums = 8, steps = 16, rounds = 4096;

template <class T>
__global__ void __launch_bounds__(threads) multiply_add(T* out, T factor, T addend) {
  T sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = T(threadIdx.x + i);
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int step = 0; step < steps; ++step)
#pragma unroll
      for (int i = 0; i < sums; ++i) sum[i] = sum[i] * factor + addend;
  T total = 0;
  for (int i = 0; i < sums; ++i) total += sum[i];
  out[blockIdx.x * threads + threadIdx.x] = total;
}

template <class T>
Result<double> rate_of(const xcorr::Device& device) {
  const unsigned blocks = device.multiprocessors * blocks_a_multiprocessor;
  auto out = xcorr::Block::make(device.backend, sizeof(T) * blocks * threads);
  if (!out.ok()) return out.status();
  auto timer = xcorr::Timer::make(device.backend);
  if (!timer.ok()) return timer.status();
  double best = 0;
  for (int turn = 0; turn < 4; ++turn) {
    const auto seconds = timer.value().time([&] {
      return xcorr::cuda::enqueue("multiply_add", multiply_add<T>, blocks, threads, 0, {},
                                  out.value().as<T>(), T(3), T(1));
    });
    if (!seconds.ok()) return seconds.status();
    best = std::max(best, double(blocks) * threads * sums * steps * rounds / seconds.value());
  }
  return best;
}

Result<double> rate(const xcorr::Device& device, ElementType products) {
  if (products == ElementType::f32) return rate_of<float>(device);
  if (products == ElementType::f64) return rate_of<double>(device);
  return rate_of<unsigned>(device);
}

const PeakMeter meter{
    rate, std::to_string(CUDART_VERSION / 1000) + '.' + std::to_string(CUDART_VERSION % 1000 / 10)};
[[maybe_unused]] const bool announced = (peak_meter = &meter, true);

}  // namespace
}  // namespace checkcorr
