// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where work runs: devices, streams, and host memory for fast copies to a device.
#pragma once

#include <vector>

#include <xcorr/export.hpp>
#include <xcorr/types.hpp>

namespace xcorr {

enum class Backend : std::uint8_t { cpu, cuda };

constexpr const char* name_of(Backend backend) { return backend == Backend::cpu ? "cpu" : "cuda"; }

/// A place to run on. A plain value; it owns nothing.
struct Device {
  Backend backend = Backend::cpu;
  int ordinal = -1;            ///< CUDA's number of the device; -1 on the CPU
  int compute_capability = 0;  ///< major * 10 + minor; 0 on the CPU
  int multiprocessors = 0;     ///< 0 on the CPU
  std::string name;            ///< for display
  /// The CUDA version that the driver supports, 1000 major + 10 minor; 0 on the CPU.
  int driver = 0;
};

/// Opens a backend. `ordinal` is CUDA's device number; -1: the first device that the library can
/// work on. Errors: not_found when there is no driver or no such device, unsupported when the
/// library was built without the backend.
///
/// The library works in the CUDA context that is current in the calling thread or, if there is
/// none, in the device's primary one; see make_current.
XCORR_API Result<Device> open_device(Backend backend, int ordinal = -1);

/// All devices of a backend that the library can work on, by their numbers. Errors: as
/// open_device()'s, if there is none.
XCORR_API Result<std::vector<Device>> open_devices(Backend backend);

/// Makes the device's primary CUDA context current in the calling thread: needed once in each
/// thread that calls the library and has no context of its own. Does nothing on the CPU.
XCORR_API Status make_current(const Device& device);

/// Keeps the device's primary CUDA context current in the calling thread while it lives, then
/// restores the one before: for threads that others use, too. Does nothing on the CPU.
class XCORR_API CurrentDevice {
 public:
  explicit CurrentDevice(const Device& device);
  CurrentDevice(const CurrentDevice&) = delete;
  ~CurrentDevice();

  /// Whether that succeeded. Errors: out_of_memory, device_error.
  const Status& status() const { return status_; }

 private:
  Status status_;
  bool pushed_ = false;
};

/// Limits the threads of the CPU backend in this process, the calling one included, for work that
/// begins later. 0, the default: one for each core that the process may use. Errors:
/// invalid_argument for a negative count.
XCORR_API Status set_max_threads(int count);
XCORR_API int max_threads();

/// Host memory from which the device copies fast and concurrently with other work (pinned, for
/// CUDA). Errors: out_of_memory, device_error.
XCORR_API Result<void*> allocate_host(const Device& device, std::size_t bytes);
/// The CUDA context in which the memory was allocated must be current.
XCORR_API void release_host(const Device& device, void* memory);

/// Pins host memory of others until unregister_host(), which comes before it is freed: the device
/// then copies from it as from that of allocate_host(). It takes as long as copying it a few times,
/// so it pays for memory that is used again. Errors: device_error where it cannot be pinned (it is
/// already, or cannot be written to).
XCORR_API Status register_host(const Device& device, void* memory, std::size_t bytes);
/// Nothing copies from it any more, and a CUDA context of the device is current.
XCORR_API void unregister_host(const Device& device, void* memory);

/// A cudaStream_t as an opaque pointer; null is the default stream. Ignored on the CPU, where each
/// call returns after its work is done.
struct Stream {
  void* handle = nullptr;
};

}  // namespace xcorr
