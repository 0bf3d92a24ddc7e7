// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches search windows of a frame, each for one template, all at once. A window has its
// template's size plus the margin on each side. Near an edge of the frame it is moved inwards
// instead of clipped: moving is free, another size needs preparation.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <xcorr/follower.hpp>
#include <xcorr/match.hpp>
#include <xcorr/pose_following.hpp>
#include <xcorr/window_matcher.hpp>

#include "matching/loaded_templates.h"

namespace cudaxcorr {

class Windows {
 public:
  explicit Windows(xcorr::Device device) : device_(std::move(device)) {}

  /// They are loaded by prepare().
  void set_templates(Images images, LiveTemplates live);

  /// Prepares one window per template; further ones are made as needed. The margin is in pixels.
  /// Windows stay inside the settings' search region.
  xcorr::Status prepare(xcorr::Size frame, const xcorr::MatchSettings& settings,
                        const xcorr::TrackSettings& tracking);

  /// Enqueues the search of all windows.
  xcorr::Status enqueue(const xcorr::MatrixView& frame,
                        std::span<const xcorr::TemplatePlace> expectations);

  /// Adds the peaks of the windows enqueued.
  xcorr::Status collect(std::vector<xcorr::Peak>& peaks);

  /// How close a part of the frame is to the image that a template started from, upright. A frame
  /// in host memory is compared there: a GPU would not have answered when that is done.
  xcorr::Result<double> similarity_of_image(const xcorr::MatrixView& frame,
                                            const xcorr::TemplatePlace& part);

  /// Whether the last enqueue() had any windows, and the kernel of the first of them.
  bool any() const { return !enqueued_.empty(); }
  std::string kernel() const { return matcher_->kernel(); }

 private:
  bool fits(std::uint32_t index) const;
  /// \param extent  of what is expected there
  xcorr::Rect region_around(const xcorr::TemplatePlace& expected, xcorr::Size extent) const;
  xcorr::Status provide_matcher();
  xcorr::Result<xcorr::WindowMatcher*> matcher_of_image(std::uint32_t index, xcorr::Memory memory);
  /// \param which  of the template's windows
  xcorr::SearchWindow window_around(const xcorr::TemplatePlace& expected, std::size_t which);
  bool at_inner_edge(const xcorr::Peak& peak, const xcorr::Rect& region) const;

  xcorr::Device device_;
  Images images_ = std::make_shared<std::vector<LumaImage>>();
  LiveTemplates live_;
  xcorr::Size frame_;
  xcorr::Rect area_;  ///< all windows lie inside
  xcorr::MatchSettings settings_;
  int margin_ = 0;
  xcorr::PoseFollowing following_;
  /// That windows were last searched for, by template and which of its windows.
  std::map<std::pair<std::uint32_t, std::size_t>, xcorr::PoseRange> poses_;
  std::optional<xcorr::WindowMatcher> matcher_;  ///< made when needed
  bool loaded_ = false;                          ///< it has the templates
  /// Of the images that templates started from, by template and where frames are; made as needed.
  std::map<std::pair<std::uint32_t, xcorr::Memory>, xcorr::WindowMatcher> of_images_;
  std::vector<xcorr::SearchWindow> enqueued_;
};

}  // namespace cudaxcorr
