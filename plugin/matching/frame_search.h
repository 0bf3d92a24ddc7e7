// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches frames for all templates: for most of them in the whole frame, for those with a region
// of their own only there. Several frames may be in flight: each of them has matchers of its own,
// and these are used in turn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <xcorr/multi_matcher.hpp>
#include <xcorr/window_matcher.hpp>

#include "matching/loaded_templates.h"

namespace cudaxcorr {

class FrameSearch {
 public:
  /// For one frame in flight.
  static xcorr::Result<FrameSearch> create(const std::vector<xcorr::Device>& devices);

  /// How many frames may be in flight; there must be none. If that changes, templates must be set
  /// again.
  std::size_t depth() const { return slots_.size(); }
  xcorr::Status set_depth(std::size_t frames, const std::vector<xcorr::Device>& devices);

  /// After an error they must be set again.
  xcorr::Status set_templates(const LoadedTemplates& templates);
  /// Before frames of that kind; there must be none in flight. The thresholds of single templates
  /// count unless `match` is that of tracks, which have one.
  xcorr::Status prepare(xcorr::ElementType type, xcorr::Size frame,
                        const xcorr::MatchSettings& match, bool for_tracks = false);

  /// Of a whole frame, as prepared; regions come on top.
  xcorr::Cost cost() const {
    return searches_whole() ? slots_.front().whole.cost() : xcorr::Cost();
  }

  xcorr::Status begin(const xcorr::MatrixView& frame);
  /// Waits for the oldest frame in flight.
  xcorr::Status finish(std::vector<xcorr::Peak>& peaks);
  /// The kernel that searched the frame finished last.
  std::string kernel() const;

  /// Unsupported for a template with a region of its own.
  xcorr::Status respond(const xcorr::MatrixView& frame, std::uint32_t template_index,
                        xcorr::Response& response);
  /// What kernel=tune has measured.
  const std::string& tuning() const { return slots_.front().whole.tuning(); }

 private:
  /// Of a frame in flight.
  struct Slot {
    xcorr::MultiMatcher whole;
    std::optional<xcorr::WindowMatcher> regions;  ///< where there are any
  };

  bool searches_whole() const { return !whole_.empty() || regions_.empty(); }
  xcorr::MatchSettings loosest(xcorr::MatchSettings match,
                               const std::vector<std::uint32_t>& templates) const;
  double threshold_of(std::uint32_t index) const { return thresholds_[index]; }
  xcorr::Status collect(Slot& slot, std::vector<xcorr::Peak>& peaks);

  xcorr::Device first_;
  std::vector<Slot> slots_;
  std::vector<TemplateRules> rules_;            ///< by template
  std::vector<std::uint32_t> things_;           ///< by template: what it shows
  bool has_samples_ = false;                    ///< some show the same
  std::vector<std::uint32_t> whole_, regions_;  ///< templates: those of each kind
  std::vector<xcorr::SearchWindow> windows_;    ///< of the latter, whose indices are in `regions_`
  std::vector<double> thresholds_;              ///< by template
  bool filters_ = false;                        ///< what is found, by these
  xcorr::MatchSettings match_;                  ///< as asked for
  std::size_t begun_ = 0, finished_ = 0;        ///< frames, since the last prepare()
};

}  // namespace cudaxcorr
