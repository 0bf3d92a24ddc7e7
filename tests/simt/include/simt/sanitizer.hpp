// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The interface to AddressSanitizer. It does nothing in a program without it.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" {
[[gnu::weak]] void __sanitizer_symbolize_pc(void* pc, const char* format, char* out,
                                            std::size_t size);
[[gnu::weak]] void __sanitizer_print_stack_trace();
[[gnu::weak]] void* __asan_region_is_poisoned(void* begin, std::size_t bytes);
[[gnu::weak]] void __asan_poison_memory_region(const volatile void* begin, std::size_t bytes);
}

namespace simt {

/// Accessing this memory is an error from now on.
inline void forbid(void* begin, std::size_t bytes) {
  if (__asan_poison_memory_region) __asan_poison_memory_region(begin, bytes);
}

inline std::string name_of_function(const void* address) {
  char name[512] = "?";
  // It takes the instruction before the one that it is given.
  if (__sanitizer_symbolize_pc)
    __sanitizer_symbolize_pc(const_cast<char*>(static_cast<const char*>(address)) + 1, "%f", name,
                             sizeof name);
  return name;
}

/// For code without instrumentation: aborts when a byte there must not be touched.
inline void check_range(void* begin, std::size_t bytes, const char* what) {
  if (!__asan_region_is_poisoned) return;
  if (void* bad = __asan_region_is_poisoned(begin, bytes)) {
    std::fprintf(stderr, "simt: %s: of %zu bytes at %p the one at %p must not be touched\n", what,
                 bytes, begin, bad);
    __sanitizer_print_stack_trace();
    std::abort();
  }
}

inline void print_stack() {
  if (__sanitizer_print_stack_trace) __sanitizer_print_stack_trace();
}

}  // namespace simt
