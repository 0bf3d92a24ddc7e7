// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Warped templates: what is reported of them, and settings that cannot be, which change
// nothing. Turns by quarters and a scale of one half are exact, so their truth needs no
// interpolation.
#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

#include "support.hpp"

namespace {

/// By 90 degrees, counter-clockwise as seen.
Gray quarter_turned(const Gray& image) {
  Gray turned(image.height, image.width);
  for (int y = 0; y < turned.height; ++y)
    for (int x = 0; x < turned.width; ++x) turned.at(x, y) = image.at(image.width - 1 - y, x);
  return turned;
}

Gray twice_as_large(const Gray& image) {
  Gray larger(2 * image.width, 2 * image.height);
  for (int y = 0; y < larger.height; ++y)
    for (int x = 0; x < larger.width; ++x) larger.at(x, y) = image.at(x / 2, y / 2);
  return larger;
}

const Peak& near(const Found& found, double x, double y) {
  const auto peak = std::ranges::find_if(
      found.peaks, [=](const Peak& p) { return std::abs(p.x - x) < 2 && std::abs(p.y - y) < 2; });
  fail_unless(peak != found.peaks.end(), "nothing at %g, %g", x, y);
  return *peak;
}

void assert_corners(const Peak& peak, const std::vector<double>& expected) {
  for (std::size_t i = 0; i < 8; ++i)
    fail_unless(std::abs(peak.corners[i] - expected[i]) < 0.3, "corner coordinate %d is %g, not %g",
                static_cast<int>(i), peak.corners[i], expected[i]);
}

double turn_between(double a, double b) { return std::abs(std::remainder(a - b, 360)); }

/// A patch of 32x24 at four angles in a scene of 160x120.
struct Quarters {
  Gray patch = crop(texture(64, 64, 5), 0, 0, 32, 24);
  Gray scene = texture(160, 120, 9);
  std::string file = save(patch, "patch.png");

  Quarters() {
    const Gray once = quarter_turned(patch), half = quarter_turned(once);
    paste(scene, patch, 20, 12);
    paste(scene, once, 90, 15);
    paste(scene, half, 24, 75);
    paste(scene, quarter_turned(half), 110, 70);
  }
};

ELEMENT_TEST(quarter_turns) {
  const Quarters quarters;
  Finder finder("angle-extent=360 max-peaks=8 threshold=0.9 template=" + quarters.file);
  const Found found = finder.find(quarters.scene);
  assert_equals_int(found.peaks.size(), 4);
  const struct {
    double x, y, angle;
  } expected[] = {{20, 12, 0}, {90, 15, 90}, {24, 75, 180}, {110, 70, -90}};
  for (const auto& [x, y, angle] : expected) {
    const Peak& peak = near(found, x, y);
    const bool lies = std::abs(angle) == 90;
    const double width = lies ? 24 : 32, height = lies ? 32 : 24;
    fail_unless(std::abs(peak.x - x) < 0.1 && std::abs(peak.y - y) < 0.1, "%g, %g", peak.x, peak.y);
    assert_equals_float(peak.width, width);
    assert_equals_float(peak.height, height);
    fail_unless(peak.score > 0.99, "score %g", peak.score);
    fail_unless(turn_between(peak.angle, angle) < 0.2, "%g instead of %g", peak.angle, angle);
    assert_equals_float(peak.scale, 1);
    fail_unless(std::abs(peak.center_x - (x + (width - 1) / 2)) < 0.1);
    fail_unless(std::abs(peak.center_y - (y + (height - 1) / 2)) < 0.1);
  }
  // From the template's upper left corner: a quarter turn brings that down.
  assert_corners(near(found, 20, 12), {19.5, 11.5, 51.5, 11.5, 51.5, 35.5, 19.5, 35.5});
  assert_corners(near(found, 90, 15), {89.5, 46.5, 89.5, 14.5, 113.5, 14.5, 113.5, 46.5});
}

/// One part has a bright dot, which is little of its score.
ELEMENT_TEST(parts_alike_at_any_angle) {
  Quarters quarters;
  for (int y = 0; y < 7; ++y)
    for (int x = 0; x < 7; ++x) {
      std::uint8_t& pixel = quarters.scene.at(98 + x, 27 + y);
      pixel = static_cast<std::uint8_t>(std::min(pixel + 60, 255));
    }
  Finder finder("angle-extent=360 max-peaks=8 threshold=0.8 template=" + quarters.file);
  assert_equals_int(finder.find(quarters.scene).peaks.size(), 4);
  finder.set("confirm-threshold", "12");
  const Found found = finder.find(quarters.scene);
  assert_equals_int(found.peaks.size(), 3);
  for (const auto& [x, y] : {std::pair(20, 12), std::pair(24, 75), std::pair(110, 70)})
    near(found, x, y);
  fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr);
}

/// Of noise nothing is left in a small image.
ELEMENT_TEST(everything_at_full_size) {
  Gray scene(160, 120), noise(32, 24);
  std::mt19937 random(3);
  for (Gray* image : {&scene, &noise})
    for (auto& pixel : image->pixels) pixel = static_cast<std::uint8_t>(random());
  paste(scene, quarter_turned(noise), 91, 15);
  const std::string settings =
      "angle-extent=360 pyramid-levels=2 threshold=0.9 template=" + save(noise, "noise.png");
  Finder coarse(settings);
  assert_equals_int(coarse.find(scene).peaks.size(), 0);
  Finder finder(settings + " exhaustive=true");
  const Found found = finder.find(scene);
  assert_equals_int(found.peaks.size(), 1);
  assert_equals_float(found.peaks[0].score, 1);
  fail_unless(turn_between(found.peaks[0].angle, 90) < 0.1);
  fail_unless(std::abs(found.peaks[0].x - 91) < 0.1 && std::abs(found.peaks[0].y - 15) < 0.1);
}

ELEMENT_TEST(twice_its_size) {
  const Gray patch = crop(texture(64, 64, 5), 0, 0, 32, 24);
  Gray scene = texture(160, 120, 9);
  paste(scene, twice_as_large(patch), 40, 30);
  Finder finder("scale-min=1.5 scale-max=2.2 template=" + save(patch, "patch.png"));
  const Found found = finder.find(scene);
  assert_equals_int(found.peaks.size(), 1);
  const Peak& peak = found.peaks[0];
  fail_unless(std::abs(peak.scale - 2) < 0.02, "scale %g", peak.scale);
  fail_unless(std::abs(peak.x - 40) < 0.3 && std::abs(peak.y - 30) < 0.3, "%g %g", peak.x, peak.y);
  assert_equals_float(peak.angle, 0);
  assert_equals_float(peak.width, 64);
  assert_equals_float(peak.height, 48);
}

ELEMENT_TEST(upright_ones_have_a_pose_too) {
  const Gray scene = texture(96, 64);
  Finder finder("subpixel=false template=" + save(crop(scene, 41, 22, 16, 12), "patch.png"));
  const Found found = finder.find(scene);
  assert_equals_int(found.peaks.size(), 1);
  const Peak& peak = found.peaks[0];
  assert_equals_float(peak.center_x, 48.5);
  assert_equals_float(peak.center_y, 27.5);
  assert_equals_float(peak.angle, 0);
  assert_equals_float(peak.scale, 1);
  assert_corners(peak, {40.5, 21.5, 56.5, 21.5, 56.5, 33.5, 40.5, 33.5});
}

/// In a frame that was halved across since.
ELEMENT_TEST(rescaled) {
  const Gray scene = texture(96, 64);
  Finder finder("subpixel=false template=" + save(crop(scene, 40, 22, 16, 12), "patch.png"));
  Peak peak = finder.find(scene).peaks[0];
  gst_cuda_xcorr_peak_rescale(&peak, 48, 64);
  assert_equals_float(peak.x, 20);
  assert_equals_float(peak.width, 8);
  assert_equals_float(peak.center_x, 23.5);
  assert_equals_float(peak.center_y, 27.5);
  assert_corners(peak, {19.5, 21.5, 27.5, 21.5, 27.5, 33.5, 19.5, 33.5});
}

ELEMENT_TEST(changes_while_playing) {
  const Quarters quarters;
  Finder finder("max-peaks=8 threshold=0.9 template=" + quarters.file);
  assert_equals_int(finder.find(quarters.scene).peaks.size(), 1);
  finder.set("angle-extent", "360");
  assert_equals_int(finder.find(quarters.scene).peaks.size(), 4);
  finder.set("angle-start", "60");
  finder.set("angle-extent", "60");
  assert_equals_int(finder.find(quarters.scene).peaks.size(), 1);
  finder.set("search-region", "<80,5,60,60>");
  assert_at(finder.find(quarters.scene).peaks[0], 90, 15, 0.1);
}

/// Each leaves a warning that names it; the old settings stay, and frames flow on.
ELEMENT_TEST(what_cannot_be_is_refused) {
  const Quarters quarters;
  Finder finder("angle-extent=360 max-peaks=8 threshold=0.9 template=" + quarters.file);
  assert_equals_int(finder.find(quarters.scene).peaks.size(), 4);
  const struct {
    const char *property, *value, *told;
    GQuark domain;
    int code;
  } refused[] = {
      {"method", "ccorr", "normed", GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS},
      {"prefilter-sigma", "1", "prefilter", GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS},
      {"scale-min", "0.1", "4 pixels", GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT},
      {"angle-step", "0.00001", "too many", GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT},
      {"pyramid-levels", "3", "pyramid_levels of 3", GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT}};
  for (const auto& [property, value, told, domain, code] : refused) {
    const std::string before = finder.get(property);
    finder.set(property, value);
    assert_equals_int(finder.find(quarters.scene).peaks.size(), 4);
    assert_warned(finder, told, domain, code);
    assert_text(finder.get(property), before);
  }
  assert_equals_int(finder.find(quarters.scene).peaks.size(), 4);
  fail_unless(finder.message(GST_MESSAGE_ERROR) == nullptr);
}

/// Nothing is found then, a warning says why, and frames flow on.
ELEMENT_TEST(larger_than_the_frame) {
  const Quarters quarters;
  for (const char* turned : {"", "angle-extent=20 "}) {
    Finder finder(turned + ("scale-max=6 threshold=0.9 template=" + quarters.file));
    assert_equals_int(finder.find(quarters.scene).peaks.size(), 1);
    fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr);
    finder.set("scale-min", "6");
    assert_equals_int(finder.find(quarters.scene).peaks.size(), 0);
    assert_warned(finder, "32x24 pixels at a scale of 6 is larger than the 160x120",
                  GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED);
  }
}

/// Nothing has worked yet, and another search would find other things: frames pass, and the
/// settings stay, to be mended one by one.
ELEMENT_TEST(what_cannot_be_from_the_start) {
  const Quarters quarters;
  Finder finder(
      "angle-extent=360 prefilter-sigma=1 pyramid-levels=3 max-peaks=8 threshold=0.8 "
      "template=" +
      quarters.file);
  for (const auto& [property, value, told] :
       {std::tuple("prefilter-sigma", "1", "prefilter"),
        std::tuple("prefilter-sigma", "0", "pyramid_levels of 3")}) {
    finder.set(property, value);
    for (int i = 0; i < 2; ++i) assert_equals_int(finder.find(quarters.scene).peaks.size(), 0);
    assert_warned(finder, told, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT);
    assert_text(finder.get("angle-extent"), "360");
    assert_text(finder.get("pyramid-levels"), "3");
  }
  finder.set("pyramid-levels", "-1");
  assert_equals_int(finder.find(quarters.scene).peaks.size(), 4);
  fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr, "a third warning");
}

/// A target that turns keeps its id, also by quarters, if its turns have no limit.
ELEMENT_TEST(tracks_turn) {
  const Gray patch = crop(texture(64, 64, 5), 0, 0, 32, 32);
  Finder finder("track=true track-angle=0 angle-extent=360 threshold=0.9 template=" +
                save(patch, "patch.png"));
  Gray turned = patch;
  guint64 id = 0;
  for (int i = 0; i < 8; ++i) {
    Gray scene = texture(160, 120, 9);
    paste(scene, turned, 40 + 3 * i, 30 + 2 * i);
    const Found found = finder.find(scene);
    fail_unless(found.peaks.size() == 1, "%d peaks in frame %d",
                static_cast<int>(found.peaks.size()), i);
    const Peak& peak = found.peaks[0];
    fail_if(peak.lost);
    fail_unless(turn_between(peak.angle, 90 * i) < 0.2, "%g in frame %d", peak.angle, i);
    if (i > 0) assert_equals_uint64(peak.id, id);
    id = peak.id;
    turned = quarter_turned(turned);
  }
}

}  // namespace
