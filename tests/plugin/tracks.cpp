// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The property `track` on real frames: patches that move over a texture, cross, hide, jump and
// reappear.
#include <cmath>
#include <map>

#include "moving_patch.hpp"

namespace {

ELEMENT_TEST(a_moving_patch_keeps_its_id) {
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

/// Its box reaches beyond the frame; of that the ROI meta has what is inside.
ELEMENT_TEST(what_leaves_is_claimed_and_its_roi_stays_inside) {
  const World world;
  const int size = 40;
  const Gray patch = texture(size, size, 50);
  Finder finder("track=true tracker=filter template=" + save(patch, "leaves.png"));
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  int more_than_half = 0;
  for (int x = 240; x < frame_width; x += 2) {
    Gray image = world.background;
    const int seen = std::min(size, frame_width - x);
    paste(image, crop(patch, 0, 0, seen, size), x, 80);
    GstBuffer* out = finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, image));
    const auto* roi = gst_buffer_get_video_region_of_interest_meta(out);
    for (const Peak& peak : claims(found_in(out))) {
      fail_unless(roi != nullptr);
      assert_at(peak, x, 80, 8);
      assert_equals_int(roi->x, std::lround(peak.x));
      assert_equals_int(roi->x + roi->w,
                        std::min<long>(std::lround(peak.x) + peak.width, frame_width));
      more_than_half += peak.x + peak.width / 2 > frame_width;
    }
    gst_buffer_unref(out);
  }
  fail_unless(more_than_half > 0);
}

/// Peaks in windows equal those in whole frames to the last bit, also near the edges.
ELEMENT_TEST(windows_and_whole_frames_agree) {
  const World world;
  for (const char* more : {"", "prefilter-sigma=1.2", "method=sqdiff-normed"}) {
    const std::string rest = "threshold=0.6 template=" + world.file + " " + more;
    Finder tracking("track=true tracker=template search-margin=10 " + rest), searching(rest);
    for (int i = 0; i < 34; ++i) {
      const Gray image = world.frame({{9 * i, i % 2 ? 0 : 3}});
      const Peak tracked = only(tracking.find(image)), found = only(searching.find(image));
      fail_unless(tracked.x == found.x && tracked.y == found.y && tracked.score == found.score,
                  "%s, frame %d: %f,%f %f is not %f,%f %f", more, i, tracked.x, tracked.y,
                  tracked.score, found.x, found.y, found.score);
    }
  }
}

/// A copy outside the window is ignored, though in a whole frame it would come first.
ELEMENT_TEST(elsewhere_is_not_searched) {
  const World world;
  Finder finder(settings_for(world));
  settle(finder, world, {200, 100});
  for (int i = 0; i < 30; ++i)
    assert_at(only(finder.find(world.frame({{20, 20}, {200, 100}}))), 200, 100);
}

ELEMENT_TEST(an_occluder_hides_it_for_a_while) {
  const World world;
  Finder finder(settings_for(world, "redetect-interval=4 min-frames-for-lost=3"));
  int lost = 0;
  for (int i = 0; i < 40; ++i) {
    const Place place{10 + 6 * i, 90};
    Gray image = world.frame({place});
    paste(image, texture(80, 60, 9), 100, 70);
    const bool hidden = place.x + patch_size > 100 && place.x < 180;
    const Peak peak = only(finder.find(image));
    assert_equals_uint64(peak.id, 1);
    if (!hidden && !peak.lost) {
      assert_at(peak, place.x, place.y);
    } else {
      const bool perhaps_found = !hidden && peak.state == "tentative";
      assert_track(peak, 1, ++lost < 3 ? "tracked" : perhaps_found ? "tentative" : "lost", true);
      assert_at(peak, 82, 90);  // the last one seen
      assert_equals_float(peak.score, 0);
      assert_equals_float(peak.confidence, 0);
      // A whole frame comes every fourth, and three detections confirm it.
      fail_unless(hidden || place.x < 180 + 6 * (4 + 2), "lost for longer than that takes");
    }
  }
  fail_unless(lost >= 16);
}

ELEMENT_TEST(two_that_cross_keep_their_ids) {
  const World world;
  Finder finder(settings_for(world, "max-peaks=2 redetect-interval=3"));
  std::map<guint64, int> direction;
  for (int i = 0; i < 40; ++i) {
    // The first hides the second meanwhile.
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

ELEMENT_TEST(a_second_target_appears) {
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

ELEMENT_TEST(a_cut_to_black_and_back) {
  const World world;
  Finder finder(settings_for(world, "min-frames-for-lost=2 redetect-interval=1"));
  settle(finder, world, {200, 100});
  for (int i = 0; i < 20; ++i)
    assert_track(only(finder.find(black())), 1, i < 1 ? "tracked" : "lost", true);
  assert_at(found_again(finder, world.frame({{40, 150}})), 40, 150);
}

ELEMENT_TEST(a_jump_beyond_the_margin) {
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
  assert_at(found_again(finder, world.frame({{30, 20}})), 30, 20);
}

ELEMENT_TEST(what_showed_once_is_gone) {
  const World world;
  Finder finder(settings_for(world, "redetect-interval=1"));
  assert_track(only(finder.find(world.frame({{200, 100}}))), 1, "tentative");
  fail_unless(finder.find(world.background).peaks.empty());
  assert_track(only(finder.find(world.frame({{200, 100}}))), 2, "tentative");
}

ELEMENT_TEST(interval_skips_frames) {
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

/// A target that goes out of the region ends; windows stay inside.
ELEMENT_TEST(search_region_bounds_the_windows) {
  const World world;
  Finder finder(settings_for(world, "search-region=<100,50,80,60>"));
  for (int i = 0; i < 12; ++i) {
    const Place place{102 + 8 * i, 60};
    const Found found = finder.find(world.frame({place}));
    assert_equals_int(found.peaks.size(), place.x + patch_size > 180 ? 0 : 1);
  }
}

/// A place is reported only if it is sure enough.
ELEMENT_TEST(min_confidence) {
  const World world;
  Finder finder(settings_for(world, "min-confidence=0.96 redetect-interval=1"));
  for (int i = 0; i < 5; ++i)  // the formula's most is 0.95
    fail_unless(finder.find(world.frame({{200, 100}})).peaks.empty());
  finder.set("min-confidence", "0.9");
  settle(finder, world, {200, 100});
  const Peak sure = only(finder.find(world.frame({{200, 100}})));
  fail_unless(sure.confidence > 0.9 && sure.confidence < 0.96, "%f", sure.confidence);
  finder.set("min-confidence", "0.96");
  const Peak unsure = only(finder.find(world.frame({{200, 100}})));
  assert_track(unsure, 1, "tracked", true);
  assert_equals_float(unsure.confidence, 0);
}

/// Its identical copy appears near by, and then the target is hidden.
ELEMENT_TEST(a_copy_near_by_is_not_taken) {
  const World world;
  Finder finder(settings_for(world, "search-margin=40 recheck-interval=0"));
  settle(finder, world, {200, 100});
  for (int i = 0; i < 20; ++i)
    assert_at(only(finder.find(world.frame({{200, 100}, {230, 110}}))), 200, 100);
}

/// Once in a while all of the frame is searched for a better place.
ELEMENT_TEST(a_mistake_is_put_right) {
  const World world;
  Finder finder(settings_for(world, "threshold=0.5 recheck-interval=8"));
  Gray similar = world.patch;
  const Gray other = texture(patch_size, patch_size, 77);
  for (std::size_t i = 0; i < similar.pixels.size(); ++i)
    similar.pixels[i] =
        static_cast<std::uint8_t>((3 * similar.pixels[i] + 2 * other.pixels[i]) / 5);
  Gray mistaken = world.background;
  paste(mistaken, similar, 40, 40);
  for (int i = 0; i < 10; ++i) finder.find(mistaken);
  assert_at(only(finder.find(mistaken)), 40, 40);
  Gray both = mistaken;
  paste(both, world.patch, 250, 150);
  int frames = 0;
  Peak peak = only(finder.find(both));
  for (; peak.x == 40 && frames < 50; peak = only(finder.find(both))) ++frames;
  assert_track(peak, 1, "tracked");
  assert_at(peak, 250, 150);
  fail_unless(frames >= 2 && frames < 8 + 3, "%d frames", frames);
}

ELEMENT_TEST(as_fast_as_its_size) {
  const World world;
  Finder finder(settings_for(world, "search-margin=8"));
  for (int i = 0; i < 17; ++i) {
    const Peak peak = only(finder.find(world.frame({{18 * i, 100 + i}})));
    assert_equals_uint64(peak.id, 1);
    fail_unless(!peak.lost, "frame %d", i);
  }
}

/// What has become of targets: counted, and told in messages.
ELEMENT_TEST(targets_are_counted) {
  const World world;
  Finder finder(settings_for(world, "redetect-interval=1 min-frames-for-lost=2 forget-after=6"));
  settle(finder, world, {200, 100});
  for (int i = 0; i < 4; ++i) finder.find(black());
  found_again(finder, world.frame({{200, 100}}));
  for (int i = 0; i < 8; ++i) finder.find(black());
  for (int x = 200; x + patch_size <= frame_width; x += 8) finder.find(world.frame({{x, 100}}));
  fail_unless(finder.find(black()).peaks.empty());
  for (const auto& [field, count] :
       {std::pair{"entered", 2}, {"left", 1}, {"lost", 2}, {"found", 1}, {"dropped", 1}})
    fail_unless(stat_of(finder.element, field) == guint64(count), "%s is not %d", field, count);

  std::string events;
  while (GstMessage* message = finder.message(GST_MESSAGE_ELEMENT)) {
    const GstStructure* told = gst_message_get_structure(message);
    if (gst_structure_has_name(told, "cudaxcorr-target")) {
      events += std::string(gst_structure_get_string(told, "event")) + " ";
      const GstStructure* target = gst_value_get_structure(gst_structure_get_value(told, "target"));
      guint64 id = 0;
      fail_unless(gst_structure_get_uint64(target, "id", &id));
      events += std::to_string(id) + " ";
    }
    gst_message_unref(message);
  }
  assert_text(events, "entered 1 lost 1 found 1 lost 1 dropped 1 entered 2 left 2 ");
}

ELEMENT_TEST(filters_keep_to_the_budget) {
  const World world;
  const Gray image = world.frame({{20, 20}, {120, 20}, {220, 20}, {20, 120}, {120, 120}});
  Finder finder(settings_for(world, "tracker=filter max-peaks=5 max-memory=7500000"));
  finder.find(image);
  assert_equals_int(finder.find(image).peaks.size(), 3);
  assert_warned(finder,
                "Filters follow 3 targets, as many as 'max-work' and 'max-memory' permit: no "
                "further one is followed",
                GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED);
  finder.set("max-memory", "0");
  for (int i = 0; i < 10; ++i) finder.find(image);
  assert_equals_int(finder.find(image).peaks.size(), 5);
}

/// A target as large as the frame, and a tiny one.
ELEMENT_TEST(targets_of_extreme_sizes) {
  const World world;
  const std::string all = save(world.background, "all.png");
  const std::string tiny = save(crop(world.background, 100, 80, 4, 4), "tiny.png");
  Finder large("track=true tracker=template min-confidence=0.5 template=" + all);
  Finder small("track=true tracker=template subpixel=false threshold=0.9 template=" + tiny);
  for (int i = 0; i < 5; ++i) {
    assert_at(only(large.find(world.background)), 0, 0, 1e-9);
    for (const Peak& peak : small.find(world.background).peaks)
      if (!peak.lost) assert_at(peak, 100, 80);
  }
  for (int i = 0; i < 5; ++i) {
    for (const Peak& peak : large.find(black()).peaks) fail_unless(peak.lost);
    for (const Peak& peak : small.find(black()).peaks) fail_unless(peak.lost);
  }
}

/// In windows too.
ELEMENT_TEST(of_two_templates_the_best_is_followed) {
  const Gray patch = texture(24, 20, 5);
  Gray alike = patch;
  for (int x = 0; x < alike.width; ++x)
    alike.at(x, 4) = static_cast<std::uint8_t>(255 - alike.at(x, 4));
  Finder finder(
      "track=true tracker=template subpixel=none threshold=0.6 best-template=true template=" +
      save(patch, "patch.png"));
  finder.set("templates", array_of({save(alike, "alike.png")}));
  for (int i = 0; i < 6; ++i) {
    Gray scene = texture(160, 120, 9);
    paste(scene, patch, 40 + 2 * i, 30 + i);
    const auto peaks = finder.find(scene).peaks;
    assert_equals_int(peaks.size(), 1);
    assert_equals_int(peaks[0].template_index, 0);
    assert_at(peaks[0], 40 + 2 * i, 30 + i);
  }
}

}  // namespace
