// SPDX-License-Identifier: LGPL-2.1-or-later
//
// CUDA's errors as a Status.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <string_view>

#include <xcorr/device.hpp>

namespace xcorr::cuda {

inline Status check(cudaError_t error, std::string_view what) {
  if (error == cudaSuccess) return {};
  cudaGetLastError();  // clears errors that are not sticky
  const Code code = error == cudaErrorMemoryAllocation ? Code::out_of_memory : Code::device_error;
  return {code, std::string(what) + ": " + cudaGetErrorString(error)};
}

/// Lets a kernel be launched on the current device with that much dynamic shared memory. The limit
/// is never lowered, or a launch that another thread is about to make would fail.
Status raise_shared_limit(const void* kernel, std::size_t bytes, const char* name);

inline cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream.handle); }

}  // namespace xcorr::cuda
