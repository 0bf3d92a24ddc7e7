// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Templates with one label: samples of one thing, which has one peak at a place and one track.
#include <filesystem>
#include <string>

#include "moving_patch.hpp"

namespace {

namespace fs = std::filesystem;

/// Two patches that show one thing, and their mixture, which resembles both.
struct Thing {
  Gray background = texture(frame_width, frame_height, 1);
  Gray day = texture(patch_size, patch_size, 50), night = texture(patch_size, patch_size, 60);
  std::string day_file, night_file;

  Thing() {
    const fs::path folder = temporary("samples");
    fs::create_directories(folder);
    day_file = folder / "day.png";
    night_file = folder / "night.png";
    fs::rename(save(day, "day.png"), day_file);
    fs::rename(save(night, "night.png"), night_file);
  }
  /// How much of it the day gives, in percent.
  Gray mixed(int share) const {
    Gray patch(patch_size, patch_size);
    for (int y = 0; y < patch_size; ++y)
      for (int x = 0; x < patch_size; ++x)
        patch.at(x, y) = (share * day.at(x, y) + (100 - share) * night.at(x, y)) / 100;
    return patch;
  }
  Gray frame(const Gray& patch, Place place) const {
    Gray image = background;
    paste(image, patch, place.x, place.y);
    return image;
  }
};

guint add_file(Finder& finder, const std::string& file, const char* label) {
  guint id = 0;
  g_signal_emit_by_name(finder.element, "add-template-file", file.c_str(), label, &id);
  fail_unless(id > 0);
  return id;
}

/// Such as "gate/day 10,20", in the order of the peaks.
std::string text_of(const Found& found) {
  std::string text;
  for (const Peak& peak : found.peaks)
    text += (text.empty() ? "" : " ") + peak.label + '/' + peak.sample + ' ' +
            std::to_string(std::lround(peak.x)) + ',' + std::to_string(std::lround(peak.y));
  return text;
}

ELEMENT_TEST(one_peak_at_a_place) {
  const Thing thing;
  Finder finder("threshold=0.6 subpixel=none max-peaks=3");
  add_file(finder, thing.day_file, "gate");
  add_file(finder, thing.night_file, "gate");
  assert_text(text_of(finder.find(thing.frame(thing.mixed(55), {40, 30}))), "gate/day 40,30");
  assert_text(text_of(finder.find(thing.frame(thing.mixed(45), {40, 30}))), "gate/night 40,30");
  Gray both = thing.frame(thing.mixed(55), {40, 30});
  paste(both, thing.mixed(30), 200, 90);
  assert_text(text_of(finder.find(both)), "gate/day 40,30 gate/night 200,90");
}

ELEMENT_TEST(max_peaks_counts_for_all_samples) {
  const Thing thing;
  Finder finder("threshold=0.6 subpixel=none max-peaks=1");
  add_file(finder, thing.day_file, "gate");
  add_file(finder, thing.night_file, "gate");
  Gray both = thing.frame(thing.mixed(55), {40, 30});
  paste(both, thing.night, 200, 90);
  assert_text(text_of(finder.find(both)), "gate/night 200,90");
}

/// What nobody has labelled may show anything.
ELEMENT_TEST(other_labels_are_other_things) {
  const Thing thing;
  Finder finder("threshold=0.6 subpixel=none max-peaks=1 templates=" +
                array_of({thing.day_file, thing.night_file}));
  assert_text(text_of(finder.find(thing.frame(thing.mixed(50), {40, 30}))),
              "day/day 40,30 night/night 40,30");
  Finder capturing("threshold=0.6 subpixel=none max-peaks=1 enable-capture=true");
  Gray both = thing.frame(thing.day, {40, 30});
  paste(both, thing.night, 200, 90);
  capturing.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  gst_buffer_unref(capturing.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, both)));
  for (const Place place : {Place{40, 30}, Place{200, 90}}) {
    guint id = 0;
    g_signal_emit_by_name(capturing.element, "capture-template", place.x, place.y, patch_size,
                          patch_size, &id);
    fail_unless(id > 0);
  }
  assert_text(text_of(capturing.find(both)), "captured/captured 40,30 captured/captured 200,90");
}

/// By day it is one sample, by night the other, and between both.
ELEMENT_TEST(samples_share_a_track) {
  const Thing thing;
  for (const char* tracker : {"template", "filter"}) {
    Finder finder(std::string("track=true subpixel=none threshold=0.6 search-margin=12 "
                              "template-update=0 tracker=") +
                  tracker);
    add_file(finder, thing.day_file, "gate");
    const guint night = add_file(finder, thing.night_file, "gate");
    Peak peak;
    for (int i = 0; i <= 50; ++i) {
      const Place place{20 + 2 * i, 60};
      peak = only(finder.find(thing.frame(thing.mixed(100 - 2 * i), place)));
      fail_unless(!peak.lost && peak.id == 1, "%s loses it in frame %d", tracker, i);
      assert_at(peak, place.x, place.y, 1.5);
      assert_text(peak.label, "gate");
    }
    if (std::string(tracker) == "template") {
      assert_text(peak.sample, "night");
      assert_equals_uint64(peak.template_id, night);
    }
  }
}

/// A track goes on when the sample that it was found by is removed.
ELEMENT_TEST(a_sample_goes_and_its_track_stays) {
  const Thing thing;
  Finder finder(
      "track=true tracker=template subpixel=none threshold=0.6 search-margin=12 template-update=0");
  const guint day = add_file(finder, thing.day_file, "gate");
  add_file(finder, thing.night_file, "gate");
  const Gray image = thing.frame(thing.mixed(55), {100, 60});
  for (int i = 0; i < 5; ++i) assert_text(only(finder.find(image)).sample, "day");
  gboolean removed = FALSE;
  g_signal_emit_by_name(finder.element, "remove-template", day, &removed);
  fail_unless(removed);
  const Peak peak = only(finder.find(image));
  assert_track(peak, 1, "tracked");
  assert_text(peak.sample, "night");
}

}  // namespace
