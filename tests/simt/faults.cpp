// SPDX-License-Identifier: LGPL-2.1-or-later
#include "simt/faults.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>

namespace simt {
namespace {

std::mutex mutex;
long calls = 0, broken = 0;  // none is the 0th
Fault fault = Fault::passing;

void restart(long broken_call, Fault kind) {
  calls = 0;
  broken = broken_call;
  fault = kind;
}

bool is_broken_for_good() { return broken > 0 && calls >= broken && fault == Fault::lasting; }

}  // namespace

void break_call(long n, Fault kind) {
  const std::lock_guard lock(mutex);
  restart(n, kind);
}

long mend() {
  const std::lock_guard lock(mutex);
  const long counted = calls;
  restart(0, Fault::passing);
  return counted;
}

long fault_step() {
  const char* const step = std::getenv("XCORR_FAULT_STEP");
  return step ? std::max(1L, std::atol(step)) : 1;
}

cudaError_t call(Kind kind) {
  const std::lock_guard lock(mutex);
  ++calls;
  if (is_broken_for_good()) return cudaErrorIllegalAddress;
  if (calls != broken) return cudaSuccess;
  return kind == Kind::allocation ? cudaErrorMemoryAllocation : cudaErrorUnknown;
}

cudaError_t lasting_error() {
  const std::lock_guard lock(mutex);
  return is_broken_for_good() ? cudaErrorIllegalAddress : cudaSuccess;
}

}  // namespace simt
