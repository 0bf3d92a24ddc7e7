// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Template matching in many windows of a frame, each searched for one template: what trackers do.
// On a GPU windows of one size, for templates of one size and mask, are searched together, by one
// launch a stage; their peaks are those that a Matcher for each of them would find.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <xcorr/match.hpp>

namespace xcorr {

struct SearchWindow {
  std::uint32_t template_index;  ///< position in the bank
  Rect region;                   ///< as MatchSettings::search_region
  PoseRange poses = {};          ///< as MatchSettings::poses
};

/// Not for use by several threads at once.
class XCORR_API WindowMatcher {
 public:
  static Result<WindowMatcher> create(const Device& device);
  WindowMatcher(WindowMatcher&&) noexcept;
  WindowMatcher& operator=(WindowMatcher&&) noexcept;
  ~WindowMatcher();

  /// As of a Matcher. What is prepared for templates that do not change is kept where it can be.
  Status set_templates(std::span<const MatrixView> templates,
                       std::span<const MatrixView> masks = {});
  Status set_templates(std::span<const std::shared_ptr<const LiveTemplate>> templates,
                       std::span<const MatrixView> masks = {});

  /// The frames and settings from now on, of which search_region, poses and best_template are of no
  /// account. What a search takes is made by provide() or enqueue(). Errors: invalid_argument,
  /// unsupported (no such kernel).
  Status prepare(ElementType type, Size frame, const MatchSettings& settings);

  /// Allocates and plans what a search of these windows takes; a frame that is enqueued is lost.
  /// Errors: as Matcher::prepare(), and invalid_argument for a template that does not exist.
  Status provide(std::span<const SearchWindow> windows);

  /// Enqueues the search of a frame's windows, as Matcher::enqueue(). It allocates and waits only
  /// for more windows of a template and of a size than there have ever been, or other poses: for
  /// windows of few sizes that is seldom. Errors: as provide() and Matcher::enqueue().
  Status enqueue(const MatrixView& frame, std::span<const SearchWindow> windows,
                 Stream stream = {});

  /// Waits for the enqueued windows' peaks: a list for each, in the order of the windows, best
  /// first.
  Status collect(std::vector<std::vector<Peak>>& peaks);

  /// The variant in use for the first of the windows last enqueued, see Matcher::kernel(); empty if
  /// there were none.
  std::string kernel() const;

 private:
  struct Impl;
  explicit WindowMatcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace xcorr
