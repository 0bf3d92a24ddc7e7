// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When the kernels of a program run, as they overlap: a library that CUDA loads into a process and
// that asks CUPTI for the begin and the end of each kernel. At the end of the process it writes
// them to standard error, one CSV line each, which bench/timeline.py sums up.
//
//   CUDA_INJECTION64_PATH=build/bench/libkernel_timeline.so build/bench/match_bench ...
#include <cupti.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace {

struct Kernel {
  std::uint64_t begin, end;  ///< ns
  unsigned stream;
  std::string name;
};

constexpr std::size_t buffer_bytes = 8 << 20;

std::mutex mutex;
std::vector<Kernel> kernels;

void give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
  *bytes = *buffer ? buffer_bytes : 0;
  *most_records = 0;
}

void take_buffer(CUcontext, unsigned, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  const std::lock_guard lock(mutex);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      // Of CUDA 13; the fields that are read here lie where they did before.
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      kernels.push_back({kernel->start, kernel->end, kernel->streamId, kernel->name});
    }
  std::free(buffer);
}

void write_kernels() {
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::lock_guard lock(mutex);
  std::ranges::sort(kernels, {}, &Kernel::begin);
  std::fputs("begin_ns,end_ns,stream,kernel\n", stderr);
  for (const Kernel& k : kernels)
    std::fprintf(stderr, "%llu,%llu,%u,%s\n", static_cast<unsigned long long>(k.begin),
                 static_cast<unsigned long long>(k.end), k.stream, k.name.c_str());
}

}  // namespace

/// CUDA calls it when the process first uses it.
extern "C" int InitializeInjection() {
  if (cuptiActivityRegisterCallbacks(give_buffer, take_buffer) != CUPTI_SUCCESS ||
      cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS) {
    std::fputs("kernel_timeline: CUPTI refuses\n", stderr);
    return 0;
  }
  std::atexit(write_kernels);
  return 1;
}
