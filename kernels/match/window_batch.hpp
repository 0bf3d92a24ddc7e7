// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Search windows of one size with templates of one size and mask, searched by one launch per stage.
// Each has a slot with a copy of its template; slots are reused by windows of the same template.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "match/plan.hpp"

namespace xcorr {

/// A window of a batch.
struct BatchedWindow {
  std::uint32_t template_index;
  PartCorner corner;
};

/// What windows of a batch are searched in and by; `settings` with a region of their size.
struct WindowTask {
  const Device& device;
  const std::vector<BankTemplate>& bank;
  Size frame;
  const MatchSettings& settings;
  Stream stream;  ///< for loading templates
};

class WindowBatch {
 public:
  /// Makes slots for all of these windows, if there are not enough. Errors: unsupported where only
  /// windows one by one can be searched.
  Status provide(const WindowTask& task, std::span<const BatchedWindow> windows);
  /// After provide().
  Status enqueue(const MatrixView& frame, std::span<const BatchedWindow> windows, Stream stream);
  /// Call after waiting for the stream: the peaks of each window enqueued.
  std::vector<std::vector<Peak>> collect() const;

  const char* kernel() const { return plan_->kernel(); }

 private:
  /// A slot for each window; fewer where there are not enough.
  std::vector<std::size_t> slots_for(std::span<const BatchedWindow> windows) const;

  std::vector<std::uint32_t> slots_;  ///< the template of each, ascending
  std::optional<MatchPlan> plan_;
  std::vector<std::size_t> enqueued_;  ///< slots
};

}  // namespace xcorr
