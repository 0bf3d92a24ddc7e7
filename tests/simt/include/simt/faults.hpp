// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A GPU that fails: the n-th call of the runtime API or of cuFFT, of any kind. What frees or
// destroys does so even when it fails, so that a leak checker sees what was never freed.
#pragma once

#include "runtime_api.hpp"

namespace simt {

enum class Fault {
  passing,  ///< that call fails: an allocation for lack of memory, another one for no reason
  lasting,  ///< that call and all later ones, as after a kernel that read a wrong address
};

/// From now on: the n-th call, from 1, fails.
void break_call(long n, Fault fault);
/// All calls work again. Returns how many there were since break_call() or the last mend().
long mend();

/// From a call that fails to the next one to try: every one, or every n-th by XCORR_FAULT_STEP=n.
long fault_step();

/// Bytes of device memory and pinned memory that are allocated.
std::size_t allocated_bytes();

enum class Kind { allocation, other };
/// The functions of the API begin with this: counts a call; the error with which it must fail.
cudaError_t call(Kind kind = Kind::other);
/// The error that every call gives since a lasting fault, or cudaSuccess.
cudaError_t lasting_error();

}  // namespace simt
