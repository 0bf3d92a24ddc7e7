// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Templates of which not all pixels count: by alpha, a disc or a file, however they come and
// wherever they are searched for.
#include "masked_images.hpp"
#include "screen.hpp"

namespace {

const std::string search = "subpixel=false threshold=0.3 ";

/// What a template without its mask does.
void assert_misled(Finder& finder, const RoundPart& scene) {
  const Peak peak = only(finder.find(scene.frame()));
  assert_at(peak, scene.decoy_x, scene.decoy_y);
  fail_unless(peak.score < 0.95, "score %f", peak.score);
}

ELEMENT_TEST(a_disc_on_clutter) {
  const RoundPart scene;
  Finder finder(search + "mask=none template=" + save(scene.cut, "part.png"));
  assert_misled(finder, scene);
  finder.set("mask", "disc");
  for (const char* method : {"ccoeff-normed", "ccorr-normed", "sqdiff-normed", "sqdiff"}) {
    finder.set("method", method);
    const Peak peak = only(finder.find(scene.frame()));
    assert_at(peak, scene.x, scene.y);
    const double copy = std::string(method).starts_with("sqdiff") ? 0 : 1;
    fail_unless(peak.score == copy, "%s scores %.17g", method, peak.score);
  }
}

ELEMENT_TEST(alpha_on_clutter) {
  const RoundPart scene;
  const Gray alpha = disc_of(scene.size, scene.size, 0, 128, 127);
  Finder finder(search + "template=" + save(scene.cut, alpha, "part.png"));
  assert_text(finder.get("mask"), "alpha");
  assert_found_at(only(finder.find(scene.frame())), scene.x, scene.y);
  finder.set("mask", "none");
  assert_misled(finder, scene);
}

/// Then half of the largest decides.
ELEMENT_TEST(alpha_that_is_nowhere_opaque) {
  const RoundPart scene;
  const Gray alpha = disc_of(scene.size, scene.size, 0, 61, 30);
  Finder finder(search + "template=" + save(scene.cut, alpha, "part.png"));
  assert_found_at(only(finder.find(scene.frame())), scene.x, scene.y);
}

/// All of its pixels count, or those in the middle much more than those of the rim.
struct SoftPart {
  RoundPart scene;
  Gray weights = disc_of(RoundPart::size, RoundPart::size, 0, 40);
  Gray changed = scene.frame();  ///< where the part's rim has another texture

  SoftPart() {
    const Gray middle = disc_of(scene.size, scene.size, 4);
    for (std::size_t i = 0; i < weights.pixels.size(); ++i)
      if (middle.pixels[i]) weights.pixels[i] = 255;
    paste(changed, texture(scene.size, scene.size, 77), scene.disc, scene.x, scene.y);
    paste(changed, scene.part, middle, scene.x, scene.y);
  }

  /// ccoeff-normed by the definition, at the part's place.
  double expected() const {
    double n = 0, f = 0, t = 0, ff = 0, tt = 0, ft = 0;
    for (int y = 0; y < scene.size; ++y)
      for (int x = 0; x < scene.size; ++x) {
        const double w = weights.at(x, y), a = changed.at(scene.x + x, scene.y + y),
                     b = scene.cut.at(x, y);
        n += w, f += w * a, t += w * b, ff += w * a * a, tt += w * b * b, ft += w * a * b;
      }
    return (n * ft - f * t) / std::sqrt((n * ff - f * f) * (n * tt - t * t));
  }
};

ELEMENT_TEST(alpha_is_a_weight) {
  const SoftPart soft;
  const RoundPart& scene = soft.scene;
  const std::string file = save(scene.cut, soft.weights, "soft.png");
  Finder finder(search + "mask=weights template=" + file);
  assert_found_at(only(finder.find(scene.frame())), scene.x, scene.y);
  const Peak weighed = only(finder.find(soft.changed));
  assert_at(weighed, scene.x, scene.y);
  fail_unless(weighed.score == soft.expected(), "%.17g, not %.17g", weighed.score, soft.expected());
  fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr);
  // By a file of all brightnesses, whatever the alpha is.
  finder.set("mask-file", save(soft.weights, "weights.png"));
  fail_unless(only(finder.find(soft.changed)).score == weighed.score);
}

/// Angles are searched, too: what counts most is an exact copy, so the place is the upright one.
ELEMENT_TEST(alpha_is_a_weight_at_angles) {
  const SoftPart soft;
  Finder finder(search + "mask=weights angle-start=-20 angle-extent=40 template=" +
                save(soft.scene.cut, soft.weights, "soft.png"));
  const Peak weighed = only(finder.find(soft.changed));
  fail_unless(weighed.score == soft.expected(), "%.17g, not %.17g", weighed.score, soft.expected());
  fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr);
}

/// Tracks search windows for them: with a second look, too, which upright templates cannot have.
ELEMENT_TEST(alpha_is_a_weight_on_tracks) {
  const SoftPart soft;
  const RoundPart& scene = soft.scene;
  Finder finder(search +
                "mask=weights angle-start=-20 angle-extent=40 track=true tracker=template "
                "confirm-threshold=40 template=" +
                save(scene.cut, soft.weights, "soft.png"));
  for (int i = 0; i < 4; ++i) assert_found_at(only(finder.find(scene.frame())), scene.x, scene.y);
  fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr);
}

/// Then the pixels count that do at least half.
ELEMENT_TEST(weights_that_cannot_be_used) {
  const SoftPart soft;
  const std::string file = save(soft.scene.cut, soft.weights, "soft.png");
  Finder halves(search + "mask=alpha template=" + file),
      finder(search + "mask=weights template=" + file);
  for (Finder* each : {&halves, &finder}) each->set("method", "sqdiff");
  const Peak expected = only(halves.find(soft.changed)), found = only(finder.find(soft.changed));
  assert_at(found, expected.x, expected.y);
  fail_unless(found.score == expected.score);
  assert_warned(finder, "'mask=weights': pixels count whose weight is at least half",
                GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED);
}

ELEMENT_TEST(a_file_on_clutter) {
  const RoundPart scene;
  const std::string file = save(disc_of(scene.size, scene.size, 0, 1), "mask.png");
  Finder finder(search + "mask=none template=" + save(scene.cut, "part.png") +
                " mask-file=" + file);
  assert_text(finder.get("mask-file"), file);
  assert_found_at(only(finder.find(scene.frame())), scene.x, scene.y);
  finder.set("mask-file", "");
  assert_misled(finder, scene);
}

/// The pixels that count: with a frame of zeros sqdiff is the sum of their squares.
double sum_of_squares(const Gray& image, const Gray& mask) {
  double sum = 0;
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    if (mask.pixels[i]) sum += image.pixels[i] * image.pixels[i];
  return sum;
}

ELEMENT_TEST(discs_of_many_sizes) {
  for (const auto& [width, height, inset] :
       {std::tuple{16, 16, 0}, {15, 15, 0}, {31, 12, 0}, {20, 20, 3}, {20, 21, 9}, {9, 5, 2}}) {
    const Gray image = texture(width, height);
    Finder finder("method=sqdiff threshold=-1 mask=disc mask-inset=" + std::to_string(inset) +
                  " template=" + save(image, "image.png"));
    const Peak peak = only(finder.find(Gray(width, height)));
    assert_equals_float(peak.score, sum_of_squares(image, disc_of(width, height, inset)));
  }
}

/// Of the unmasked template everything is the same, as is the kernel.
ELEMENT_TEST(opaque_alpha_is_no_mask) {
  const RoundPart scene;
  const Gray opaque(scene.size, scene.size, 128);
  const std::string files[] = {save(scene.cut, "gray.png"), save(scene.cut, opaque, "opaque.png")};
  for (const char* method : {"ccoeff-normed", "sqdiff"}) {
    std::vector<Peak> peaks[2];
    std::string kernels[2];
    for (int i = 0; i < 2; ++i) {
      Finder finder(std::string("threshold=0.2 max-peaks=20 method=") + method +
                    " template=" + files[i]);
      finder.set_format(GST_VIDEO_FORMAT_RGB, frame_width, frame_height);
      peaks[i] = finder.find(scene.frame()).peaks;
      kernels[i] = finder.get("stats");
      kernels[i] = kernels[i].substr(kernels[i].find("kernel"));
    }
    fail_unless(peaks[0].size() > 3, "%d peaks", static_cast<int>(peaks[0].size()));
    assert_equals_int(peaks[0].size(), peaks[1].size());
    for (std::size_t i = 0; i < peaks[0].size(); ++i) {
      assert_at(peaks[1][i], peaks[0][i].x, peaks[0][i].y);
      fail_unless(peaks[1][i].score == peaks[0][i].score);
    }
    assert_text(kernels[1], kernels[0]);
  }
}

// ---- ways in which templates come -----------------------------------------------------------

ELEMENT_TEST(every_way_to_come) {
  const RoundPart scene;
  const Gray frame = scene.frame();
  const std::string gray = save(scene.cut, "part.png");
  const auto rgba = GST_VIDEO_FORMAT_RGBA;
  const Sample sample =
      make_sample(make_frame(rgba, scene.cut, scene.disc), rgba, scene.size, scene.size);
  Finder finder(search);
  finder.set("templates", array_of({save(scene.cut, scene.disc, "alpha.png")}));
  g_object_set(finder.element, "template-sample", sample.get(), nullptr);
  add(finder, sample);
  const auto assert_all = [&](std::size_t count) {
    const auto peaks = finder.find(frame).peaks;
    assert_equals_int(peaks.size(), count);
    for (const Peak& peak : peaks) assert_found_at(peak, scene.x, scene.y);
  };
  assert_all(3);
  add(finder, sample);
  add_file(finder, save(scene.cut, scene.disc, "again.png"));
  assert_all(5);

  finder.set("mask", "disc");
  finder.set("template", gray);
  add_file(finder, save(scene.cut, "other.png"));
  add(finder, sample_of(scene.cut));
  assert_all(8);
  gst_element_set_state(finder.harness->element, GST_STATE_NULL);
  finder.set("mask", "none");
  finder.set("mask-file", save(scene.disc, "mask.png"));
  gst_element_set_state(finder.harness->element, GST_STATE_PLAYING);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  assert_all(8);
}

/// A square patch of a frame, of which the round part is found on other clutter.
ELEMENT_TEST(captured_patches_are_masked) {
  const RoundPart scene;
  Finder finder(search + "enable-capture=true");
  finder.set_format(GST_VIDEO_FORMAT_RGBA, frame_width, frame_height);
  const Gray nothing(frame_width, frame_height);  // alpha of frames says nothing
  finder.set_format(GST_VIDEO_FORMAT_RGBA, frame_width, frame_height);
  gst_buffer_unref(finder.pass(make_frame(GST_VIDEO_FORMAT_RGBA, scene.frame(), nothing)));
  const guint id = capture(finder, scene.x, scene.y, scene.size, scene.size);
  fail_unless(id != 0);
  const Gray other = scene.frame({60, 30}, 9);
  fail_unless(only(finder.find(other)).score < 0.9);
  finder.set("mask", "disc");
  const Peak peak = only(finder.find(other));
  assert_found_at(peak, 60, 30);
  assert_equals_int(peak.template_id, id);
}

// ---- changes ----------------------------------------------------------------------------------

/// Between two frames; ids stay.
ELEMENT_TEST(masks_change_while_frames_flow) {
  const RoundPart scene;
  const std::string alpha = save(scene.cut, disc_of(scene.size, scene.size, 4), "alpha.png");
  for (const char* depth : {"1", "4"}) {
    Finder finder(search + "mask=none template=" + alpha + " async-depth=" + depth);
    finder.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
    guint id = 0;
    gst_harness_play(finder.harness);
    constexpr std::pair<const char*, const char*> changes[] = {
        {"mask", "none"},  {"mask", "disc"},       {"mask-inset", "7"},
        {"mask", "alpha"}, {"mask-file", "given"}, {"mask-file", ""}};
    const std::string file = save(scene.disc, "mask.png");
    for (const auto& [property, value] : changes) {
      finder.set(property, std::string(value) == "given" ? file : value);
      gst_harness_push(finder.harness, make_frame(GST_VIDEO_FORMAT_GRAY8, scene.frame()));
    }
    gst_harness_push_event(finder.harness, gst_event_new_eos());
    for (int i = 0; i < 6; ++i) {
      GstBuffer* out = gst_harness_pull(finder.harness);
      const Peak peak = only(found_in(out));
      gst_buffer_unref(out);
      if (i == 0)
        assert_at(peak, scene.decoy_x, scene.decoy_y);
      else
        assert_found_at(peak, scene.x, scene.y);
      if (i == 0) id = peak.template_id;
      assert_equals_int(peak.template_id, id);
    }
    fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr);
  }
}

// ---- tracks -----------------------------------------------------------------------------------

/// On clutter that changes, in windows; another mask is no other target.
ELEMENT_TEST(tracks_have_masks) {
  const RoundPart scene;
  Finder finder(
      "track=true tracker=template subpixel=false threshold=0.9 search-margin=12 template-update=0 "
      "mask=disc "
      "template=" +
      save(scene.cut, "part.png"));
  for (int i = 0; i < 12; ++i) {
    if (i == 8) finder.set("mask-inset", "2");
    const Place place{40 + 7 * i, 20 + 5 * i};
    const Peak peak = only(finder.find(scene.frame(place, 10u + static_cast<unsigned>(i))));
    assert_track(peak, 1, i < 2 ? "tentative" : "tracked");
    assert_found_at(peak, place.x, place.y);
  }
  finder.set("mask", "none");
  finder.set("threshold", "0.8");
  const Peak peak = only(finder.find(scene.frame({130, 80}, 30)));
  assert_track(peak, 1, "tracked", true);
}

/// Two parts of one image, which alpha tells apart.
ELEMENT_TEST(tracks_of_the_same_pixels_stay_apart) {
  constexpr int size = 20;
  const Gray image = texture(size, size, 50);
  Gray left(size, size), right(size, size);
  for (int y = 0; y < size; ++y)
    for (int x = 0; x < size; ++x) (x < size / 2 ? left : right).at(x, y) = 255;
  Gray frame = texture(frame_width, frame_height);
  paste(frame, image, left, 40, 50);
  paste(frame, image, right, 200, 90);
  const auto rgba = GST_VIDEO_FORMAT_RGBA;
  Finder finder("track=true tracker=template subpixel=false threshold=0.9 redetect-interval=1");
  const guint first = add(finder, make_sample(make_frame(rgba, image, left), rgba, size, size));
  add(finder, make_sample(make_frame(rgba, image, right), rgba, size, size));
  for (int i = 0; i < 4; ++i) finder.find(frame);
  const auto peaks = finder.find(frame).peaks;
  assert_equals_int(peaks.size(), 2);
  assert_found_at(peaks[0], 40, 50);
  assert_found_at(peaks[1], 200, 90);
  fail_unless(remove(finder, first));
  const Peak peak = only(finder.find(frame));
  assert_found_at(peak, 200, 90);
  assert_track(peak, peaks[1].id, "tracked");
}

/// What a target scores that is lost is what a window of zeros does.
ELEMENT_TEST(lost_targets_score_by_their_mask) {
  const RoundPart scene;
  Finder finder(
      "track=true tracker=template method=sqdiff threshold=0.95 subpixel=false mask=disc "
      "template=" +
      save(scene.cut, "part.png"));
  for (int i = 0; i < 4; ++i) assert_at(only(finder.find(scene.frame())), scene.x, scene.y);
  const Peak peak = only(finder.find(Gray(frame_width, frame_height)));
  fail_unless(peak.lost);
  assert_equals_float(peak.score, sum_of_squares(scene.cut, scene.disc));
}

/// Templates that adapt keep their masks: what passes behind the part has no part in it.
ELEMENT_TEST(templates_that_adapt_have_masks) {
  const RoundPart scene;
  Finder finder(
      "track=true tracker=template subpixel=false threshold=0.9 template-update=0.5 mask=disc "
      "template=" +
      save(scene.cut, "part.png"));
  for (unsigned i = 0; i < 10; ++i) {
    const Peak peak = only(finder.find(scene.frame({150, 80}, 10 + i)));
    assert_track(peak, 1, i < 2 ? "tentative" : "tracked");
    assert_found_at(peak, 150, 80);
  }
  finder.set("mask-inset", "1");
  assert_found_at(only(finder.find(scene.frame({150, 80}, 40))), 150, 80);
}

// ---- what else knows templates ----------------------------------------------------------------

ELEMENT_TEST(the_response_is_masked) {
  const RoundPart scene;
  Finder finder(search + "mask=disc template=" + save(scene.cut, "part.png"));
  Screen screen(finder.element);
  const auto brightness = [&](int x, int y) {
    finder.find(scene.frame());
    return screen.image(frame_width, frame_height).at(x, y);
  };
  assert_equals_int(brightness(scene.x, scene.y), 255);
  finder.set("mask", "none");
  fail_unless(brightness(scene.x, scene.y) < 230);
}

ELEMENT_TEST(tuning_knows_masks) {
  g_setenv("XDG_CACHE_HOME", temporary("cache").c_str(), TRUE);
  const RoundPart scene;
  Finder finder(search + "kernel=tune mask=disc template=" + save(scene.cut, "part.png"));
  assert_found_at(only(finder.find(scene.frame())), scene.x, scene.y);
  fail_unless(read_file(temporary("cache/cudaxcorr/tuned-kernels.txt")).find("masked") !=
              std::string::npos);
}

}  // namespace
