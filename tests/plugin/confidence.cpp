// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The property `min-confidence` without tracks: places that are there, that are not, and that are
// one of many.
#include "moving_patch.hpp"

namespace {

std::string searched(const World& world, const std::string& more) {
  return "template=" + world.file + " " + more;
}

Gray twelve(const World& world) {
  Gray image = world.background;
  for (int i = 0; i < 12; ++i) paste(image, world.patch, 10 + 50 * (i % 6), 20 + 90 * (i / 6));
  return image;
}

ELEMENT_TEST(none_unless_asked_for) {
  const World world;
  Finder finder(searched(world, ""));
  const Peak peak = only(finder.find(world.frame({{200, 100}})));
  assert_equals_float(peak.confidence, -1);
  assert_equals_float(peak.similarity, 1);
}

ELEMENT_TEST(what_is_there_is_reported) {
  const World world;
  Finder finder(searched(world, "min-confidence=0.5"));
  const Peak peak = only(finder.find(world.frame({{200, 100}})));
  fail_unless(peak.confidence > 0.9 && peak.confidence < 1, "%f", peak.confidence);
  assert_equals_float(peak.similarity, 1);
  assert_at(peak, 200, 100, 0.1);
}

ELEMENT_TEST(what_is_not_there_is_not) {
  const World world;
  Finder finder(searched(world, "threshold=0.1 min-confidence=0"));
  const Peak unsure = only(finder.find(world.background));
  fail_unless(unsure.confidence < 0.3, "%f", unsure.confidence);
  finder.set("min-confidence", "0.5");
  assert_equals_int(finder.find(world.background).peaks.size(), 0);
  assert_equals_int(finder.find(Gray(frame_width, frame_height)).peaks.size(), 0);
  assert_equals_int(finder.find(world.frame({{200, 100}})).peaks.size(), 1);
  finder.set("min-confidence", "-1");
  assert_equals_float(only(finder.find(world.background)).confidence, -1);
}

ELEMENT_TEST(one_of_twelve_is_not_sure) {
  const World world;
  const Gray image = twelve(world);
  Finder one(searched(world, "min-confidence=0 max-peaks=1"));
  const Peak peak = only(one.find(image));
  assert_equals_float(peak.similarity, 1);
  fail_unless(peak.confidence < 0.25, "%f", peak.confidence);
  Finder all(searched(world, "min-confidence=0.5 max-peaks=12"));
  assert_equals_int(all.find(image).peaks.size(), 12);
}

/// Tracks are as sure as without the property, or as it says.
ELEMENT_TEST(tracks_have_their_own) {
  const World world;
  for (const char* least : {"", "min-confidence=-1", "min-confidence=0.4"}) {
    Finder finder(settings_for(world, least));
    for (int i = 0; i < 4; ++i) {
      const Peak peak = only(finder.find(world.frame({{200, 100}})));
      assert_track(peak, 1, i < 2 ? "tentative" : "tracked");
      fail_unless(peak.confidence > 0.9, "%f", peak.confidence);
      assert_equals_float(peak.similarity, -1);
    }
  }
}

}  // namespace
