// SPDX-License-Identifier: LGPL-2.1-or-later
//
// CUDA's memory, streams and devices. Only make_current and push_current select a device: a
// caller with its own context (as GStreamer's CUDA library) makes it current, and the runtime API
// works in it.
#include "device/cuda_runtime.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "device/check.hpp"

namespace xcorr::cuda {
namespace {

Result<void*> allocate(std::size_t bytes, Memory memory) {
  void* pointer = nullptr;
  const cudaError_t error = memory == Memory::device
                                ? cudaMalloc(&pointer, bytes)
                                : cudaHostAlloc(&pointer, bytes, cudaHostAllocDefault);
  if (error != cudaSuccess)
    return check(error,
                 std::to_string(bytes) + (memory == Memory::device ? " bytes of device memory"
                                                                   : " bytes of pinned memory"));
  return pointer;
}

void release(void* pointer, Memory memory) {
  if (memory == Memory::device)
    cudaFree(pointer);
  else
    cudaFreeHost(pointer);
}

cudaMemcpyKind kind(Memory from, Memory to) {
  if (from == Memory::host)
    return to == Memory::host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
  return to == Memory::host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

Status copy(const Copy& c, Memory from, Memory to, Stream stream) {
  return check(cudaMemcpy2DAsync(c.to, c.to_pitch, c.from, c.from_pitch, c.bytes, c.rows,
                                 kind(from, to), native(stream)),
               "copy");
}

Status register_host(void* memory, std::size_t bytes) {
  return check(cudaHostRegister(memory, bytes, cudaHostRegisterPortable), "pin host memory");
}

void unregister_host(void* memory) { cudaHostUnregister(memory); }

bool is_pinned(const void* memory, std::size_t bytes) {
  const auto is_known = [](const void* byte) {
    cudaPointerAttributes attributes;
    return cudaPointerGetAttributes(&attributes, byte) == cudaSuccess &&
           attributes.type != cudaMemoryTypeUnregistered;
  };
  return is_known(memory) &&
         (bytes <= 1 || is_known(static_cast<const std::byte*>(memory) + bytes - 1));
}

bool is_here(const void* memory) {
  cudaPointerAttributes attributes;
  int current = 0;
  return cudaPointerGetAttributes(&attributes, memory) != cudaSuccess ||
         attributes.type != cudaMemoryTypeDevice || cudaGetDevice(&current) != cudaSuccess ||
         attributes.device == current;
}

Result<Stream> create_stream() {
  cudaStream_t stream;
  if (cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking))
    return check(error, "stream");
  return Stream{stream};
}

void destroy_stream(Stream stream) {
  if (stream.handle) cudaStreamDestroy(native(stream));
}

Status wait(Stream stream) {
  return check(cudaStreamSynchronize(native(stream)), "wait for the GPU");
}

Result<void*> create_event() {
  cudaEvent_t event;
  if (cudaError_t error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming))
    return check(error, "event");
  return event;
}

void destroy_event(void* event) {
  if (event) cudaEventDestroy(static_cast<cudaEvent_t>(event));
}

/// Whether what is enqueued on the stream is recorded.
bool is_recorded(Stream stream) {
  cudaStreamCaptureStatus status;
  return cudaStreamIsCapturing(native(stream), &status) == cudaSuccess &&
         status == cudaStreamCaptureStatusActive;
}

Status record(void* event, Stream stream) {
  return check(cudaEventRecordWithFlags(
                   static_cast<cudaEvent_t>(event), native(stream),
                   is_recorded(stream) ? cudaEventRecordExternal : cudaEventRecordDefault),
               "event");
}

Status delay(Stream stream, void* event) {
  return check(
      cudaStreamWaitEvent(native(stream), static_cast<cudaEvent_t>(event),
                          is_recorded(stream) ? cudaEventWaitExternal : cudaEventWaitDefault),
      "event");
}

Status wait_for(void* event) {
  return check(cudaEventSynchronize(static_cast<cudaEvent_t>(event)), "wait for the GPU");
}

Status order(Stream first, Stream second, void* event) {
  const auto at = static_cast<cudaEvent_t>(event);
  if (cudaError_t error = cudaEventRecord(at, native(first))) return check(error, "event");
  return check(cudaStreamWaitEvent(native(second), at), "event");
}

struct EventTimer {
  cudaEvent_t start = nullptr, stop = nullptr;
  ~EventTimer() {
    if (start) cudaEventDestroy(start);
    if (stop) cudaEventDestroy(stop);
  }
};

Result<void*> create_timer() {
  auto timer = std::make_unique<EventTimer>();
  for (cudaEvent_t* event : {&timer->start, &timer->stop})
    if (cudaError_t error = cudaEventCreateWithFlags(event, cudaEventDefault))
      return check(error, "event");
  return timer.release();
}

void destroy_timer(void* timer) { delete static_cast<EventTimer*>(timer); }

Status start(void* timer, Stream stream) {
  return check(cudaEventRecord(static_cast<EventTimer*>(timer)->start, native(stream)), "event");
}

Status stop(void* timer, Stream stream) {
  return check(cudaEventRecord(static_cast<EventTimer*>(timer)->stop, native(stream)), "event");
}

Result<double> elapsed(void* timer) {
  const auto& events = *static_cast<EventTimer*>(timer);
  float ms = 0;
  if (cudaError_t error = cudaEventSynchronize(events.stop)) return check(error, "event");
  if (cudaError_t error = cudaEventElapsedTime(&ms, events.start, events.stop))
    return check(error, "event");
  return 1e-3 * ms;
}

// Recordings are graphs. Only this thread's calls are in the way of one that is made.

Status begin_recording(Stream stream) {
  return check(cudaStreamBeginCapture(native(stream), cudaStreamCaptureModeThreadLocal),
               "recording");
}

Result<void*> end_recording(Stream stream) {
  cudaGraph_t graph = nullptr;
  if (cudaError_t error = cudaStreamEndCapture(native(stream), &graph))
    return check(error, "recording");
  cudaGraphExec_t recording = nullptr;
  const cudaError_t error = cudaGraphInstantiate(&recording, graph, 0);
  cudaGraphDestroy(graph);
  if (error != cudaSuccess) return check(error, "recording");
  return recording;
}

void destroy_recording(void* recording) {
  cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(recording));
}

Status replay(void* recording, Stream stream) {
  return check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(recording), native(stream)),
               "recording");
}

constexpr Runtime cuda_runtime = {
    allocate,
    release,
    copy,
    register_host,
    unregister_host,
    is_pinned,
    is_here,
    create_stream,
    destroy_stream,
    wait,
    create_event,
    destroy_event,
    record,
    delay,
    wait_for,
    order,
    create_timer,
    destroy_timer,
    start,
    stop,
    elapsed,
    begin_recording,
    end_recording,
    destroy_recording,
    replay,
};

/// What kernels have been allowed, by device.
struct {
  std::mutex mutex;
  std::map<std::pair<int, const void*>, std::size_t> bytes;
} shared_limits;

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Why counting the devices failed.
Status no_device(cudaError_t error) {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
    return {Code::not_found, "there is no NVIDIA driver on this machine"};
  if (error == cudaErrorInsufficientDriver)
    return {Code::not_found, "the NVIDIA driver is too old: it supports CUDA " +
                                 version_text(driver) + ", this build needs CUDA " +
                                 version_text(CUDART_VERSION)};
  return {Code::not_found, check(error, "no CUDA device").message()};
}

}  // namespace

const Runtime& runtime() { return cuda_runtime; }

Result<int> count_devices() {
  int count = 0;
  if (cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) return no_device(error);
  if (count == 0) return Status(Code::not_found, "no CUDA device: there are none");
  return count;
}

Status raise_shared_limit(const void* kernel, std::size_t bytes, const char* name) {
  int device = 0;
  if (cudaError_t error = cudaGetDevice(&device)) return check(error, name);
  const std::lock_guard lock(shared_limits.mutex);
  std::size_t& limit = shared_limits.bytes[{device, kernel}];
  const std::size_t raised = std::max(limit, bytes);
  // Each time: the device may have other contexts, with limits of their own.
  Status status = check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(raised)),
                        name);
  if (status.ok()) limit = raised;
  return status;
}

Result<Device> open_device(int ordinal) {
  Device device;
  device.backend = Backend::cuda;
  device.ordinal = ordinal;
  cudaDeviceProp properties;
  if (cudaError_t error = cudaGetDeviceProperties(&properties, device.ordinal))
    return check(error, "CUDA device " + std::to_string(device.ordinal));
  device.compute_capability = properties.major * 10 + properties.minor;
  device.multiprocessors = properties.multiProcessorCount;
  device.name = properties.name;
  if (cudaError_t error = cudaDriverGetVersion(&device.driver))
    return check(error, "the CUDA driver's version");
  if (device.compute_capability < 75)
    return Status(Code::not_found, device.name + ": compute capability below 7.5");
  return device;
}

Status make_current(const Device& device) {
  return check(cudaSetDevice(device.ordinal), device.name);
}

}  // namespace xcorr::cuda
