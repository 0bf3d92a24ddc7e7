// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the library opens by name while it runs: cuFFT, as cufft.cpp has it, and of CUDA's driver
// the stack of primary contexts. There is one GPU with one context, so nothing depends on the
// stack's top; pops without pushes fail.
#include <cufft.h>
#include <dlfcn.h>

#include <map>
#include <string_view>

namespace {

thread_local int pushed = 0;
char context;

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

int cuDevicePrimaryCtxRetain(void** retained, int) {
  *retained = &context;
  return cudaSuccess;
}

int cuCtxPushCurrent_v2(void* current) {
  if (current != &context) return cudaErrorInvalidValue;
  ++pushed;
  return cudaSuccess;
}

int cuCtxPopCurrent_v2(void** popped) {
  if (pushed == 0) return cudaErrorInvalidValue;
  --pushed;
  *popped = &context;
  return cudaSuccess;
}

}  // namespace

namespace simt {

void* open_library(const char* name) {
  static char library;
  const std::string_view asked(name);
  return asked.starts_with("libcufft.so") || asked == "libcuda.so.1" ? &library : nullptr;
}

void* find_symbol(void*, const char* name) {
#define SIMT_SYMBOL(function) \
  { #function, reinterpret_cast < void*>(function) }
  static const std::map<std::string_view, void*> symbols{
      SIMT_SYMBOL(cufftCreate),
      SIMT_SYMBOL(cufftDestroy),
      SIMT_SYMBOL(cufftSetAutoAllocation),
      SIMT_SYMBOL(cufftMakePlanMany64),
      SIMT_SYMBOL(cufftSetWorkArea),
      SIMT_SYMBOL(cufftSetStream),
      SIMT_SYMBOL(cufftExecR2C),
      SIMT_SYMBOL(cufftExecC2R),
      SIMT_SYMBOL(cufftExecD2Z),
      SIMT_SYMBOL(cufftExecZ2D),
      SIMT_SYMBOL(cufftExecC2C),
      SIMT_SYMBOL(cufftExecZ2Z),
      SIMT_SYMBOL(cuDeviceGet),
      SIMT_SYMBOL(cuDevicePrimaryCtxRetain),
      SIMT_SYMBOL(cuCtxPushCurrent_v2),
      SIMT_SYMBOL(cuCtxPopCurrent_v2),
  };
#undef SIMT_SYMBOL
  const auto found = symbols.find(name);
  return found == symbols.end() ? nullptr : found->second;
}

}  // namespace simt
