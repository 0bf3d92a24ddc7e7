// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What streams and applications do to tracks that nobody wishes for, with every tracker: nothing is
// claimed that is not there, and ids stay unique.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <set>

#include "moving_patch.hpp"

namespace {

constexpr const char* trackers[] = {"template", "filter"};

/// A target that filters can tell from its surroundings.
struct Stage {
  Gray background = texture(frame_width, frame_height, 1);
  Gray target = texture(32, 32, 50);
  std::string file = save(target, "target.png");

  Gray frame(int x, int y) const {
    Gray image = background;
    paste(image, target, x, y);
    return image;
  }
  std::string settings(int tracker, const std::string& more = "") const {
    return std::string("track=true tracker=") + trackers[tracker] + " template=" + file + " " +
           more;
  }
};

void assert_claimed_at(const Found& found, double x, double y, double tolerance = 1.5) {
  const auto seen = claims(found);
  assert_equals_int(seen.size(), 1);
  assert_at(seen[0], x, y, tolerance);
}

void settle(Finder& finder, const Stage& stage, int x, int y) {
  for (int i = 0; i < 5; ++i) finder.find(stage.frame(x, y));
}

/// All that entered are in the last frame, or have left or were dropped.
void assert_balanced(const Finder& finder, const Found& last) {
  const auto count = [&](const char* field) { return stat_of(finder.element, field); };
  const auto there = std::ranges::count_if(
      last.peaks, [](const Peak& peak) { return peak.lost || peak.state != "tentative"; });
  assert_equals_uint64(count("entered"), count("left") + count("dropped") + guint64(there));
}

ELEMENT_TESTS(a_target_as_large_as_the_frame, 0, std::size(trackers)) {
  const Stage stage;
  Finder finder(stage.settings(__i__) + " template=" + save(stage.background, "all.png"));
  // Of which a cell of a filter has as many pixels as a tenth of it.
  for (int i = 0; i < 5; ++i) assert_claimed_at(finder.find(stage.background), 0, 0, 3);
  for (int i = 0; i < 10; ++i) assert_equals_int(claims(finder.find(black())).size(), 0);
}

ELEMENT_TESTS(a_target_of_four_pixels, 0, std::size(trackers)) {
  const Stage stage;
  const Gray tiny = crop(stage.background, 100, 80, 4, 4);
  Finder finder(stage.settings(__i__, "threshold=0.9") + " template=" + save(tiny, "tiny.png"));
  for (int i = 0; i < 5; ++i) assert_claimed_at(finder.find(stage.background), 100, 80);
  for (int i = 0; i < 10; ++i) assert_equals_int(claims(finder.find(black())).size(), 0);
}

/// It is expected beyond the frame, by more than a window's size.
ELEMENT_TESTS(a_target_that_shoots_out_of_the_frame, 0, std::size(trackers)) {
  const Stage stage;
  Finder finder(stage.settings(__i__));
  for (int x = 20; x < 280; x += 25) finder.find(stage.frame(x, 80));
  for (int i = 0; i < 30; ++i) assert_equals_int(claims(finder.find(stage.background)).size(), 0);
  for (int i = 0; i < 25; ++i) finder.find(stage.frame(40, 60));
  assert_claimed_at(finder.find(stage.frame(40, 60)), 40, 60);
}

/// The region that is searched moves to where the target is not.
ELEMENT_TESTS(a_target_outside_of_what_is_searched, 0, std::size(trackers)) {
  const Stage stage;
  Finder finder(stage.settings(__i__));
  settle(finder, stage, 200, 100);
  finder.set("search-region", "<0,0,100,100>");
  for (int i = 0; i < 20; ++i)
    assert_equals_int(claims(finder.find(stage.frame(200, 100))).size(), 0);
  finder.set("search-region", "<0,0,0,0>");
  for (int i = 0; i < 20; ++i) finder.find(stage.frame(200, 100));
  assert_claimed_at(finder.find(stage.frame(200, 100)), 200, 100);
}

/// As many as there may be; for filters fewer, since each takes milliseconds. They are far enough
/// apart that a window holds no more than the eight peaks that it reports.
ELEMENT_TESTS(a_thousand_targets, 0, std::size(trackers)) {
  const int columns = __i__ == 0 ? 40 : 8, rows = __i__ == 0 ? 25 : 4;
  const Gray part = texture(8, 8, 60);
  constexpr int apart = 24;
  Gray image = texture(apart * columns, apart * rows, 2);
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      paste(image, part, apart * column + 8, apart * row + 8);
  Finder finder(std::string("track=true threshold=0.95 search-margin=8 max-peaks=1000 tracker=") +
                trackers[__i__] + " template=" + save(part, "part.png"));
  for (int i = 0; i < 3; ++i) {
    const auto seen = claims(finder.find(image));
    assert_equals_int(seen.size(), columns * rows);
    std::set<guint64> ids;
    for (const Peak& peak : seen) ids.insert(peak.id);
    assert_equals_int(ids.size(), columns * rows);
  }
}

/// They move, and then all are gone in one frame; for filters fewer, since each takes milliseconds.
ELEMENT_TESTS(many_that_vanish_at_once, 0, std::size(trackers)) {
  const int columns = __i__ == 0 ? 40 : 16, rows = __i__ == 0 ? 25 : 8;
  const int all = columns * rows;
  const Gray part = texture(8, 8, 60);
  constexpr int apart = 24;
  const Gray background = texture(apart * columns + 8, apart * rows + 8, 2);
  const auto frame = [&](int x) {
    Gray image = background;
    for (int i = 0; i < all; ++i)
      paste(image, part, apart * (i % columns) + 4 + x, apart * (i / columns) + 8);
    return image;
  };
  Finder finder(
      std::string("track=true threshold=0.95 search-margin=8 max-peaks=1000 min-frames-for-lost=2 "
                  "forget-after=3 redetect-interval=1000 tracker=") +
      trackers[__i__] + " template=" + save(part, "part.png"));
  for (int x = 0; x < 3; ++x) {
    const Found found = finder.find(frame(x));
    assert_equals_int(claims(found).size(), all);
    assert_balanced(finder, found);
  }
  assert_equals_uint64(stat_of(finder.element, "entered"), guint64(all));
  for (int i = 0; i < 4; ++i) {
    const Found found = finder.find(background);
    assert_equals_int(claims(found).size(), 0);
    assert_balanced(finder, found);
  }
  assert_equals_uint64(stat_of(finder.element, "dropped"), guint64(all));
}

/// Tracks count frames, whatever these say of their times.
ELEMENT_TESTS(times_that_stand_still_leap_and_go_back, 0, std::size(trackers)) {
  constexpr GstClockTime times[] = {0,
                                    0,
                                    0,
                                    40 * GST_MSECOND,
                                    40 * GST_MSECOND,
                                    GST_CLOCK_TIME_NONE,
                                    3600 * GST_SECOND,
                                    3600 * GST_SECOND,
                                    GST_SECOND,
                                    GST_CLOCK_TIME_NONE,
                                    G_MAXINT64,
                                    0};
  const Stage stage;
  Finder finder(stage.settings(__i__));
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  int x = 20;
  for (int round = 0; round < 3; ++round)
    for (const GstClockTime time : times) {
      GstBuffer* buffer = make_frame(GST_VIDEO_FORMAT_GRAY8, stage.frame(x += 4, 80));
      GST_BUFFER_PTS(buffer) = time;
      const Found found = finder.find(buffer);
      assert_claimed_at(found, x, 80);
      assert_equals_uint64(found.peaks[0].id, 1);
      assert_balanced(finder, found);
    }
}

ELEMENT_TESTS(frames_that_are_missing_or_come_twice, 0, std::size(trackers)) {
  const Stage stage;
  Finder finder(stage.settings(__i__));
  settle(finder, stage, 20, 80);
  int x = 20;
  for (int i = 0; i < 40; ++i) {
    x += i % 5 == 0 ? 0 : i % 7 == 0 ? 12 : 4;
    const Found found = finder.find(stage.frame(x, 80));
    assert_claimed_at(found, x, 80);
    assert_equals_int(found.peaks[0].id, 1);
  }
}

/// To another scene and back, without an event in the stream.
ELEMENT_TESTS(a_cut, 0, std::size(trackers)) {
  const Stage stage;
  Finder finder(stage.settings(__i__));
  settle(finder, stage, 200, 100);
  const Gray other = texture(frame_width, frame_height, 77);
  for (int i = 0; i < 20; ++i) assert_equals_int(claims(finder.find(other)).size(), 0);
  for (int i = 0; i < 25; ++i) finder.find(stage.frame(60, 40));
  const Found found = finder.find(stage.frame(60, 40));
  assert_claimed_at(found, 60, 40);
  assert_equals_int(found.peaks[0].id, 1);
}

/// A camera's white balance drifts, and then is set back at once.
ELEMENT_TESTS(colours_that_change, 0, std::size(trackers)) {
  const std::array ground = {texture(frame_width, frame_height, 1),
                             texture(frame_width, frame_height, 2),
                             texture(frame_width, frame_height, 3)};
  const std::array target = {texture(32, 32, 50), texture(32, 32, 51), texture(32, 32, 52)};
  Finder finder(std::string("track=true tracker=") + trackers[__i__] +
                " template=" + save(target[0], target[1], target[2], "colours.png"));
  finder.set_format(GST_VIDEO_FORMAT_RGB, frame_width, frame_height);
  for (int i = 0; i < 60; ++i) {
    const double drift = i < 45 ? i / 45.0 : 0;
    const std::array gains = {1 - 0.4 * drift, 1.0, 1 - 0.2 * drift};
    const int x = 20 + 3 * i;
    std::array planes = ground;
    for (int k = 0; k < 3; ++k) {
      paste(planes[k], target[k], x, 80);
      for (std::uint8_t& pixel : planes[k].pixels)
        pixel = static_cast<std::uint8_t>(pixel * gains[k]);
    }
    const Found found =
        finder.find(make_frame(GST_VIDEO_FORMAT_RGB, planes[0], planes[1], planes[2]));
    assert_claimed_at(found, x, 80);
    assert_equals_int(found.peaks[0].id, 1);
  }
}

ELEMENT_TESTS(a_seek, 0, std::size(trackers)) {
  const Stage stage;
  Finder finder(stage.settings(__i__));
  settle(finder, stage, 200, 100);
  fail_unless(gst_harness_push_event(finder.harness, gst_event_new_flush_start()));
  fail_unless(gst_harness_push_event(finder.harness, gst_event_new_flush_stop(TRUE)));
  fail_unless(gst_harness_push_event(finder.harness, new_segment()));
  assert_equals_int(claims(finder.find(stage.background)).size(), 0);
  for (int i = 0; i < 15; ++i) finder.find(stage.frame(40, 60));
  const Found found = finder.find(stage.frame(40, 60));
  assert_claimed_at(found, 40, 60);
  assert_equals_int(found.peaks[0].id, 1);
}

/// Each while frames flow; then the target is followed as before.
ELEMENT_TESTS(settings_that_change, 0, std::size(trackers)) {
  const Stage stage;
  Finder finder(stage.settings(__i__));
  guint64 last_id = 0;
  std::string tracker = trackers[__i__];
  for (const auto& [property, value] : {std::pair{"angle-extent", "20"},
                                        {"prefilter-sigma", "1"},
                                        {"scale-max", "1.1"},
                                        {"tracker", trackers[1 - __i__]},
                                        {"angle-extent", "0"},
                                        {"prefilter-sigma", "0"},
                                        {"tracker", trackers[__i__]},
                                        {"scale-max", "1"}}) {
    finder.set(property, value);
    for (int i = 0; i < 12; ++i) finder.find(stage.frame(100 + i, 60));
    const Found found = finder.find(stage.frame(112, 60));
    assert_claimed_at(found, 112, 60);
    const guint64 id = found.peaks[0].id;
    // A new tracker has new targets, and so have filters that find angles from now on, or no more;
    // otherwise they stay.
    if (std::string(property) == "tracker") tracker = value;
    const bool anew = std::string(property) == "tracker" ||
                      (std::string(property) == "angle-extent" && tracker == "filter");
    fail_unless(last_id == 0 || anew ? id > last_id : id == last_id,
                "%s: id %" G_GUINT64_FORMAT " after %" G_GUINT64_FORMAT, property, id, last_id);
    last_id = id;
  }
}

/// While a target is new, missed, lost or perhaps found again. Nothing is claimed that is not
/// there, targets add up, and in the end it is followed.
ELEMENT_TESTS(settings_that_change_at_a_bad_time, 0, std::size(trackers)) {
  const Stage stage;
  enum { is_new, is_missed, is_lost, is_perhaps_found, times };
  for (int time = is_new; time < times; ++time) {
    Finder finder(stage.settings(__i__, "min-frames-for-lost=3 redetect-interval=1"));
    int way = 0;
    const auto x = [&] { return 60 + std::abs(way % 200 - 100); };  // to and fro
    const auto show = [&](bool there) {
      way += 2;
      return finder.find(there ? stage.frame(x(), 60) : stage.background);
    };
    for (const auto& [property, value] : {std::pair{"max-peaks", "3"},
                                          {"search-margin", "5"},
                                          {"min-frames-for-lost", "1"},
                                          {"forget-after", "1"},
                                          {"forget-after", "0"},
                                          {"prefilter-sigma", "1"},
                                          {"search-region", "<0,0,200,150>"},
                                          {"tracker", trackers[1 - __i__]},
                                          {"track", "false"},
                                          {"track", "true"},
                                          {"max-peaks", "1"}}) {
      for (int i = 0; time != is_new && i < 5; ++i) show(true);
      for (int i = 0; i < (time == is_missed ? 1 : 4); ++i) show(false);
      if (time == is_new || time == is_perhaps_found) show(true);
      finder.set(property, value);
      for (int i = 0; i < 8; ++i) {
        const Found found = show(true);
        const auto seen = claims(found);
        fail_unless(seen.size() <= 1, "%s: %zu places", property, seen.size());
        for (const Peak& peak : seen) assert_at(peak, x(), 60, 2);
        if (finder.get("track") == "true") assert_balanced(finder, found);
      }
    }
    finder.set("forget-after", "1");
    for (int i = 0; i < 12; ++i) show(true);
    const Found found = show(true);
    assert_claimed_at(found, x(), 60);
    assert_balanced(finder, found);
  }
}

}  // namespace
