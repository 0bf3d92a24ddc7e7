// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What to draw: the marks of the last analysed frame and, for each track, the places where it has
// been. Everything in fractions of the frame, so that scaling between the elements does not matter.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include <gst/gst.h>

namespace cudaxcorr {

struct Mark {
  struct Point {
    double x, y;
  };

  unsigned template_index;
  std::string label;
  std::uint64_t id;  ///< 0: no track
  double x, y, width, height;
  Point corners[4];  ///< from the upper left one, clockwise as the template has them
  double score, confidence;
  bool lost;
  std::string state;         ///< of the track; empty: none to show
  std::vector<Point> trail;  ///< centres in earlier frames and this one, oldest first

  bool is_tentative() const { return state == "tentative"; }
  /// Whether its edges are not those of its bounds.
  bool is_turned() const { return corners[0].y != corners[1].y || corners[0].x > corners[1].x; }
};

class Marks {
 public:
  /// Takes the result of the frame to be drawn. A frame that was not analysed changes nothing,
  /// since marks would flicker otherwise. A trail has the places of the last `trail_length`
  /// analysed frames. What was lost long ago has no mark any more.
  void update(const GstStructure* result, unsigned trail_length);
  const std::vector<Mark>& current() const { return marks_; }
  /// The next frame is unrelated to those before.
  void forget();

 private:
  struct Past {
    std::uint64_t frame;
    Mark::Point centre;
  };

  void trace(Mark& mark);
  void drop_older(unsigned trail_length);

  std::vector<Mark> marks_;
  std::map<std::uint64_t, std::deque<Past>> past_;  ///< by id
  std::map<std::uint64_t, std::uint64_t> seen_;     ///< by id, the last frame in which it was seen
  std::uint64_t frame_ = 0;                         ///< counts the analysed ones
};

}  // namespace cudaxcorr
