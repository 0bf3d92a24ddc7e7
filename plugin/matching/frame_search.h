// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches whole frames, several of which may be in flight: each of them has a matcher of its own,
// and these are used in turn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <xcorr/multi_matcher.hpp>

#include "matching/loaded_templates.h"

namespace cudaxcorr {

class FrameSearch {
 public:
  /// For one frame in flight.
  static xcorr::Result<FrameSearch> create(const std::vector<xcorr::Device>& devices);

  /// How many frames may be in flight; there must be none. If that changes, templates must be set
  /// again.
  std::size_t depth() const { return matchers_.size(); }
  xcorr::Status set_depth(std::size_t frames, const std::vector<xcorr::Device>& devices);

  /// After an error they must be set again.
  xcorr::Status set_templates(const LoadedTemplates& templates);
  /// Before frames of that kind; there must be none in flight.
  xcorr::Status prepare(xcorr::ElementType type, xcorr::Size frame,
                        const xcorr::MatchSettings& match);

  /// Of a frame, as prepared.
  xcorr::Cost cost() const { return matchers_.front().cost(); }

  xcorr::Status begin(const xcorr::MatrixView& frame);
  /// Waits for the oldest frame in flight.
  xcorr::Status finish(std::vector<xcorr::Peak>& peaks);
  /// The kernel that searched the frame finished last.
  std::string kernel() const;

  xcorr::Status respond(const xcorr::MatrixView& frame, std::uint32_t template_index,
                        xcorr::Response& response) {
    return matchers_.front().respond(frame, template_index, response);
  }
  /// What kernel=tune has measured.
  const std::string& tuning() const { return matchers_.front().tuning(); }

 private:
  std::vector<xcorr::MultiMatcher> matchers_;
  std::size_t begun_ = 0, finished_ = 0;  ///< frames, since the last prepare()
};

}  // namespace cudaxcorr
