// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Primary contexts on the thread's stack of contexts, by the driver's own functions. With the
// runtime's a caller who has none could only be given back that of another GPU, which would have to
// be made for that.
#include <dlfcn.h>

#include <map>
#include <mutex>

#include "device/check.hpp"
#include "device/cuda_runtime.hpp"

namespace xcorr::cuda {
namespace {

/// Their results are numbered as the runtime's are.
struct Driver {
  int (*get)(int* device, int ordinal) = nullptr;
  int (*retain)(void** context, int device) = nullptr;
  int (*push)(void* context) = nullptr;
  int (*pop)(void** context) = nullptr;

  bool complete() const { return get && retain && push && pop; }
};

/// The runtime has opened and initialised it when there is a device.
const Driver& driver() {
  static const Driver opened = [] {
    Driver functions;
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return functions;
    const auto load = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    load(functions.get, "cuDeviceGet");
    load(functions.retain, "cuDevicePrimaryCtxRetain");
    load(functions.push, "cuCtxPushCurrent_v2");
    load(functions.pop, "cuCtxPopCurrent_v2");
    return functions;
  }();
  return opened;
}

Status checked(int result, const std::string& what) {
  return check(static_cast<cudaError_t>(result), what);
}

/// Kept to the end of the process: what is in it must outlive everyone else who releases it.
Result<void*> primary_context(const Device& device) {
  static std::mutex mutex;
  static std::map<int, void*> contexts;
  const std::lock_guard lock(mutex);
  void*& context = contexts[device.ordinal];
  if (context) return context;
  int number = 0;
  if (Status s = checked(driver().get(&number, device.ordinal), device.name); !s.ok()) return s;
  if (Status s = checked(driver().retain(&context, number), device.name); !s.ok()) return s;
  return context;
}

}  // namespace

Status push_current(const Device& device) {
  if (!driver().complete()) return {Code::device_error, "libcuda.so.1 lacks its functions"};
  const auto context = primary_context(device);
  return context.ok() ? checked(driver().push(context.value()), device.name) : context.status();
}

void pop_current() {
  void* context = nullptr;
  driver().pop(&context);
}

}  // namespace xcorr::cuda
