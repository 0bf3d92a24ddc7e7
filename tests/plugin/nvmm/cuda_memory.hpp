// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pixels of surfaces in the first GPU's memory, in its primary context, by the driver's functions.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstring>

#include "../nvmm_frames.hpp"

/// CUDA's driver, if it is the real one: the stand-in has no contexts.
class CudaMemory {
 public:
  CudaMemory() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    const auto find = [library](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          library ? dlsym(library, name) : nullptr);
      return function != nullptr;
    };
    int (*initialise)(unsigned) = nullptr;
    int (*retain)(void**, int) = nullptr;
    exists_ = find(initialise, "cuInit") && find(retain, "cuDevicePrimaryCtxRetain") &&
              find(push_, "cuCtxPushCurrent_v2") && find(pop_, "cuCtxPopCurrent_v2") &&
              find(allocate_, "cuMemAlloc_v2") && find(allocate_managed_, "cuMemAllocManaged") &&
              find(release_, "cuMemFree_v2") && find(write_, "cuMemcpyHtoD_v2") &&
              find(wait_, "cuCtxSynchronize") && initialise(0) == 0 && retain(&context_, 0) == 0;
  }

  bool exists() const { return exists_; }

  PixelMemory pixels(bool managed) const {
    const auto in_context = [this](const auto& work) {
      push_(context_);
      const int result = work();
      void* popped = nullptr;
      pop_(&popped);
      fail_unless(result == 0, "CUDA error %d", result);
    };
    return {[=, this](std::size_t bytes) {
              std::uint64_t pointer = 0;
              constexpr unsigned attach_global = 1;
              in_context([&] {
                return managed ? allocate_managed_(&pointer, bytes, attach_global)
                               : allocate_(&pointer, bytes);
              });
              return reinterpret_cast<std::uint8_t*>(pointer);
            },
            [=, this](std::uint8_t* pixels) {
              in_context([&] { return release_(reinterpret_cast<std::uint64_t>(pixels)); });
            },
            [=, this](std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
              // Without the wait another stream may read what was there before.
              in_context([&] {
                const int result = write_(reinterpret_cast<std::uint64_t>(to), from, bytes);
                return result != 0 ? result : wait_();
              });
            }};
  }

 private:
  bool exists_ = false;
  void* context_ = nullptr;
  int (*push_)(void*) = nullptr;
  int (*pop_)(void**) = nullptr;
  int (*allocate_)(std::uint64_t*, std::size_t) = nullptr;
  int (*allocate_managed_)(std::uint64_t*, std::size_t, unsigned) = nullptr;
  int (*release_)(std::uint64_t) = nullptr;
  int (*write_)(std::uint64_t, const void*, std::size_t) = nullptr;
  int (*wait_)() = nullptr;
};
