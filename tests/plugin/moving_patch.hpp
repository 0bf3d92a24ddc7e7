// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Shared by the tests of tracks: frames of a texture with a patch at given places, and checks of
// the targets found in them.
#pragma once

#include <initializer_list>
#include <string>

#include "support.hpp"

inline constexpr int frame_width = 320, frame_height = 200, patch_size = 16;

struct Place {
  int x, y;
};

/// A background and a patch that is not part of it.
struct World {
  Gray background = texture(frame_width, frame_height, 1);
  Gray patch = texture(patch_size, patch_size, 50);
  std::string file = save(patch, "patch.png");

  Gray frame(std::initializer_list<Place> places) const {
    Gray image = background;
    for (const auto& [x, y] : places) paste(image, patch, x, y);
    return image;
  }
};

inline Gray black() { return Gray(frame_width, frame_height); }

/// The end of the launch line, for exact places and a margin of few pixels.
inline std::string settings_for(const World& world, const std::string& more = "") {
  return "track=true tracker=template subpixel=false threshold=0.9 search-margin=12 "
         "template-update=0 template=" +
         world.file + " " + more;
}

inline void assert_track(const Peak& peak, guint64 id, const char* state, bool lost = false) {
  assert_equals_uint64(peak.id, id);
  assert_text(peak.state, state);
  assert_equals_int(peak.lost, lost);
}

/// The only target of a frame.
inline Peak only(const Found& found) {
  assert_equals_int(found.peaks.size(), 1);
  return found.peaks[0];
}

inline const Peak& with_id(const Found& found, guint64 id) {
  for (const Peak& peak : found.peaks)
    if (peak.id == id) return peak;
  fail("there is no id %" G_GUINT64_FORMAT, id);
  return found.peaks.front();
}

/// Shows an image, which a lost target is in, until three detections have confirmed it.
inline Peak found_again(Finder& finder, const Gray& image, guint64 id = 1) {
  for (int i = 0; i < 2; ++i) assert_track(only(finder.find(image)), id, "tentative", true);
  const Peak peak = only(finder.find(image));
  assert_track(peak, id, "tracked");
  return peak;
}

/// Shows a patch at rest until it is tracked.
inline void settle(Finder& finder, const World& world, Place place) {
  for (int i = 0; i < 3; ++i) finder.find(world.frame({place}));
}
