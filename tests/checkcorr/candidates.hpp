// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Made lists of candidates, with equal scores among them, full ones and empty ones, and their
// comparison: what the tests of the stages that choose among candidates have in common.
#pragma once

#include "posed.hpp"
#include "stages/poses/prune_candidates.hpp"

namespace checkcorr {

/// Made of the frame's pixels, so that scores and places repeat.
class Draws {
 public:
  explicit Draws(const Scenario& scenario) : bytes_(view<std::uint8_t>(scenario.values, "lefts")) {}
  int operator()(int most) { return bytes_[next_++ % bytes_.size()] % most; }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t next_ = 0;
};

inline xcorr::PoseChoice choice_of(const Case& c) {
  xcorr::PoseChoice choice;
  choice.most = 3 + c.right.width % 5;
  choice.least = c.right.height % 3 == 0 ? -1 : 0.2;
  choice.near = 2 + c.left.width % 7;
  choice.next = choice.near / (1 + c.left.height % 2);
  choice.share = 1 + c.right.height % 4;
  choice.turns = 1 + c.left.width % 3;
  choice.sizes = 1 + c.left.height % 2;
  choice.far = 20;
  choice.wanted = 1 + c.left.height % 3;
  choice.margin = 0.25;
  choice.before = c.left.height % 5;
  return choice;
}

/// Of both signs where the case asks for that.
inline double score_of(const Case& c, Draws& draw) {
  return (draw(64) - (c.polarity == xcorr::Polarity::same ? 0 : 32)) / 64.0;
}

/// An image of the level.
inline xcorr::stage::CollectCandidates::Source draw_source(Draws& draw, const xcorr::PoseGrid& grid,
                                                           int level) {
  return {{draw(grid.angles(level)), draw(grid.scales(level))},
          5 + draw(3),
          6 + draw(2),
          draw(3) - 1,
          draw(3) - 1,
          static_cast<float>(draw(5)) / 16};
}

inline int level_of(const Case& c) { return (c.left.width + c.right.width) % 2; }

inline void compare_lists(Comparison& comparison, const Values& truth, const Values& got,
                          const char* name, const char* count_name, int level) {
  const auto count = [](const Values& values, const char* which) {
    return view<std::int32_t>(values, which)[0];
  };
  const int kept = count(truth, count_name);
  comparison.value([&] { return count_name; }, kept, count(got, count_name), 0);
  const auto expected = view<xcorr::PoseCandidate>(truth, name),
             actual = view<xcorr::PoseCandidate>(got, name);
  for (int i = 0; i < kept; ++i) {
    const auto place = [&] { return name + ('[' + std::to_string(i) + ']'); };
    comparison.value(place, expected[i].similarity, actual[i].similarity, 0);
    comparison.value(place, expected[i].score, actual[i].score, 0);
    comparison.value(place, expected[i].twice_x, actual[i].twice_x, 0);
    comparison.value(place, expected[i].twice_y, actual[i].twice_y, 0);
    comparison.value(place, expected[i].pose.angle, actual[i].pose.angle, 0);
    comparison.value(place, expected[i].pose.scale, actual[i].pose.scale, 0);
  }
  if (level > 0) return;
  const auto starts = view<xcorr::RefinedPose>(truth, "starts"),
             begun = view<xcorr::RefinedPose>(got, "starts");
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto place = [&] { return "starts[" + std::to_string(i) + ']'; };
    comparison.value(place, starts[i].x, begun[i].x, 0);
    comparison.value(place, starts[i].y, begun[i].y, 0);
    comparison.value(place, starts[i].cosine, begun[i].cosine, 0);
    comparison.value(place, starts[i].sine, begun[i].sine, 0);
    comparison.value(place, starts[i].scale, begun[i].scale, 0);
  }
}

}  // namespace checkcorr
