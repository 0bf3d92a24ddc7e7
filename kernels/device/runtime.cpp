// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The CPU's memory and streams, and what all backends share.
#include "device/runtime.hpp"

#include <chrono>
#include <cstring>
#include <new>
#include <string>

#include <xcorr/exceptions.hpp>

#include "device/cuda_runtime.hpp"
#include "device/memory_limit.hpp"

namespace xcorr {
namespace {

constexpr std::align_val_t alignment{64};

Result<void*> allocate(std::size_t bytes, Memory) {
  void* pointer = ::operator new(bytes, alignment, std::nothrow);
  if (!pointer) return Status(Code::out_of_memory, std::to_string(bytes) + " bytes of host memory");
  return pointer;
}

void release(void* pointer, Memory) { ::operator delete(pointer, alignment); }

Status copy(const Copy& copy, Memory, Memory, Stream) {
  auto* to = static_cast<std::byte*>(copy.to);
  auto* from = static_cast<const std::byte*>(copy.from);
  for (std::size_t row = 0; row < copy.rows; ++row, to += copy.to_pitch, from += copy.from_pitch)
    std::memcpy(to, from, copy.bytes);
  return {};
}

using Clock = std::chrono::steady_clock;

struct CpuTimer {
  Clock::time_point start, stop;
};

Result<void*> create_timer() { return new CpuTimer; }

void destroy_timer(void* timer) { delete static_cast<CpuTimer*>(timer); }

Status start(void* timer, Stream) {
  static_cast<CpuTimer*>(timer)->start = Clock::now();
  return {};
}

Status stop(void* timer, Stream) {
  static_cast<CpuTimer*>(timer)->stop = Clock::now();
  return {};
}

Result<double> elapsed(void* timer) {
  const auto& times = *static_cast<CpuTimer*>(timer);
  return std::chrono::duration<double>(times.stop - times.start).count();
}

constexpr Runtime cpu_runtime = {
    allocate,
    release,
    copy,
    [](void*, std::size_t) { return Status(); },
    [](void*) {},
    [](const void*, std::size_t) { return true; },
    [](const void*) { return true; },
    [] { return Result<Stream>(Stream{}); },
    [](Stream) {},
    [](Stream) { return Status(); },
    [] { return Result<void*>(nullptr); },
    [](void*) {},
    [](void*, Stream) { return Status(); },
    [](Stream, void*) { return Status(); },
    [](void*) { return Status(); },
    [](Stream, Stream, void*) { return Status(); },
    create_timer,
    destroy_timer,
    start,
    stop,
    elapsed,
    [](Stream) { return Status(Code::unsupported, "recording"); },
    [](Stream) { return Result<void*>(nullptr); },
    [](void*) {},
    [](void*, Stream) { return Status(); },
};

}  // namespace

const Runtime& runtime(Backend backend) {
  return backend == Backend::cpu ? cpu_runtime : cuda::runtime();
}

Result<Device> open_device(Backend backend, int ordinal) {
  if (backend == Backend::cpu) return Device{.name = "CPU"};
  const auto count = cuda::count_devices();
  if (!count.ok()) return count.status();
  if (ordinal >= count.value())
    return Status(Code::not_found, "no CUDA device " + std::to_string(ordinal) + ", there are " +
                                       std::to_string(count.value()));
  if (ordinal >= 0) return cuda::open_device(ordinal);
  auto devices = open_devices(backend);
  if (!devices.ok()) return devices.status();
  return std::move(devices.value().front());
}

Result<std::vector<Device>> open_devices(Backend backend) try {
  if (backend == Backend::cpu) return std::vector{Device{.name = "CPU"}};
  const auto count = cuda::count_devices();
  if (!count.ok()) return count.status();
  std::vector<Device> devices;
  Status first;
  for (int ordinal = 0; ordinal < count.value(); ++ordinal) {
    auto device = cuda::open_device(ordinal);
    if (device.ok()) devices.push_back(std::move(device.value()));
    if (first.ok()) first = device.status();
  }
  if (devices.empty()) return first;
  return devices;
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status make_current(const Device& device) {
  return device.backend == Backend::cpu ? Status() : cuda::make_current(device);
}

CurrentDevice::CurrentDevice(const Device& device) {
  if (device.backend == Backend::cpu) return;
  status_ = cuda::push_current(device);
  pushed_ = status_.ok();
}

CurrentDevice::~CurrentDevice() {
  if (pushed_) cuda::pop_current();
}

Result<void*> allocate_host(const Device& device, std::size_t bytes) {
  return runtime(device.backend).allocate(bytes ? bytes : 1, Memory::host);
}

void release_host(const Device& device, void* memory) {
  runtime(device.backend).release(memory, Memory::host);
}

Status register_host(const Device& device, void* memory, std::size_t bytes) {
  return runtime(device.backend).register_host(memory, bytes);
}

void unregister_host(const Device& device, void* memory) {
  runtime(device.backend).unregister_host(memory);
}

Result<Block> Block::make(Backend backend, std::size_t bytes, Memory memory) {
  Block block;
  if (Status s = MemoryLimit::take(bytes); !s.ok()) return s;
  block.runtime_ = &xcorr::runtime(backend);
  Result<void*> data = block.runtime_->allocate(bytes ? bytes : 1, memory);
  if (!data.ok()) {
    MemoryLimit::give_back(bytes);
    return data.status();
  }
  block.data_ = data.value();
  block.bytes_ = bytes;
  block.memory_ = memory;
  return block;
}

Block::~Block() {
  if (!data_) return;
  runtime_->release(data_, memory_);
  MemoryLimit::give_back(bytes_);
}

Status Block::provide(Backend backend, std::size_t bytes, Memory memory) {
  if (bytes_ >= bytes) return {};
  auto made = make(backend, bytes, memory);
  if (made.ok()) *this = std::move(made.value());
  return made.status();
}

Status upload(Backend backend, Block& block, const void* from, std::size_t bytes, Stream stream) {
  if (Status s = block.provide(backend, bytes); !s.ok() || bytes == 0) return s;
  return runtime(backend).copy(bytes_copy(block.data(), from, bytes), Memory::host, Memory::device,
                               stream);
}

Result<Event> Event::make(Backend backend) {
  const Runtime& runtime = xcorr::runtime(backend);
  const auto event = runtime.create_event();
  if (!event.ok()) return event.status();
  Event made;
  made.event_ = {runtime, event.value()};
  return made;
}

Result<SideStream> SideStream::make(Backend backend) {
  const Runtime& runtime = xcorr::runtime(backend);
  const auto stream = runtime.create_stream();
  if (!stream.ok()) return stream.status();
  SideStream side;
  side.stream_ = {runtime, stream.value()};
  auto event = Event::make(backend);
  if (!event.ok()) return event.status();
  side.event_ = std::move(event.value());
  return side;
}

Result<Recording> Recording::make(Backend backend, const std::function<Status(Stream)>& enqueue) {
  const Runtime& runtime = xcorr::runtime(backend);
  const auto stream = runtime.create_stream();
  if (!stream.ok()) return stream.status();
  Recording made;
  Status status = runtime.begin_recording(stream.value());
  if (status.ok()) {
    status = enqueue(stream.value());
    const auto recording = runtime.end_recording(stream.value());
    if (recording.ok())
      made.recording_ = {runtime, recording.value()};
    else if (status.ok())
      status = recording.status();
  }
  runtime.destroy_stream(stream.value());
  if (!status.ok()) return status;
  return made;
}

Result<Timer> Timer::make(Backend backend) {
  const Runtime& runtime = xcorr::runtime(backend);
  const auto timer = runtime.create_timer();
  if (!timer.ok()) return timer.status();
  Timer made;
  made.timer_ = {runtime, timer.value()};
  return made;
}

}  // namespace xcorr
