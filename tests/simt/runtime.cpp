// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The runtime API on a CPU, see simt/runtime_api.hpp. Device memory is a block of exactly the size
// asked for, filled with garbage, so that AddressSanitizer sees what lies outside.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "simt/faults.hpp"
#include "simt/runtime_api.hpp"

namespace {

constexpr std::size_t device_memory = std::size_t{4} << 30;
constexpr std::size_t shared_without_asking = 48 * 1024;
constexpr std::size_t alignment = 256;  // as cudaMalloc gives

thread_local cudaError_t last_error = cudaSuccess;

cudaError_t fail(cudaError_t error) { return last_error = error; }

/// What a call does unless it is made to fail.
template <class Work>
cudaError_t call(Work work, simt::Kind kind = simt::Kind::other) {
  if (const cudaError_t error = simt::call(kind)) return fail(error);
  return work();
}
/// What frees and destroys does so in any case.
template <class Work>
cudaError_t call_to_free(Work work) {
  const cudaError_t error = simt::call();
  const cudaError_t result = work();
  return error ? fail(error) : result;
}

int capability() {
  static const int value = [] {
    const char* text = std::getenv("XCORR_SIMT_COMPUTE_CAPABILITY");
    return text ? std::atoi(text) : 90;
  }();
  return value;
}

/// Of a block, at most.
std::size_t max_shared() {
  const int kib = capability() >= 90   ? 227
                  : capability() == 89 ? 99
                  : capability() == 86 ? 99
                  : capability() >= 80 ? 163
                                       : 64;
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

  /// Whether it lies in a block that is allocated.
  bool holds(const void* place) {
    const std::lock_guard lock(mutex_);
    auto block = sizes_.upper_bound(const_cast<void*>(place));
    if (block == sizes_.begin()) return false;
    --block;
    return static_cast<const std::byte*>(place) <
           static_cast<const std::byte*>(block->first) + block->second;
  }

  std::size_t used() {
    const std::lock_guard lock(mutex_);
    return used_;
  }

 private:
  std::mutex mutex_;
  std::map<void*, std::size_t> sizes_;
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

/// How much of each stream's captured work something comes behind.
using Behind = std::map<CUstream_st*, std::size_t>;

/// What a graph does, in the order in which it was captured.
struct CUgraph_st {
  std::vector<std::function<cudaError_t()>> work;
  Behind all;
};
struct CUgraphExec_st : CUgraph_st {};

struct CUstream_st {
  CUgraph_st* capture = nullptr;  ///< the graph that captures it
  Behind behind = {};
};
struct CUevent_st {
  std::chrono::steady_clock::time_point time;
  CUgraph_st* capture = nullptr;
  Behind behind = {};
};

namespace {

/// That captures what this thread does.
thread_local CUgraph_st* capturing = nullptr;

/// What waits, allocates or knows no stream must not be called meanwhile.
bool is_allowed(cudaStream_t stream) { return !capturing || (stream && !stream->capture); }

}  // namespace

// ---- errors and devices ---------------------------------------------------------------------

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
  return call([] { return cudaSuccess; });
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  return call([&] { return device == 0 ? cudaSuccess : fail(cudaErrorInvalidDevice); });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return fail(cudaErrorInvalidDevice);
  if (const cudaError_t error = simt::call()) return fail(error);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "GPU on a CPU");
  properties->major = capability() / 10;
  properties->minor = capability() % 10;
  properties->multiProcessorCount = 4;
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
  if (capturing) return fail(cudaErrorStreamCaptureUnsupported);
  const auto allocate = [&] {
    *pointer = memory().allocate(bytes);
    return *pointer ? cudaSuccess : fail(cudaErrorMemoryAllocation);
  };
  return call(allocate, simt::Kind::allocation);
}

cudaError_t cudaFree(void* pointer) {
  return call_to_free([&] {
    return !pointer || memory().release(pointer) ? cudaSuccess : fail(cudaErrorInvalidValue);
  });
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  return cudaMalloc(pointer, bytes);
}
cudaError_t cudaFreeHost(void* pointer) { return cudaFree(pointer); }

/// Memory of the host and of the device are told apart by nothing here.
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return call([&] {
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

// ---- streams and events: all is done at once and in order -------------------------------------

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return call([&] {
    *stream = new CUstream_st;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call_to_free([&] {
    delete stream;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (!is_allowed(stream)) return fail(cudaErrorStreamCaptureUnsupported);
  return call([] { return cudaSuccess; });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return call([&] {
    if (event->capture && event->capture == capturing) {
      stream->capture = event->capture;
      stream->capture->all.try_emplace(stream);
      for (const auto& [other, work] : event->behind)
        stream->behind[other] = std::max(stream->behind[other], work);
    }
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return call([&] {
    *event = new CUevent_st{};
    return cudaSuccess;
  });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call_to_free([&] {
    delete event;
    return cudaSuccess;
  });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call([&] {
    event->time = std::chrono::steady_clock::now();
    event->capture = stream ? stream->capture : nullptr;
    event->behind = stream ? stream->behind : Behind();
    return cudaSuccess;
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event->capture) return fail(cudaErrorStreamCaptureUnsupported);
  return call([] { return cudaSuccess; });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  return call([&] {
    *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
    return cudaSuccess;
  });
}

// ---- graphs ---------------------------------------------------------------------------------

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (!stream || stream->capture || capturing) return fail(cudaErrorStreamCaptureUnsupported);
  return call([&] {
    capturing = stream->capture = new CUgraph_st;
    capturing->all.try_emplace(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  CUgraph_st* const made = stream->capture;
  if (!made) return fail(cudaErrorInvalidValue);
  const bool joined = std::ranges::all_of(
      made->all, [&](const auto& last) { return stream->behind[last.first] >= last.second; });
  for (const auto& [captured, work] : made->all) {
    captured->capture = nullptr;
    captured->behind.clear();
  }
  capturing = nullptr;
  const cudaError_t error = simt::call();
  if (joined && !error) {
    *graph = made;
    return cudaSuccess;
  }
  delete made;
  return fail(error ? error : cudaErrorStreamCaptureUnjoined);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  return call([&] {
    *made = new CUgraphExec_st{*graph};
    return cudaSuccess;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  return call([&] {
    for (const auto& work : graph->work)
      if (const cudaError_t error = work()) return error;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call_to_free([&] {
    delete graph;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return call_to_free([&] {
    delete graph;
    return cudaSuccess;
  });
}

// ---- launches -------------------------------------------------------------------------------

namespace simt {

cudaError_t enqueue(cudaStream_t stream, std::function<cudaError_t()> work) {
  if (capturing && !stream) return fail(cudaErrorStreamCaptureUnsupported);
  if (const cudaError_t error = call()) return fail(error);
  if (!stream || !stream->capture) return work();
  stream->capture->work.push_back(std::move(work));
  stream->behind[stream] = ++stream->capture->all[stream];
  return cudaSuccess;
}

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
