// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Follows targets from frame to frame, by the peaks of whole frames and of search windows around
// the expected places, and by filters where these are asked for. Templates and filters then learn
// from the frame.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xcorr/follower.hpp>
#include <xcorr/tracker.hpp>

#include "matching/frame_search.h"
#include "matching/loaded_templates.h"
#include "matching/search_settings.h"
#include "matching/windows.h"

namespace cudaxcorr {

class TrackSession {
 public:
  explicit TrackSession(xcorr::Device device) : device_(device), windows_(std::move(device)) {}

  /// Goes on with the tracks of another session, which has frames of the same format. Those that
  /// filters follow end: what these have learnt lies on the other device, or in the other context.
  void keep_tracks_of(const TrackSession& other);
  /// All tracks end, and what filters have learnt.
  void end() {
    follower_.end();
    filters_.reset();
  }
  /// The stream has a gap before the next frame.
  void interrupt() { follower_.interrupt(); }

  /// Before configure(). A template whose pixels are unchanged keeps its tracks.
  void set_templates(const LoadedTemplates& templates);
  /// Before frames of that size. `match` is what whole frames are searched by.
  xcorr::Status configure(xcorr::Size frame, const xcorr::MatchSettings& match,
                          const SearchSettings& asked);

  /// Starts the searches; `search` is that of whole frames, used if that is due.
  xcorr::Status begin(FrameSearch& search, const xcorr::MatrixView& frame, std::uint64_t number);
  /// Waits for them. After an error targets are as before, so that the frame can be analysed again.
  /// `kernel` stays if nothing was searched.
  xcorr::Status finish(FrameSearch& search, std::vector<xcorr::Target>& targets,
                       std::string& kernel);
  /// Waits until frames that are finished are no longer needed: filters may still learn from one.
  xcorr::Status release() { return filters_ ? filters_->wait() : xcorr::Status(); }

  /// An estimate of how long the filters of a frame's targets take.
  double seconds() const;

  /// How many targets the budget permits, once there are so many.
  std::optional<int> full() const { return follower_.full(); }

  /// What has become of targets since the last call.
  std::vector<xcorr::TargetEvent> take_events() { return follower_.take_events(); }

 private:
  xcorr::Status provide_filters();
  xcorr::Status look(const std::vector<xcorr::Peak>& peaks);
  xcorr::Status learn();
  xcorr::Result<std::optional<double>> similarity_of_image(xcorr::TemplatePlace& place,
                                                           xcorr::MatrixView& frame);
  xcorr::Status check_returns();
  xcorr::Status update_templates();
  xcorr::Status train_filters();

  xcorr::Device device_;
  Windows windows_;
  std::shared_ptr<xcorr::Tracker> filters_;  ///< of targets by their ids; with tracker=filter
  xcorr::TrackerSettings of_filters_;
  xcorr::Follower follower_;
  LoadedTemplates templates_;
  Images followed_ = templates_.images;  ///< those that the follower's tracks are of
  SearchSettings asked_;
  std::uint64_t number_ = 0;  ///< of the frame in flight
  xcorr::MatrixView frame_;   ///< that frame
  /// Where filters look for targets in it; nothing: that depends on what else is found.
  std::optional<std::vector<xcorr::TargetBox>> places_;
};

}  // namespace cudaxcorr
