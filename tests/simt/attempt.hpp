// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How the functions of the runtime API begin and end.
#pragma once

#include "simt/faults.hpp"
#include "simt/runtime_api.hpp"

namespace simt {

/// For cudaGetLastError(), too.
cudaError_t fail(cudaError_t error);

/// What a call does unless it is made to fail.
template <class Work>
cudaError_t attempt(Work work, Kind kind = Kind::other) {
  if (const cudaError_t error = call(kind)) return fail(error);
  return work();
}
/// What frees and destroys does so in any case.
template <class Work>
cudaError_t attempt_to_free(Work work) {
  const cudaError_t error = call();
  const cudaError_t result = work();
  return error ? fail(error) : result;
}

/// Whether a graph captures what this thread does. What waits, allocates or knows no stream must
/// not be called meanwhile.
bool is_capturing();

}  // namespace simt
