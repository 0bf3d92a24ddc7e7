// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Stopping work from another thread.
#pragma once

#include <atomic>

#include <xcorr/export.hpp>

namespace xcorr {

/// A request to stop, which any thread makes. It stands until it is withdrawn.
class Stop {
 public:
  void request() { requested_.store(true, std::memory_order_relaxed); }
  void withdraw() { requested_.store(false, std::memory_order_relaxed); }
  bool is_requested() const { return requested_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> requested_{false};
};

/// While it lives, what its thread calls in the library heeds that request: calls that run and
/// those that come return within a second, most of them much sooner, with Code::stopped. The object
/// that was called must then be prepared as if it were new: templates set, prepare() called; a
/// FieldMatcher must be made anew. Scopes nest, the innermost holds.
class XCORR_API StopScope {
 public:
  explicit StopScope(const Stop* stop);
  StopScope(const StopScope&) = delete;
  ~StopScope();

 private:
  const Stop* outer_;
};

/// The request that this thread's calls heed; null: none.
XCORR_API const Stop* current_stop();

}  // namespace xcorr
