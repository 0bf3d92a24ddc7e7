// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Template matching in many search windows of a frame, each for one template, as trackers need it.
// On a GPU windows of one size, for templates of one size and mask, are searched together, with one
// launch per stage. Their peaks are those of a Matcher for each of them.
#pragma once

#include <memory>
#include <optional>
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

/// How close the part of a frame whose upper left corner is there is to a picture of its size, as
/// Peak::similarity: what a search of that part alone would find, at once and on the calling
/// thread. Nothing where it is not wholly inside the frame, or unless both are luma of u8 in host
/// memory, whose bytes follow each other, and the picture has at most 66,051 pixels.
XCORR_API std::optional<double> similarity_at(const MatrixView& frame, int x, int y,
                                              const MatrixView& picture, Method method);

/// Not for use by several threads at once.
class XCORR_API WindowMatcher {
 public:
  static Result<WindowMatcher> create(const Device& device);
  WindowMatcher(WindowMatcher&&) noexcept;
  WindowMatcher& operator=(WindowMatcher&&) noexcept;
  ~WindowMatcher();

  /// As Matcher::set_templates(). What is prepared for unchanged templates is kept where possible.
  Status set_templates(std::span<const MatrixView> templates,
                       std::span<const MatrixView> masks = {});
  Status set_templates(std::span<const std::shared_ptr<const LiveTemplate>> templates,
                       std::span<const MatrixView> masks = {});

  /// Sets the type and size of frames and the settings; search_region, poses and best_template are
  /// ignored. provide() or enqueue() then allocate and plan. Errors: invalid_argument, unsupported
  /// (no such kernel).
  Status prepare(ElementType type, Size frame, const MatchSettings& settings);

  /// Allocates and plans for a search of these windows. An enqueued frame is lost. Errors: as
  /// Matcher::prepare() for each window's poses; invalid_argument for a template that is not there.
  Status provide(std::span<const SearchWindow> windows);

  /// Enqueues the search of a frame's windows, as Matcher::enqueue(). It allocates and waits only
  /// if a template has more windows of one size than ever before, or for other poses. With few
  /// sizes of windows that is rare. Errors: as provide() and Matcher::enqueue().
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
