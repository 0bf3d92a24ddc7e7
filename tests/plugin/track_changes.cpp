// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tracks across events in a pipeline: gaps, new caps, changes of templates and settings, refused
// changes; and how tracks are reported.
#include <tuple>

#include "moving_patch.hpp"

namespace {

void restart_segment(Finder& finder) {
  fail_unless(gst_harness_push_event(finder.harness, new_segment()));
}

ELEMENT_TEST(after_a_flush_or_a_gap_it_is_sought_everywhere) {
  const World world;
  Finder finder(settings_for(world));
  settle(finder, world, {200, 100});
  fail_unless(gst_harness_push_event(finder.harness, gst_event_new_flush_start()));
  fail_unless(gst_harness_push_event(finder.harness, gst_event_new_flush_stop(TRUE)));
  restart_segment(finder);
  assert_at(found_again(finder, world.frame({{30, 30}})), 30, 30);

  GstBuffer* frame = make_frame(GST_VIDEO_FORMAT_GRAY8, world.frame({{250, 150}}));
  GST_BUFFER_FLAG_SET(frame, GST_BUFFER_FLAG_DISCONT);
  assert_track(only(finder.find(frame)), 1, "tentative", true);
  assert_track(only(finder.find(world.frame({{250, 150}}))), 1, "tentative", true);
  const Peak after_gap = only(finder.find(world.frame({{250, 150}})));
  assert_track(after_gap, 1, "tracked");
  assert_at(after_gap, 250, 150);

  frame = make_frame(GST_VIDEO_FORMAT_GRAY8, world.background);
  GST_BUFFER_FLAG_SET(frame, GST_BUFFER_FLAG_DISCONT);
  assert_track(only(finder.find(frame)), 1, "lost", true);
}

ELEMENT_TEST(new_caps_end_all_tracks) {
  const World world;
  Finder finder(settings_for(world));
  settle(finder, world, {200, 100});
  const Gray smaller = crop(world.frame({{200, 100}}), 20, 10, 260, 150);
  const Peak peak = only(finder.find(smaller));
  assert_track(peak, 2, "tentative");
  assert_at(peak, 180, 90);
}

/// When templates are set while playing, those that were there before keep their targets.
ELEMENT_TEST(templates_changed_while_playing) {
  const World world;
  const Gray other = texture(20, 12, 51);
  const std::string other_file = save(other, "other.png");
  Finder finder(settings_for(world));
  Gray image = world.frame({{200, 100}});
  paste(image, other, 60, 30);
  for (int i = 0; i < 3; ++i)
    assert_track(only(finder.find(image)), 1, i < 2 ? "tentative" : "tracked");

  finder.set("templates", array_of({other_file}));
  const Found both = finder.find(image);
  assert_equals_int(both.peaks.size(), 2);
  assert_track(both.peaks[0], 1, "tracked");
  assert_track(both.peaks[1], 2, "tentative");
  for (int i = 0; i < 2; ++i) finder.find(image);

  // Both files are reread, in another order.
  finder.set("template", "");
  finder.set("templates", array_of({other_file, world.file}));
  const Found swapped = finder.find(image);
  assert_equals_int(swapped.peaks.size(), 2);
  assert_text(swapped.peaks[0].label, "other");
  assert_track(swapped.peaks[0], 2, "tracked");
  assert_at(swapped.peaks[0], 60, 30);
  assert_track(swapped.peaks[1], 1, "tracked");

  finder.set("templates", array_of({world.file}));
  assert_track(only(finder.find(world.background)), 1, "tracked", true);
}

/// A refused change leaves the tracks as they are.
ELEMENT_TEST(refused_changes_lose_no_track) {
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

ELEMENT_TEST(settings_changed_while_playing) {
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

/// Whatever ends a target: all that entered are there, or have left or were dropped.
ELEMENT_TEST(what_is_set_ends_targets_and_is_counted) {
  const World world;
  const Gray scene = world.frame({{20, 20}, {200, 100}});
  Finder finder(settings_for(world, "max-peaks=2"));
  guint64 dropped = 0;
  const auto expect_dropped = [&](guint64 more, const Gray& next) {
    finder.find(next);
    assert_equals_uint64(stat_of(finder.element, "dropped"), dropped += more);
    for (int i = 0; i < 3; ++i) finder.find(scene);
  };
  for (int i = 0; i < 3; ++i) finder.find(scene);
  finder.set("max-peaks", "1");
  expect_dropped(1, scene);
  finder.set("tracker", "filter");
  expect_dropped(1, scene);
  finder.set("tracker", "template");
  finder.set("max-peaks", "2");
  expect_dropped(1, scene);
  finder.set("track", "false");
  expect_dropped(2, scene);
  finder.set("track", "true");
  expect_dropped(0, scene);
  expect_dropped(2, crop(scene, 0, 0, 300, 180));
  expect_dropped(0, scene);
  assert_equals_uint64(stat_of(finder.element, "entered") - dropped, 2);
  while (GstMessage* message = finder.message(GST_MESSAGE_ELEMENT)) gst_message_unref(message);

  // It is told, but of no template any more.
  finder.set("templates", array_of({save(texture(20, 12, 51), "other.png")}));
  finder.set("template", "");
  expect_dropped(2, scene);
  int told = 0;
  while (GstMessage* message = finder.message(GST_MESSAGE_ELEMENT)) {
    const GstStructure* event = gst_message_get_structure(message);
    if (gst_structure_has_name(event, "cudaxcorr-target")) {
      assert_equals_string(gst_structure_get_string(event, "event"), "dropped");
      const GstStructure* target =
          gst_value_get_structure(gst_structure_get_value(event, "target"));
      guint index = 0;
      fail_unless(gst_structure_get_uint(target, "template", &index));
      assert_equals_int(index, G_MAXUINT);
      assert_equals_string(gst_structure_get_string(target, "label"), "");
      ++told;
    }
    gst_message_unref(message);
  }
  assert_equals_int(told, 2);
  assert_equals_uint64(stat_of(finder.element, "left"), 0);
}

/// A lost target has a score that no match can have.
ELEMENT_TEST(the_score_of_a_lost_target) {
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

ELEMENT_TEST(roi_metas_of_what_was_seen) {
  const World world;
  Finder finder(settings_for(world));
  settle(finder, world, {200, 100});
  GstBuffer* out = finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, world.frame({{202, 100}})));
  GstVideoRegionOfInterestMeta* roi = gst_buffer_get_video_region_of_interest_meta(out);
  fail_unless(roi != nullptr);
  gint id = 0;
  const GstStructure* object = gst_video_region_of_interest_meta_get_param(roi, "object_id");
  fail_unless(object && gst_structure_get_int(object, "id", &id));
  assert_equals_int(id, 1);
  // Else it is that of the detection: analytics.cpp.
  if (!gst_meta_get_info("GstAnalyticsRelationMeta")) assert_equals_int(roi->id, 1);
  gst_buffer_unref(out);
  out = finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, black()));
  fail_unless(gst_buffer_get_video_region_of_interest_meta(out) == nullptr);
  assert_equals_int(found_in(out).peaks.size(), 1);
  gst_buffer_unref(out);
}

ELEMENT_TEST(messages_say_it_too) {
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

ELEMENT_TEST(a_template_larger_than_the_frame) {
  const World world;
  const std::string large = save(texture(frame_width + 1, 20, 7), "large.png");
  Finder finder(settings_for(world));
  finder.set("templates", array_of({large}));
  assert_track(only(finder.find(world.frame({{200, 100}}))), 1, "tentative");
  text_of(finder.message(GST_MESSAGE_WARNING), GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED);
}

/// To a copy of it a template is as close as can be; a filter's response is far from 1.
ELEMENT_TEST(few_upright_targets_are_followed_by_filters) {
  const World world;
  Finder finder("track=true threshold=0.9 template=" + world.file);
  const auto by_template = [&] {
    Peak peak;
    for (int i = 0; i < 4; ++i) peak = only(finder.find(world.frame({{200, 100}})));
    fail_unless(!peak.lost);
    return peak.score > 0.95;
  };
  assert_equals_int(by_template(), false);
  for (const auto& [property, value, expected] : {std::tuple{"angle-extent", "10", true},
                                                  {"angle-extent", "0", false},
                                                  {"scale-max", "1.1", true},
                                                  {"scale-max", "1", false},
                                                  {"max-peaks", "4", false},
                                                  {"max-peaks", "5", true},
                                                  {"tracker", "filter", false},
                                                  {"max-peaks", "1", false},
                                                  {"tracker", "template", true}}) {
    finder.set(property, value);
    fail_unless(by_template() == expected, "%s=%s", property, value);
  }
}

ELEMENT_TEST(without_tracks_peaks_have_no_id) {
  const World world;
  Finder finder("threshold=0.9 template=" + world.file);
  assert_track(only(finder.find(world.frame({{200, 100}}))), 0, "none");
}

}  // namespace
