// SPDX-License-Identifier: LGPL-2.1-or-later
#include "memory.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <fstream>
#include <numeric>
#include <span>

#include "../require.hpp"

namespace bench {
namespace {

constexpr double mib = 1 << 20;

double resident_mib() {
  std::ifstream file("/proc/self/statm");
  long whole = 0, resident = 0;
  file >> whole >> resident;
  return double(resident) * double(sysconf(_SC_PAGESIZE)) / mib;
}

MemoryWatch::Growth growth(const std::vector<double>& samples) {
  if (samples.empty()) return {};
  const std::span<const double> settled = std::span(samples).subspan(samples.size() / 10);
  const double n = double(settled.size());
  const double middle = (n - 1) / 2,
               mean = std::accumulate(settled.begin(), settled.end(), 0.0) / n;
  double covariance = 0, variance = 0;
  for (std::size_t i = 0; i < settled.size(); ++i) {
    covariance += (double(i) - middle) * (settled[i] - mean);
    variance += (double(i) - middle) * (double(i) - middle);
  }
  return {settled.front(), settled.back(), variance > 0 ? covariance / variance * (n - 1) : 0};
}

}  // namespace

/// By the driver's API, in the device's primary context.
class DeviceMemory {
 public:
  explicit DeviceMemory(int ordinal) : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
    int device = 0;
    if (!library_) fail({xcorr::Code::not_found, dlerror()});
    call<unsigned>("cuInit", 0);
    call<int*, int>("cuDeviceGet", &device, ordinal);
    device_ = device;
    call<void**, int>("cuDevicePrimaryCtxRetain", &context_, device);
  }
  ~DeviceMemory() {
    call<int>("cuDevicePrimaryCtxRelease_v2", device_);
    dlclose(library_);
  }
  DeviceMemory(const DeviceMemory&) = delete;

  double used_mib() {
    std::size_t free = 0, total = 0;
    void* popped = nullptr;
    call<void*>("cuCtxPushCurrent_v2", context_);
    call<std::size_t*, std::size_t*>("cuMemGetInfo_v2", &free, &total);
    call<void**>("cuCtxPopCurrent_v2", &popped);
    return double(total - free) / mib;
  }

 private:
  template <class... Arguments>
  void call(const char* name, Arguments... arguments) {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name));
    const int error = function ? function(arguments...) : -1;
    if (error) fail({xcorr::Code::device_error, name + (": error " + std::to_string(error))});
  }

  void* library_;
  int device_ = 0;
  void* context_ = nullptr;
};

MemoryWatch::MemoryWatch(int ordinal) {
  if (ordinal >= 0) device_memory_ = std::make_unique<DeviceMemory>(ordinal);
}

MemoryWatch::~MemoryWatch() = default;

void MemoryWatch::sample() {
  host_.push_back(resident_mib());
  if (device_memory_) device_.push_back(device_memory_->used_mib());
}

MemoryWatch::Growth MemoryWatch::host() const { return growth(host_); }
MemoryWatch::Growth MemoryWatch::device() const { return growth(device_); }

}  // namespace bench
