// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The property `track` on real frames: patches that move over a texture, cross, hide, jump and
// return, and what of it leaves the element.
#include <cmath>
#include <map>

#include "support.hpp"

namespace {

constexpr int frame_width = 320, frame_height = 200, patch_size = 16;

struct Place {
  int x, y;
};

/// A background and a patch that is not part of it.
struct World {
  Gray background = texture(frame_width, frame_height, 1);
  Gray patch = texture(patch_size, patch_size, 50);
  std::string file = save(patch, "patch.png");

  Gray frame(std::initializer_list<Place> places) const {
    Gray picture = background;
    for (const auto& [x, y] : places) paste(picture, patch, x, y);
    return picture;
  }
};

Gray black() { return Gray(frame_width, frame_height); }

/// The launch line's end for exact places of few pixels' margin.
std::string settings_for(const World& world, const std::string& more = "") {
  return "track=true subpixel=false threshold=0.9 search-margin=12 template=" + world.file + " " +
         more;
}

void assert_track(const Peak& peak, guint64 id, const char* state, bool lost = false) {
  assert_equals_uint64(peak.id, id);
  assert_text(peak.state, state);
  assert_equals_int(peak.lost, lost);
}

/// The only target of a frame.
Peak only(const Found& found) {
  assert_equals_int(found.peaks.size(), 1);
  return found.peaks[0];
}

const Peak& with_id(const Found& found, guint64 id) {
  for (const Peak& peak : found.peaks)
    if (peak.id == id) return peak;
  fail("there is no id %" G_GUINT64_FORMAT, id);
  return found.peaks.front();
}

/// Frames of a patch at rest, until it is tracked.
void settle(Finder& finder, const World& world, Place place) {
  for (int i = 0; i < 3; ++i) finder.find(world.frame({place}));
}

GST_START_TEST(a_moving_patch_keeps_its_id) {
  const World world;
  Finder finder(settings_for(world));
  for (int i = 0; i < 30; ++i) {
    const Place place{5 + 9 * i, 150 - 4 * i};
    const Peak peak = only(finder.find(world.frame({place})));
    assert_track(peak, 1, i < 2 ? "tentative" : "tracked");
    assert_at(peak, place.x, place.y);
    assert_equals_float(peak.score, 1);
  }
}
GST_END_TEST

/// In windows peaks are what they are in whole frames, to the last bit, also near the edges.
GST_START_TEST(windows_and_whole_frames_agree) {
  const World world;
  for (const char* more : {"", "prefilter-sigma=1.2", "method=sqdiff-normed"}) {
    const std::string rest = "threshold=0.6 template=" + world.file + " " + more;
    Finder tracking("track=true search-margin=10 " + rest), searching(rest);
    for (int i = 0; i < 34; ++i) {
      const Gray picture = world.frame({{9 * i, i % 2 ? 0 : 3}});
      const Peak tracked = only(tracking.find(picture)), found = only(searching.find(picture));
      fail_unless(tracked.x == found.x && tracked.y == found.y && tracked.score == found.score,
                  "%s, frame %d: %f,%f %f is not %f,%f %f", more, i, tracked.x, tracked.y,
                  tracked.score, found.x, found.y, found.score);
    }
  }
}
GST_END_TEST

/// A copy outside the window is not looked at, though a whole frame would show it first.
GST_START_TEST(elsewhere_is_not_searched) {
  const World world;
  Finder finder(settings_for(world));
  settle(finder, world, {200, 100});
  for (int i = 0; i < 30; ++i)
    assert_at(only(finder.find(world.frame({{20, 20}, {200, 100}}))), 200, 100);
}
GST_END_TEST

GST_START_TEST(an_occluder_hides_it_for_a_while) {
  const World world;
  Finder finder(settings_for(world, "redetect-interval=4 min-frames-for-lost=3"));
  int lost = 0;
  for (int i = 0; i < 40; ++i) {
    const Place place{10 + 6 * i, 90};
    Gray picture = world.frame({place});
    paste(picture, texture(80, 60, 9), 100, 70);
    const bool hidden = place.x + patch_size > 100 && place.x < 180;
    const Peak peak = only(finder.find(picture));
    assert_equals_uint64(peak.id, 1);
    if (!hidden && !peak.lost) {
      assert_at(peak, place.x, place.y);
    } else {
      assert_track(peak, 1, ++lost < 3 ? "tracked" : "lost", true);
      assert_at(peak, 82, 90);  // the last one seen
      assert_equals_float(peak.score, 0);
      fail_unless(hidden || place.x < 180 + 6 * 4, "lost for longer than a whole frame takes");
    }
  }
  fail_unless(lost >= 16);
}
GST_END_TEST

GST_START_TEST(two_that_cross_keep_their_ids) {
  const World world;
  Finder finder(settings_for(world, "max-peaks=2 redetect-interval=3"));
  std::map<guint64, int> direction;
  for (int i = 0; i < 40; ++i) {
    // The first lies over the second, which cannot be seen meanwhile.
    const Place first{280 - 7 * i, 80}, second{10 + 7 * i, 80 + i / 8};
    const Found found = finder.find(world.frame({second, first}));
    if (i == 0)
      for (const Peak& peak : found.peaks) direction[peak.id] = peak.x < 100 ? 1 : -1;
    assert_equals_int(direction.size(), 2);
    for (const Peak& peak : found.peaks) {
      fail_unless(direction.count(peak.id), "frame %d: an id of neither", i);
      if (peak.lost) continue;
      const Place& place = direction[peak.id] < 0 ? first : second;
      assert_at(peak, place.x, place.y);
    }
    if (std::abs(first.x - second.x) > patch_size)
      for (const auto& [id, way] : direction) fail_unless(!with_id(found, id).lost, "frame %d", i);
  }
}
GST_END_TEST

GST_START_TEST(a_second_target_appears) {
  const World world;
  Finder finder(settings_for(world, "max-peaks=3 redetect-interval=5"));
  settle(finder, world, {200, 100});
  int frames = 0;
  while (finder.find(world.frame({{30, 40}, {200, 100}})).peaks.size() < 2) ++frames;
  fail_unless(frames < 5, "%d frames", frames);
  const Found found = finder.find(world.frame({{30, 40}, {200, 100}}));
  assert_at(with_id(found, 1), 200, 100);
  assert_at(with_id(found, 2), 30, 40);
}
GST_END_TEST

GST_START_TEST(a_cut_to_black_and_back) {
  const World world;
  Finder finder(settings_for(world, "min-frames-for-lost=2 redetect-interval=1"));
  settle(finder, world, {200, 100});
  for (int i = 0; i < 20; ++i)
    assert_track(only(finder.find(black())), 1, i < 1 ? "tracked" : "lost", true);
  const Peak back = only(finder.find(world.frame({{40, 150}})));
  assert_track(back, 1, "tracked");
  assert_at(back, 40, 150);
}
GST_END_TEST

GST_START_TEST(a_jump_beyond_the_margin) {
  const World world;
  Finder finder(settings_for(world, "min-frames-for-lost=4 redetect-interval=6"));
  settle(finder, world, {200, 100});
  assert_at(only(finder.find(world.frame({{211, 89}}))), 211, 89);  // just inside
  settle(finder, world, {211, 89});
  for (int i = 0; i < 4; ++i) {
    const Peak peak = only(finder.find(world.frame({{30, 20}})));
    assert_track(peak, 1, i < 3 ? "tracked" : "lost", true);
    assert_at(peak, 211, 89);
  }
  const Peak found = only(finder.find(world.frame({{30, 20}})));
  assert_track(found, 1, "tracked");
  assert_at(found, 30, 20);
}
GST_END_TEST

GST_START_TEST(what_showed_once_is_gone) {
  const World world;
  Finder finder(settings_for(world, "redetect-interval=1"));
  assert_track(only(finder.find(world.frame({{200, 100}}))), 1, "tentative");
  fail_unless(finder.find(world.background).peaks.empty());
  assert_track(only(finder.find(world.frame({{200, 100}}))), 2, "tentative");
}
GST_END_TEST

void restart_segment(Finder& finder) {
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  fail_unless(gst_harness_push_event(finder.harness, gst_event_new_segment(&segment)));
}

GST_START_TEST(after_a_flush_or_a_gap_it_is_sought_everywhere) {
  const World world;
  Finder finder(settings_for(world));
  settle(finder, world, {200, 100});
  fail_unless(gst_harness_push_event(finder.harness, gst_event_new_flush_start()));
  fail_unless(gst_harness_push_event(finder.harness, gst_event_new_flush_stop(TRUE)));
  restart_segment(finder);
  const Peak flushed = only(finder.find(world.frame({{30, 30}})));
  assert_track(flushed, 1, "tracked");
  assert_at(flushed, 30, 30);

  GstBuffer* frame = make_frame(GST_VIDEO_FORMAT_GRAY8, world.frame({{250, 150}}));
  GST_BUFFER_FLAG_SET(frame, GST_BUFFER_FLAG_DISCONT);
  const Peak after_gap = only(finder.find(frame));
  assert_track(after_gap, 1, "tracked");
  assert_at(after_gap, 250, 150);

  frame = make_frame(GST_VIDEO_FORMAT_GRAY8, world.background);
  GST_BUFFER_FLAG_SET(frame, GST_BUFFER_FLAG_DISCONT);
  assert_track(only(finder.find(frame)), 1, "lost", true);
}
GST_END_TEST

GST_START_TEST(other_caps_begin_anew) {
  const World world;
  Finder finder(settings_for(world));
  settle(finder, world, {200, 100});
  const Gray smaller = crop(world.frame({{200, 100}}), 20, 10, 260, 150);
  const Peak peak = only(finder.find(smaller));
  assert_track(peak, 2, "tentative");
  assert_at(peak, 180, 90);
}
GST_END_TEST

/// Of the templates set while playing, those that were there before keep their targets.
GST_START_TEST(templates_changed_while_playing) {
  const World world;
  const Gray other = texture(20, 12, 51);
  const std::string other_file = save(other, "other.png");
  Finder finder(settings_for(world));
  Gray picture = world.frame({{200, 100}});
  paste(picture, other, 60, 30);
  for (int i = 0; i < 3; ++i)
    assert_track(only(finder.find(picture)), 1, i < 2 ? "tentative" : "tracked");

  finder.set("templates", array_of({other_file}));
  const Found both = finder.find(picture);
  assert_equals_int(both.peaks.size(), 2);
  assert_track(both.peaks[0], 1, "tracked");
  assert_track(both.peaks[1], 2, "tentative");
  for (int i = 0; i < 2; ++i) finder.find(picture);

  // Both files are read again, in another order.
  finder.set("template", "");
  finder.set("templates", array_of({other_file, world.file}));
  const Found swapped = finder.find(picture);
  assert_equals_int(swapped.peaks.size(), 2);
  assert_text(swapped.peaks[0].label, "other");
  assert_track(swapped.peaks[0], 2, "tracked");
  assert_at(swapped.peaks[0], 60, 30);
  assert_track(swapped.peaks[1], 1, "tracked");

  finder.set("templates", array_of({world.file}));
  assert_track(only(finder.find(world.background)), 1, "tracked", true);
}
GST_END_TEST

/// A change that cannot be done leaves the tracks as they are.
GST_START_TEST(refused_changes_lose_no_track) {
  const World world;
  Finder finder(settings_for(world));
  settle(finder, world, {200, 100});
  finder.set("kernel", "no-such-kernel");
  assert_track(only(finder.find(world.frame({{203, 100}}))), 1, "tracked");
  text_of(finder.message(GST_MESSAGE_WARNING), GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
  finder.set("templates", array_of({"/no/such/file.png"}));
  assert_track(only(finder.find(world.frame({{206, 100}}))), 1, "tracked");
  text_of(finder.message(GST_MESSAGE_WARNING), GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ);
}
GST_END_TEST

GST_START_TEST(settings_changed_while_playing) {
  const World world;
  Finder finder(settings_for(world, "redetect-interval=1"));
  settle(finder, world, {200, 100});
  finder.set("search-margin", "3");
  assert_track(only(finder.find(world.frame({{210, 100}}))), 1, "tracked", true);
  finder.set("search-margin", "1000");  // the whole frame
  assert_at(only(finder.find(world.frame({{20, 20}}))), 20, 20);
  settle(finder, world, {20, 20});
  for (const char* method : {"ccorr", "sqdiff", "ccoeff-normed"}) {
    finder.set("method", method);
    assert_track(only(finder.find(world.frame({{20, 20}}))), 1, "tracked");
  }
  finder.set("max-peaks", "2");
  assert_equals_int(finder.find(world.frame({{20, 20}, {200, 100}})).peaks.size(), 2);
  finder.set("max-peaks", "1");
  assert_track(only(finder.find(world.frame({{20, 20}, {200, 100}}))), 1, "tracked");
  finder.set("track", "false");
  assert_track(only(finder.find(world.frame({{20, 20}}))), 0, "none");
  finder.set("track", "true");
  fail_unless(only(finder.find(world.frame({{20, 20}}))).id > 2);
}
GST_END_TEST

GST_START_TEST(interval_skips_frames) {
  const World world;
  Finder finder(settings_for(world, "interval=3"));
  for (int i = 0; i < 30; ++i) {
    const Place place{10 + 3 * i, 20};
    const Found found = finder.find(world.frame({place}));
    assert_equals_int(found.analysed, i % 3 == 0);
    if (!found.analysed) continue;
    assert_track(only(found), 1, i < 6 ? "tentative" : "tracked");
    assert_at(only(found), place.x, place.y);
  }
}
GST_END_TEST

/// What lies outside the region is lost; windows stay inside.
GST_START_TEST(search_region_bounds_the_windows) {
  const World world;
  Finder finder(settings_for(world, "search-region=<100,50,80,60>"));
  for (int i = 0; i < 12; ++i) {
    const Place place{102 + 8 * i, 60};
    const Found found = finder.find(world.frame({place}));
    assert_equals_int(only(found).lost, place.x + patch_size > 180);
  }
}
GST_END_TEST

/// A lost target's score is one that no match has.
GST_START_TEST(the_score_of_a_lost_target) {
  const World world;
  double squares = 0;
  for (const std::uint8_t pixel : world.patch.pixels) squares += double{pixel * 1.0} * pixel;
  for (const auto& [method, score] : {std::pair{"ccoeff-normed", 0.0},
                                      {"ccorr", 0.0},
                                      {"sqdiff-normed", 1.0},
                                      {"sqdiff", squares}}) {
    Finder finder(settings_for(world, std::string("method=") + method));
    settle(finder, world, {200, 100});
    const Peak peak = only(finder.find(black()));
    fail_unless(peak.lost);
    assert_equals_float(peak.score, score);
  }
}
GST_END_TEST

GST_START_TEST(roi_metas_of_what_was_seen) {
  const World world;
  Finder finder(settings_for(world));
  settle(finder, world, {200, 100});
  GstBuffer* out = finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, world.frame({{202, 100}})));
  const GstVideoRegionOfInterestMeta* roi = gst_buffer_get_video_region_of_interest_meta(out);
  fail_unless(roi != nullptr);
  assert_equals_int(roi->id, 1);
  gst_buffer_unref(out);
  out = finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, black()));
  fail_unless(gst_buffer_get_video_region_of_interest_meta(out) == nullptr);
  assert_equals_int(found_in(out).peaks.size(), 1);
  gst_buffer_unref(out);
}
GST_END_TEST

GST_START_TEST(messages_say_it_too) {
  const World world;
  Finder finder(settings_for(world, "min-frames-for-lost=1"));
  settle(finder, world, {200, 100});
  finder.find(black());
  GstMessage* last = nullptr;
  while (GstMessage* message = finder.message(GST_MESSAGE_ELEMENT)) {
    gst_clear_message(&last);
    last = message;
  }
  fail_unless(last != nullptr);
  GstCudaXCorrPeak peak;
  fail_unless(gst_cuda_xcorr_get_peak(gst_message_get_structure(last), 0, &peak));
  assert_equals_uint64(peak.id, 1);
  fail_unless(peak.lost);
  assert_equals_string(peak.state, "lost");
  gst_message_unref(last);
}
GST_END_TEST

GST_START_TEST(a_template_larger_than_the_frame) {
  const World world;
  const std::string large = save(texture(frame_width + 1, 20, 7), "large.png");
  Finder finder(settings_for(world));
  finder.set("templates", array_of({large}));
  assert_track(only(finder.find(world.frame({{200, 100}}))), 1, "tentative");
  text_of(finder.message(GST_MESSAGE_WARNING), GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED);
}
GST_END_TEST

GST_START_TEST(without_tracks_peaks_have_no_id) {
  const World world;
  Finder finder("threshold=0.9 template=" + world.file);
  assert_track(only(finder.find(world.frame({{200, 100}}))), 0, "none");
}
GST_END_TEST

}  // namespace

Suite* suite() {
  Suite* suite = suite_create("tracks");
  TCase* cases = tcase_create("tracks");
  suite_add_tcase(suite, cases);
  tcase_add_test(cases, a_moving_patch_keeps_its_id);
  tcase_add_test(cases, windows_and_whole_frames_agree);
  tcase_add_test(cases, elsewhere_is_not_searched);
  tcase_add_test(cases, an_occluder_hides_it_for_a_while);
  tcase_add_test(cases, two_that_cross_keep_their_ids);
  tcase_add_test(cases, a_second_target_appears);
  tcase_add_test(cases, a_cut_to_black_and_back);
  tcase_add_test(cases, a_jump_beyond_the_margin);
  tcase_add_test(cases, what_showed_once_is_gone);
  tcase_add_test(cases, after_a_flush_or_a_gap_it_is_sought_everywhere);
  tcase_add_test(cases, other_caps_begin_anew);
  tcase_add_test(cases, templates_changed_while_playing);
  tcase_add_test(cases, refused_changes_lose_no_track);
  tcase_add_test(cases, settings_changed_while_playing);
  tcase_add_test(cases, interval_skips_frames);
  tcase_add_test(cases, search_region_bounds_the_windows);
  tcase_add_test(cases, the_score_of_a_lost_target);
  tcase_add_test(cases, roi_metas_of_what_was_seen);
  tcase_add_test(cases, messages_say_it_too);
  tcase_add_test(cases, a_template_larger_than_the_frame);
  tcase_add_test(cases, without_tracks_peaks_have_no_id);
  return suite;
}
