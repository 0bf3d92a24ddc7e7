// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How errors in a kernel are reported.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "simt/execution.hpp"
#include "simt/sanitizer.hpp"

// Where a program with sanitizers looks for what to do.
extern "C" const char* __asan_default_options() { return "abort_on_error=1"; }
extern "C" const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

namespace simt {

void report(Where where, const char* format, ...) {
  char what[512];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "simt: %s\n", what);
  std::fprintf(stderr, "  at %s:%u, in %s\n", where.file_name(),
               static_cast<unsigned>(where.line()), where.function_name());
  if (const Launch* l = current_launch()) {
    const uint3 &b = blockIdx, &t = threadIdx;
    std::fprintf(stderr, "  by block (%u, %u, %u), thread (%u, %u, %u)\n", b.x, b.y, b.z, t.x, t.y,
                 t.z);
    std::fprintf(stderr, "  of %s, grid %ux%ux%u, block %ux%ux%u, %zu bytes of shared memory\n",
                 name_of_function(l->kernel).c_str(), l->grid.x, l->grid.y, l->grid.z, l->block.x,
                 l->block.y, l->block.z, l->shared_bytes);
  }
  print_stack();
  std::abort();
}

}  // namespace simt
