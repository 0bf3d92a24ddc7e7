// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Memory and streams of a backend, as a table of functions, and RAII over them.
#pragma once

#include <functional>
#include <utility>

#include <xcorr/device.hpp>

namespace xcorr {

/// A two-dimensional copy: `rows` rows of `bytes` each.
struct Copy {
  void* to;
  std::ptrdiff_t to_pitch;
  const void* from;
  std::ptrdiff_t from_pitch;
  std::size_t bytes, rows;
};

/// A copy of contiguous `bytes`.
inline Copy bytes_copy(void* to, const void* from, std::size_t bytes) {
  const auto pitch = static_cast<std::ptrdiff_t>(bytes);
  return {to, pitch, from, pitch, bytes, 1};
}

struct Runtime {
  Result<void*> (*allocate)(std::size_t bytes, Memory memory);  ///< host: pinned, for CUDA
  void (*release)(void* pointer, Memory memory);
  /// Enqueued; memory that is not pinned has been read when it returns.
  Status (*copy)(const Copy& copy, Memory from, Memory to, Stream stream);
  /// Host memory of others becomes pinned, for all contexts, and is so no longer.
  Status (*register_host)(void* memory, std::size_t bytes);
  void (*unregister_host)(void* memory);
  /// Whether the device itself copies from all of that host memory.
  bool (*is_pinned)(const void* memory, std::size_t bytes);
  /// Whether memory of a device is that of the one whose context is current, so that its kernels
  /// can read it. Others' it can copy.
  bool (*is_here)(const void* memory);
  Result<Stream> (*create_stream)();
  void (*destroy_stream)(Stream stream);
  Status (*wait)(Stream stream);
  Result<void*> (*create_event)();
  void (*destroy_event)(void* event);
  /// The event happens when the stream has done what is enqueued on it so far. In a recording: each
  /// time that this is done.
  Status (*record)(void* event, Stream stream);
  /// The stream continues only when the event has happened, or at once if it was never recorded. A
  /// recording waits each time for what was recorded last.
  Status (*delay)(Stream stream, void* event);
  /// The same for the host.
  Status (*wait_for)(void* event);
  /// `second` continues only when `first` has done what is enqueued on it so far.
  Status (*order)(Stream first, Stream second, void* event);
  Result<void*> (*create_timer)();
  void (*destroy_timer)(void* timer);
  /// The timer runs while the stream does what is enqueued between start and stop.
  Status (*start)(void* timer, Stream stream);
  Status (*stop)(void* timer, Stream stream);
  /// Waits for the stop; returns seconds.
  Result<double> (*elapsed)(void* timer);
  /// What is enqueued from now on, on that stream and on those that are ordered behind it, is
  /// recorded instead of done. Memory is neither allocated nor waited for meanwhile.
  Status (*begin_recording)(Stream stream);
  /// Must follow, whatever failed in between; what was ordered behind it is ordered before it
  /// again.
  Result<void*> (*end_recording)(Stream stream);
  void (*destroy_recording)(void* recording);
  /// Enqueues all of it, with the arguments that it had.
  Status (*replay)(void* recording, Stream stream);
};

const Runtime& runtime(Backend backend);

/// A block of memory on the device's side, or of host memory that it copies to and from fast.
class Block {
 public:
  Block() = default;
  Block(Block&& other) noexcept { *this = std::move(other); }
  Block& operator=(Block&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(memory_, other.memory_);
    std::swap(runtime_, other.runtime_);
    return *this;
  }
  ~Block();

  static Result<Block> make(Backend backend, std::size_t bytes, Memory memory = Memory::device);

  /// Makes it at least that large; what was in a smaller one is lost. On an error it stays.
  Status provide(Backend backend, std::size_t bytes, Memory memory = Memory::device);

  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::size_t bytes() const { return bytes_; }
  Memory memory() const { return memory_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  Memory memory_ = Memory::device;
  const Runtime* runtime_ = nullptr;
};

/// Makes the block at least that large and enqueues filling it.
Status upload(Backend backend, Block& block, const void* from, std::size_t bytes, Stream stream);

/// Owns something of a runtime, which `destroy` of it destroys.
template <auto destroy, class Handle = void*>
class Owned {
 public:
  Owned() = default;
  Owned(const Runtime& runtime, Handle handle) : runtime_(&runtime), handle_(handle) {}
  Owned(Owned&& other) noexcept { *this = std::move(other); }
  Owned& operator=(Owned&& other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (runtime_) (runtime_->*destroy)(handle_);
  }

  explicit operator bool() const { return runtime_; }
  const Runtime& runtime() const { return *runtime_; }
  Handle handle() const { return handle_; }

 private:
  const Runtime* runtime_ = nullptr;
  Handle handle_{};
};

/// That a stream has done what was enqueued on it up to some moment.
class Event {
 public:
  static Result<Event> make(Backend backend);

  explicit operator bool() const { return static_cast<bool>(event_); }
  Status record(Stream stream) { return event_.runtime().record(event_.handle(), stream); }
  /// What is enqueued on the stream later runs when it has happened, or was never recorded.
  Status delay(Stream stream) const { return event_.runtime().delay(stream, event_.handle()); }
  /// Returns then.
  Status wait() const { return event_.runtime().wait_for(event_.handle()); }
  /// `second` continues only when `first` has done what is enqueued on it so far.
  Status order(Stream first, Stream second) {
    return event_.runtime().order(first, second, event_.handle());
  }

 private:
  Owned<&Runtime::destroy_event> event_;
};

/// A second stream, for work that may run beside that of a first one.
class SideStream {
 public:
  static Result<SideStream> make(Backend backend);

  Stream stream() const { return stream_.handle(); }
  /// Work enqueued on the side stream later runs after what `main` has so far.
  Status fork(Stream main) { return event_.order(main, stream()); }
  /// Work enqueued on `main` later runs after what the side stream has so far.
  Status join(Stream main) { return event_.order(stream(), main); }

 private:
  Owned<&Runtime::destroy_stream, Stream> stream_;
  Event event_;
};

/// Work that is enqueued often with the same arguments, in the same memory: recorded once, it takes
/// the host one call. Not for the CPU.
class Recording {
 public:
  /// Records what `enqueue` enqueues on the stream that it is called with.
  static Result<Recording> make(Backend backend, const std::function<Status(Stream)>& enqueue);

  explicit operator bool() const { return static_cast<bool>(recording_); }
  Status run(Stream stream) const {
    return recording_.runtime().replay(recording_.handle(), stream);
  }

 private:
  Owned<&Runtime::destroy_recording> recording_;
};

/// Measures how long a stream works, by the device's own clock.
class Timer {
 public:
  static Result<Timer> make(Backend backend);

  /// Seconds that the device spends on what `enqueue` enqueues on the default stream.
  template <class Enqueue>
  Result<double> time(Enqueue enqueue) {
    const Runtime& runtime = timer_.runtime();
    if (Status s = runtime.start(timer_.handle(), {}); !s.ok()) return s;
    if (Status s = enqueue(); !s.ok()) return s;
    if (Status s = runtime.stop(timer_.handle(), {}); !s.ok()) return s;
    return runtime.elapsed(timer_.handle());
  }

 private:
  Owned<&Runtime::destroy_timer> timer_;
};

}  // namespace xcorr
