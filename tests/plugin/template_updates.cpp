// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Templates that adapt: targets whose looks change slowly are kept, and templates are not updated
// from what they should not be.
#include <algorithm>

#include "moving_patch.hpp"
#include "screen.hpp"

namespace {

constexpr int changes = 60;  ///< frames in which a patch becomes another one

/// A patch that turns into another one while it moves.
struct Changing : World {
  Gray other = texture(patch_size, patch_size, 70);

  static Place place(int i) { return {40 + 2 * i, 30 + i}; }
  Gray look(int i) const {
    const int share = std::clamp(i, 0, changes);
    Gray mixed = patch;
    for (std::size_t k = 0; k < mixed.pixels.size(); ++k)
      mixed.pixels[k] = static_cast<std::uint8_t>(
          (patch.pixels[k] * (changes - share) + other.pixels[k] * share) / changes);
    return mixed;
  }
  Gray with(const Gray& image, Place place) const {
    Gray frame = background;
    paste(frame, image, place.x, place.y);
    return frame;
  }
  Gray at(int i) const { return with(look(i), place(i)); }
};

/// Without regard to the image that the template started from.
std::string updating(const World& world, const std::string& more = "") {
  return settings_for(world, "threshold=0.7 template-update=0.1 template-update-score=-1 " + more);
}

/// Turns the target into the other patch, complete at place(changes).
void change(Finder& finder, const Changing& world) {
  for (int i = 0; i <= changes; ++i) {
    const Peak peak = only(finder.find(world.at(i)));
    assert_track(peak, 1, i < 2 ? "tentative" : "tracked");
    assert_at(peak, world.place(i).x, world.place(i).y);
  }
}

ELEMENT_TEST(a_target_that_changes_is_held) {
  const Changing world;
  Finder finder(updating(world));
  change(finder, world);
  // The original template no longer matches.
  fail_unless(only(finder.find(world.with(world.patch, {200, 100}))).lost);
}

/// The next frame, which is here before a result leaves, is searched by what was learnt from it.
ELEMENT_TEST(it_is_held_with_frames_in_work) {
  const Changing world;
  Finder finder(updating(world, "async-depth=4"));
  const Gray first = world.at(0);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, first.width, first.height);
  for (int i = 0; i <= changes; ++i) {
    gst_harness_push(finder.harness, make_frame(GST_VIDEO_FORMAT_GRAY8, world.at(i)));
    GstBuffer* out = gst_harness_try_pull(finder.harness);
    assert_equals_int(out != nullptr, i > 0);
    if (i == 0) continue;
    const Peak peak = only(found_in(out));
    gst_buffer_unref(out);
    assert_equals_int(peak.lost, FALSE);
    assert_at(peak, world.place(i - 1).x, world.place(i - 1).y);
  }
}

/// What no longer resembles the first image is not taken up, so that this is never forgotten.
ELEMENT_TEST(the_first_image_is_not_forgotten) {
  const Changing world;
  Finder finder(updating(world, "template-update-score=0.6 redetect-interval=1"));
  for (int i = 0; i <= 2 * changes; ++i) finder.find(world.at(i));
  fail_unless(only(finder.find(world.at(2 * changes))).lost);
  const Peak back = found_again(finder, world.with(world.patch, {200, 100}));
  assert_at(back, 200, 100);
  fail_unless(back.score < 0.999, "it has taken up nothing");
}

ELEMENT_TEST(without_updates_it_is_lost) {
  const Changing world;
  Finder finder(updating(world, "template-update=0 redetect-interval=1"));
  for (int i = 0; i <= changes; ++i) finder.find(world.at(i));
  assert_track(only(finder.find(world.at(changes))), 1, "lost", true);
  assert_equals_float(found_again(finder, world.with(world.patch, {200, 100})).score, 1);
}

ELEMENT_TEST(every_method_holds_it) {
  const Changing world;
  for (const char* method : {"sqdiff", "sqdiff-normed", "ccorr-normed", "ccoeff"}) {
    Finder finder(updating(world, std::string("method=") + method));
    change(finder, world);
  }
}

/// A match below the score is followed, but the template is not updated from it.
ELEMENT_TEST(no_update_below_the_score) {
  const Changing world;
  const Gray frame = world.with(world.look(changes / 4), {200, 100});
  Finder finder(updating(world, "template-update-score=1"));
  settle(finder, world, {200, 100});
  const double score = only(finder.find(frame)).score;
  fail_unless(score > 0.8 && score < 0.99, "%f", score);
  for (int i = 0; i < 10; ++i) fail_unless(only(finder.find(frame)).score == score);
  finder.set("template-update-score", "0.8");
  finder.find(frame);
  double before = score;
  for (int i = 0; i < 10; ++i) {
    const double now = only(finder.find(frame)).score;
    fail_unless(now > before, "%f after %f", now, before);
    before = now;
  }
  fail_unless(before > 0.98, "%f", before);
}

/// Templates are updated neither from tentative nor from lost targets.
ELEMENT_TEST(only_tracked_targets_update) {
  const Changing world;
  Finder finder(updating(world,
                         "template-update=1 template-update-score=-1 redetect-interval=1 "
                         "min-frames-for-lost=1"));
  const Gray changed = world.with(world.look(changes / 4), {200, 100});
  const double first = only(finder.find(changed)).score;
  fail_unless(only(finder.find(changed)).score == first);  // tentative
  for (int i = 0; i < 5; ++i) fail_unless(finder.find(black()).peaks.empty());
  for (int i = 0; i < 3; ++i) fail_unless(only(finder.find(changed)).score == first);
  assert_equals_float(only(finder.find(changed)).score, 1);  // tracked in the frame before
  for (int i = 0; i < 5; ++i) fail_unless(only(finder.find(black())).lost);
  assert_equals_float(found_again(finder, changed, 2).score, 1);
}

ELEMENT_TEST(at_the_frames_edges) {
  const World world;
  for (const Place place : {Place{0, 0},
                            {frame_width - patch_size, 0},
                            {frame_width - patch_size, frame_height - patch_size}}) {
    Finder finder(updating(world, "subpixel=true"));
    for (int i = 0; i < 6; ++i)
      assert_equals_float(only(finder.find(world.frame({place}))).score, 1);
  }
}

ELEMENT_TEST(templates_that_come_and_go_leave_it) {
  const Changing world;
  const Gray second = texture(20, 12, 51);
  const std::string second_file = save(second, "second.png");
  Finder finder(updating(world));
  change(finder, world);
  Gray frame = world.at(changes);
  const double score = only(finder.find(frame)).score;
  fail_unless(score > 0.9, "%f", score);

  paste(frame, second, 250, 20);
  finder.set("template-update", "0");
  finder.set("templates", array_of({second_file}));
  Found found = finder.find(frame);
  assert_equals_int(found.peaks.size(), 2);
  assert_track(found.peaks[0], 1, "tracked");
  fail_unless(found.peaks[0].score >= score);
  assert_equals_float(found.peaks[1].score, 1);
  finder.set("template-update", "0.5");
  for (int i = 0; i < 20; ++i) found = finder.find(frame);
  assert_equals_float(found.peaks[0].score, 1);
  finder.set("templates", array_of({}));
  assert_equals_float(only(finder.find(frame)).score, 1);
}

/// With several targets the template is updated from the best one, wherever it is.
ELEMENT_TEST(of_several_targets_the_best_counts) {
  const Changing world;
  Finder finder(updating(world, "max-peaks=2 template-update=0.5 redetect-interval=1"));
  Gray frame = world.with(world.look(10), {200, 100});
  paste(frame, world.look(20), 30, 40);
  for (int i = 0; i < 12; ++i) finder.find(frame);
  const Found found = finder.find(frame);
  assert_equals_int(found.peaks.size(), 2);
  assert_at(found.peaks[0], 200, 100);
  assert_equals_float(found.peaks[0].score, 1);
  fail_unless(found.peaks[1].score < 0.99);
}

/// The live template has the pixels of the previous caps.
ELEMENT_TEST(other_caps_begin_with_the_image) {
  const Changing world;
  Finder finder(updating(world));
  change(finder, world);
  const Gray smaller = crop(world.frame({{200, 100}}), 20, 10, 260, 150);
  assert_equals_float(only(finder.find(smaller)).score, 1);
}

ELEMENT_TEST(the_response_is_of_what_it_has_become) {
  const Changing world;
  Finder finder(updating(world));
  Screen screen(finder.element);
  change(finder, world);
  for (int i = 0; i < 50; ++i) finder.find(world.at(changes));
  const Gray image = screen.image(frame_width, frame_height);
  const Place place = world.place(changes);
  assert_equals_int(image.at(place.x, place.y), 255);
}

}  // namespace
