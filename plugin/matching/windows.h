// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches small windows of a frame, each for one template with a Matcher of its own. A window is
// its template's size plus the margin on each side. Near an edge of the frame it is shifted inwards
// rather than clipped: moving a prepared matcher is free, resizing it is not.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <xcorr/match.hpp>

#include "matching/live_templates.h"
#include "matching/luma_image.h"
#include "tracking/follower.h"
#include "tracking/pose_following.h"

namespace cudaxcorr {

using Images = std::shared_ptr<const std::vector<LumaImage>>;

class Windows {
 public:
  explicit Windows(xcorr::Device device) : device_(std::move(device)) {}

  /// Matchers of templates whose pixels and masks are unchanged are kept.
  void set_templates(Images images, LiveTemplates live);

  /// Prepares one window per template; further ones are made as needed. The margin is in pixels.
  /// Windows stay inside the settings' search region.
  xcorr::Status prepare(xcorr::Size frame, const xcorr::MatchSettings& settings,
                        const TrackSettings& tracking);

  /// Enqueues the search of all windows, so that a GPU works on them concurrently.
  xcorr::Status enqueue(const xcorr::MatrixView& frame,
                        std::span<const TemplatePlace> expectations);

  /// Adds the peaks of the windows enqueued.
  xcorr::Status collect(std::vector<xcorr::Peak>& peaks);

  /// How close a part of the frame is to the picture that a template started from.
  xcorr::Result<double> closeness_of_picture(const xcorr::MatrixView& frame,
                                             const TemplatePlace& part);

  /// Whether the last enqueue() had any windows, and the kernel of the first of them.
  bool any() const { return !enqueued_.empty(); }
  std::string kernel() const { return enqueued_.front().matcher->kernel(); }

 private:
  struct Window {
    std::uint32_t template_index;
    xcorr::Rect region;
    xcorr::Matcher* matcher;
  };

  bool fits(std::uint32_t index) const;
  /// \param extent  of what is expected there
  xcorr::Rect region_around(const TemplatePlace& expected, xcorr::Size extent) const;
  xcorr::Result<xcorr::Matcher*> matcher_of(std::uint32_t index, std::size_t which);
  /// Prepares the window there.
  xcorr::Result<xcorr::Rect> prepare(xcorr::Matcher& matcher, const TemplatePlace& expected);
  bool at_inner_edge(const xcorr::Peak& peak, const xcorr::Rect& region) const;

  xcorr::Device device_;
  Images images_ = std::make_shared<std::vector<LumaImage>>();
  LiveTemplates live_;
  xcorr::Size frame_;
  xcorr::Rect area_;  ///< all windows lie inside
  xcorr::MatchSettings settings_;
  int margin_ = 0;
  PoseFollowing following_;
  std::map<const xcorr::Matcher*, xcorr::PoseRange> poses_;  ///< that matchers are prepared for
  std::vector<std::vector<std::unique_ptr<xcorr::Matcher>>> matchers_;  ///< by template
  std::vector<std::unique_ptr<xcorr::Matcher>> of_pictures_;            ///< made as needed
  std::vector<Window> enqueued_;
};

}  // namespace cudaxcorr
