// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches small windows of a frame, each for one template: a Matcher a window. A window has the
// size of its template and the margin on all sides, in every frame; near an edge it is moved inside
// instead of being cut, since a matcher takes a new place for nothing, but not a new size.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <xcorr/match.hpp>

#include "matching/live_templates.h"
#include "matching/templates.h"
#include "tracking/follower.h"

namespace cudaxcorr {

using Images = std::shared_ptr<const std::vector<LumaImage>>;

class Windows {
 public:
  explicit Windows(xcorr::Device device) : device_(std::move(device)) {}

  /// What was prepared for those that were there before, with the same pixels, stays.
  void set_templates(Images images, LiveTemplates live);

  /// Makes a window a template ready; further ones come when they are needed. The margin is in
  /// pixels. What the settings' search region leaves out is not searched.
  xcorr::Status prepare(xcorr::Size frame, const xcorr::MatchSettings& settings, int margin);

  /// Enqueues the search of all windows, so that a GPU works on them at once.
  xcorr::Status enqueue(const xcorr::MatrixView& frame,
                        std::span<const TemplatePlace> expectations);

  /// Adds the peaks of the windows enqueued.
  xcorr::Status collect(std::vector<xcorr::Peak>& peaks);

  /// Whether windows were enqueued last, and the correlate variant of the first of them.
  bool any() const { return !enqueued_.empty(); }
  std::string kernel() const { return enqueued_.front().matcher->kernel(); }

 private:
  struct Window {
    std::uint32_t template_index;
    xcorr::Rect region;
    xcorr::Matcher* matcher;
  };

  bool fits(std::uint32_t index) const;
  xcorr::Rect region_round(std::uint32_t index, Point place) const;
  xcorr::Result<xcorr::Matcher*> matcher_of(std::uint32_t index, std::size_t which);
  xcorr::Status prepare(xcorr::Matcher& matcher, const xcorr::Rect& region);
  bool at_inner_edge(const xcorr::Peak& peak, const xcorr::Rect& region) const;

  xcorr::Device device_;
  Images images_ = std::make_shared<std::vector<LumaImage>>();
  LiveTemplates live_;
  xcorr::Size frame_;
  xcorr::Rect area_;  ///< in which windows lie
  xcorr::MatchSettings settings_;
  int margin_ = 0;
  std::vector<std::vector<std::unique_ptr<xcorr::Matcher>>> matchers_;  ///< of each template
  std::vector<Window> enqueued_;
};

}  // namespace cudaxcorr
