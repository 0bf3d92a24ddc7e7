// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the emulation's own tests share: device arrays and launches. Kernels stand in xcorr::cuda,
// as the library's do: shared.ld finds their shared memory by that.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <vector>

#include "cuda/common/launch.cuh"

namespace xcorr::cuda {

/// An array in device memory.
template <class T>
class Array {
 public:
  explicit Array(std::size_t count, T value = {}) : count_(count) {
    EXPECT_EQ(cudaMalloc(&data_, count * sizeof(T)), cudaSuccess);
    for (std::size_t i = 0; i < count; ++i) data_[i] = value;
  }
  explicit Array(const std::vector<T>& values) : Array(values.size()) {
    cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice);
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(data_); }

  T* data() const { return data_; }
  std::vector<T> values() const { return {data_, data_ + count_}; }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

/// Launches with that much shared memory and expects success.
template <class Kernel, class... Arguments>
void run(Kernel kernel, dim3 grid, dim3 block, std::size_t shared_bytes, Arguments... arguments) {
  const Status status = enqueue("kernel", kernel, grid, block, shared_bytes, {}, arguments...);
  EXPECT_TRUE(status.ok()) << status.message();
}

inline const std::vector<simt::Order> all_orders{simt::Order::ascending, simt::Order::descending,
                                                 simt::Order::shuffled};

}  // namespace xcorr::cuda
