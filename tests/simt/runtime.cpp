// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The runtime API on a CPU, see simt/runtime_api.hpp. Device memory is a block of exactly the size
// asked for, filled with garbage, so that AddressSanitizer sees what lies outside. Streams are in
// streams.cpp.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "attempt.hpp"

namespace {

constexpr std::size_t device_memory = std::size_t{4} << 30;
constexpr std::size_t shared_without_asking = 48 * 1024;
constexpr std::size_t alignment = 256;  // as cudaMalloc gives

thread_local cudaError_t last_error = cudaSuccess;

int number_from(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

int capability() {
  static const int value = number_from("XCORR_SIMT_COMPUTE_CAPABILITY", 90);
  return value;
}

/// Of a block, at most.
std::size_t max_shared() {
  const int cc = capability();
  const int kib = cc == 86 || cc == 89 || cc / 10 == 12 ? 99 : cc >= 90 ? 227 : cc >= 80 ? 163 : 64;
  return std::size_t(kib) * 1024;
}

class DeviceMemory {
 public:
  void* allocate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    void* memory = nullptr;
    if (bytes > device_memory - used_ || posix_memalign(&memory, alignment, bytes) != 0)
      return nullptr;
    std::memset(memory, 0xcd, bytes);
    sizes_[memory] = bytes;
    used_ += bytes;
    return memory;
  }

  bool release(void* memory) {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(memory);
    if (found == sizes_.end()) return false;
    used_ -= found->second;
    sizes_.erase(found);
    std::free(memory);
    return true;
  }

  /// Host memory of others.
  bool pin(void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    return bytes > 0 && !has(pinned_, memory) && pinned_.emplace(memory, bytes).second;
  }
  bool unpin(void* memory) {
    const std::lock_guard lock(mutex_);
    return pinned_.erase(memory) > 0;
  }

  /// Whether it lies in a block that is allocated or pinned.
  bool holds(const void* place) {
    const std::lock_guard lock(mutex_);
    return has(sizes_, place) || has(pinned_, place);
  }

  std::size_t used() {
    const std::lock_guard lock(mutex_);
    return used_;
  }

 private:
  using Blocks = std::map<void*, std::size_t>;
  static bool has(const Blocks& blocks, const void* place) {
    auto block = blocks.upper_bound(const_cast<void*>(place));
    if (block == blocks.begin()) return false;
    --block;
    return static_cast<const std::byte*>(place) <
           static_cast<const std::byte*>(block->first) + block->second;
  }

  std::mutex mutex_;
  Blocks sizes_, pinned_;
  std::size_t used_ = 0;
};

DeviceMemory& memory() {
  static DeviceMemory& only = *new DeviceMemory;  // outlives whatever frees at exit
  return only;
}

/// The most dynamic shared memory that a kernel may be launched with.
std::map<const void*, std::size_t>& raised_limits() {
  static std::map<const void*, std::size_t> limits;
  return limits;
}
std::mutex limits_mutex;

/// What the driver supports, or none is there: XCORR_SIMT_DRIVER=0.
int driver_version() {
  const char* version = std::getenv("XCORR_SIMT_DRIVER");
  return version ? std::atoi(version) : CUDART_VERSION;
}

}  // namespace

using simt::attempt;
using simt::attempt_to_free;
using simt::fail;

// ---- errors and devices ---------------------------------------------------------------------

cudaError_t simt::fail(cudaError_t error) { return last_error = error; }

cudaError_t cudaGetLastError() {
  if (const cudaError_t error = simt::lasting_error()) return error;
  return std::exchange(last_error, cudaSuccess);
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureUnjoined:
      return "cudaErrorStreamCaptureUnjoined";
    case cudaErrorUnknown:
      return "cudaErrorUnknown";
  }
  return "an error";
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorUnknown:
      return "unknown error";
    default:
      return cudaGetErrorName(error);
  }
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = driver_version() < CUDART_VERSION ? 0 : 1;
  if (*count == 0) return cudaErrorInsufficientDriver;
  return attempt([] { return cudaSuccess; });
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  return attempt([&] { return device == 0 ? cudaSuccess : fail(cudaErrorInvalidDevice); });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return fail(cudaErrorInvalidDevice);
  if (const cudaError_t error = simt::call()) return fail(error);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "GPU on a CPU");
  properties->major = capability() / 10;
  properties->minor = capability() % 10;
  properties->multiProcessorCount = number_from("XCORR_SIMT_MULTIPROCESSORS", 4);
  properties->clockRate = 1'000'000;
  properties->warpSize = warpSize;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
  properties->totalGlobalMem = device_memory;
  properties->sharedMemPerBlock = shared_without_asking;
  properties->sharedMemPerBlockOptin = max_shared();
  properties->sharedMemPerMultiprocessor = max_shared() + 1024;
  properties->l2CacheSize = 4 << 20;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = driver_version();
  return cudaSuccess;
}

// ---- memory ---------------------------------------------------------------------------------

std::size_t simt::allocated_bytes() { return memory().used(); }

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  *pointer = nullptr;
  if (simt::is_capturing()) return fail(cudaErrorStreamCaptureUnsupported);
  const auto allocate = [&] {
    *pointer = memory().allocate(bytes);
    return *pointer ? cudaSuccess : fail(cudaErrorMemoryAllocation);
  };
  return attempt(allocate, simt::Kind::allocation);
}

cudaError_t cudaFree(void* pointer) {
  return attempt_to_free([&] {
    return !pointer || memory().release(pointer) ? cudaSuccess : fail(cudaErrorInvalidValue);
  });
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  return cudaMalloc(pointer, bytes);
}
cudaError_t cudaFreeHost(void* pointer) { return cudaFree(pointer); }

cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned) {
  return attempt(
      [&] { return memory().pin(pointer, bytes) ? cudaSuccess : fail(cudaErrorInvalidValue); });
}
cudaError_t cudaHostUnregister(void* pointer) {
  return attempt_to_free(
      [&] { return memory().unpin(pointer) ? cudaSuccess : fail(cudaErrorInvalidValue); });
}

/// Memory of the host and of the device are told apart by nothing here.
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return attempt([&] {
    attributes->type = memory().holds(pointer) ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
    attributes->device = 0;
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind, cudaStream_t stream) {
  if (width > to_pitch || width > from_pitch) return fail(cudaErrorInvalidValue);
  return simt::enqueue(stream, [=] {
    for (std::size_t row = 0; width > 0 && row < height; ++row)
      std::memcpy(static_cast<std::byte*>(to) + row * to_pitch,
                  static_cast<const std::byte*>(from) + row * from_pitch, width);
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}

cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width,
                              std::size_t height, cudaStream_t stream) {
  return simt::enqueue(stream, [=] {
    for (std::size_t row = 0; row < height; ++row)
      std::memset(static_cast<std::byte*>(to) + row * pitch, value, width);
    return cudaSuccess;
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return cudaMemset2DAsync(to, bytes, value, bytes, 1, stream);
}

// ---- launches -------------------------------------------------------------------------------

namespace simt {

cudaError_t set_function_attribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (const cudaError_t error = simt::call()) return fail(error);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  const auto bytes = static_cast<std::size_t>(value);
  if (value < 0 || bytes > max_shared()) return fail(cudaErrorInvalidValue);
  const std::lock_guard lock(limits_mutex);
  raised_limits()[kernel] = bytes;
  return cudaSuccess;
}

cudaError_t check(const Launch& launch) {
  const dim3 g = launch.grid, b = launch.block;
  const bool grid_fits = g.x && g.y && g.z && g.x <= 0x7fffffff && g.y <= 65535 && g.z <= 65535;
  const bool block_fits =
      b.x && b.y && b.z && b.x <= 1024 && b.y <= 1024 && b.z <= 64 && b.x * b.y * b.z <= 1024;
  if (!grid_fits || !block_fits) return fail(cudaErrorInvalidConfiguration);
  {
    const std::lock_guard lock(limits_mutex);
    const auto raised = raised_limits().find(launch.kernel);
    const std::size_t limit =
        std::max(shared_without_asking, raised == raised_limits().end() ? 0 : raised->second);
    if (launch.shared_bytes > limit) return fail(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

}  // namespace simt
