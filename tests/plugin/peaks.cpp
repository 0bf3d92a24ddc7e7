// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which peaks are reported: banks, threshold, number, non-maximum suppression, regions, methods,
// scores of extreme images, fractions of a pixel.
#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>

#include "support.hpp"

namespace {

/// The scene with the patch at three places, the last two with growing noise.
Gray three_copies(const Gray& patch) {
  Gray scene = texture(120, 80, 9);
  paste(scene, patch, 10, 10);
  Gray noisy = patch;
  const Gray noise = texture(patch.width, patch.height, 77);
  for (int step = 0; step < 2; ++step) {
    for (std::size_t i = 0; i < noisy.pixels.size(); ++i)
      noisy.pixels[i] = static_cast<std::uint8_t>((3 * noisy.pixels[i] + noise.pixels[i]) / 4);
    paste(scene, noisy, step ? 80 : 50, step ? 50 : 20);
  }
  return scene;
}

ELEMENT_TEST(bank_equals_single_runs) {
  const Gray scene = texture(120, 90);
  std::vector<std::string> files;
  for (int i = 0; i < 5; ++i)
    files.push_back(save(crop(scene, 7 * i, 11 * i, i % 2 ? 16 : 12 + i, i % 2 ? 16 : 20 - i),
                         "part" + std::to_string(i) + ".png"));
  const std::string settings = "threshold=0.3 max-peaks=4 ";

  std::vector<Peak> singles;
  for (guint i = 0; i < files.size(); ++i) {
    Finder finder(settings + "template=" + files[i]);
    for (Peak peak : finder.find(scene).peaks) {
      peak.template_index = i;
      singles.push_back(peak);
    }
  }
  Finder finder(settings + "template=" + files[0]);
  finder.set("templates", array_of({files.begin() + 1, files.end()}));
  const auto bank = finder.find(scene).peaks;

  fail_unless(singles.size() > files.size());
  assert_equals_int(bank.size(), singles.size());
  for (std::size_t i = 0; i < bank.size(); ++i) {
    assert_equals_int(bank[i].template_index, singles[i].template_index);
    assert_text(bank[i].label, singles[i].label);
    fail_unless(bank[i].x == singles[i].x && bank[i].y == singles[i].y);
    fail_unless(bank[i].score == singles[i].score);
  }
}

ELEMENT_TEST(threshold_cuts) {
  const Gray patch = texture(16, 16, 5);
  Finder finder("subpixel=false max-peaks=10 threshold=0.7 template=" + save(patch, "patch.png"));
  const Gray scene = three_copies(patch);
  const auto all = finder.find(scene).peaks;
  assert_equals_int(all.size(), 3);
  finder.set("threshold", std::to_string((all[1].score + all[2].score) / 2));
  assert_equals_int(finder.find(scene).peaks.size(), 2);
  finder.set("threshold", "1");
  assert_equals_int(finder.find(scene).peaks.size(), 1);
}

ELEMENT_TEST(best_first_and_at_most_max_peaks) {
  const Gray patch = texture(16, 16, 5);
  Finder finder("subpixel=false max-peaks=2 threshold=0.5 template=" + save(patch, "patch.png"));
  const auto best = finder.find(three_copies(patch)).peaks;
  assert_equals_int(best.size(), 2);
  assert_at(best[0], 10, 10);
  assert_at(best[1], 50, 20);
  fail_unless(best[0].score > best[1].score);
}

ELEMENT_TEST(tiles_give_one_peak_each) {
  const Gray tile = texture(16, 16, 3);
  Gray scene(320, 240);
  for (int y = 0; y < scene.height; y += 16)
    for (int x = 0; x < scene.width; x += 16) paste(scene, tile, x, y);
  Finder finder("subpixel=false max-peaks=1000 threshold=0.9 template=" + save(tile, "tile.png"));
  const auto peaks = finder.find(scene).peaks;
  assert_equals_int(peaks.size(), 300);
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    assert_at(peaks[i], 16.0 * (i % 20), 16.0 * (i / 20));
    fail_unless(peaks[i].score == 1.0);
  }
}

ELEMENT_TEST(distance_suppresses) {
  const Gray tile = texture(16, 16, 3);
  Gray scene(160, 16);
  for (int x = 0; x < scene.width; x += 16) paste(scene, tile, x, 0);
  Finder finder("max-peaks=20 threshold=0.9 template=" + save(tile, "tile.png"));
  assert_equals_int(finder.find(scene).peaks.size(), 10);
  // Of equal peaks closer than 17 pixels the leftmost counts, and what it suppresses does not.
  finder.set("min-peak-distance", "17");
  const auto peaks = finder.find(scene).peaks;
  assert_equals_int(peaks.size(), 5);
  for (int i = 0; i < 5; ++i) assert_at(peaks[i], 32 * i, 0);
}

ELEMENT_TEST(distance_past_the_frame_is_the_frame) {
  const Gray scene = texture(160, 90);
  Finder finder("max-peaks=20 threshold=-1 template=" + save(crop(scene, 31, 22, 16, 12), "a.png"));
  for (const char* distance : {"160", "1000", "2147483646", "2147483647"}) {
    finder.set("min-peak-distance", distance);
    assert_equals_int(finder.find(scene).peaks.size(), 1);
  }
}

/// A third of it lies outside, above and to the left.
ELEMENT_TEST(parts_across_the_border) {
  const Gray patch = texture(24, 20, 5);
  Gray scene = texture(100, 80, 9);
  paste(scene, crop(patch, 5, 3, 19, 17), 0, 0);
  Finder finder("threshold=0.9 template=" + save(patch, "patch.png"));
  assert_equals_int(finder.find(scene).peaks.size(), 0);
  finder.set("overhang", "0.35");
  const auto peaks = finder.find(scene).peaks;
  assert_equals_int(peaks.size(), 1);
  assert_at(peaks[0], -5, -3, 0.1);
  assert_equals_float(peaks[0].score, 1);
  assert_equals_float(peaks[0].width, 24);
  if (std::string_view(backend()) == "cpu") return;
  finder.set("angle-extent", "20");
  finder.find(scene);
  const std::string text =
      text_of(finder.message(GST_MESSAGE_WARNING), GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
  fail_unless(text.find("searched by the CPU only") != text.npos, "%s", text.c_str());
}

ELEMENT_TEST(search_region_bounds_the_whole_match) {
  const Gray patch = texture(16, 16, 5);
  Finder finder("subpixel=false max-peaks=9 threshold=0.9 template=" + save(patch, "patch.png"));
  Gray scene = texture(100, 60);
  paste(scene, patch, 5, 5);
  paste(scene, patch, 70, 40);
  finder.set("search-region", "<70,40,16,16>");
  const auto exact = finder.find(scene).peaks;
  assert_equals_int(exact.size(), 1);
  assert_at(exact[0], 70, 40);
  finder.set("search-region", "<71,40,29,20>");
  assert_equals_int(finder.find(scene).peaks.size(), 0);
  finder.set("search-region", "<60,-30,1000,1000>");
  assert_equals_int(finder.find(scene).peaks.size(), 1);
  finder.set("search-region", "<>");
  assert_equals_int(finder.find(scene).peaks.size(), 2);
}

ELEMENT_TESTS(every_method_finds_the_copy, 0, 6) {
  const char* const methods[] = {"sqdiff",       "sqdiff-normed", "ccorr",
                                 "ccorr-normed", "ccoeff",        "ccoeff-normed"};
  // A patch of strong contrast on a weak background also has the greatest unnormed sums.
  Gray scene = texture(96, 64);
  for (auto& pixel : scene.pixels) pixel = static_cast<std::uint8_t>(64 + pixel / 16);
  Gray patch = texture(16, 16, 5);
  for (auto& pixel : patch.pixels) pixel = pixel < 128 ? 0 : 255;
  paste(scene, patch, 37, 29);
  Finder finder("subpixel=false threshold=0.9 method=" + std::string(methods[__i__]) +
                " template=" + save(patch, "patch.png"));
  const auto peaks = finder.find(scene).peaks;
  assert_equals_int(peaks.size(), 1);
  assert_at(peaks[0], 37, 29);

  double squares = 0, sum = 0;
  for (const auto pixel : patch.pixels) {
    squares += pixel * pixel;
    sum += pixel;
  }
  const double deviation = squares - sum * sum / 256;
  const double expected[] = {0, 0, squares, 1, deviation, 1};
  fail_unless(std::abs(peaks[0].score - expected[__i__]) <= 1e-12 * squares,
              "score %.17g not %.17g", peaks[0].score, expected[__i__]);
}

ELEMENT_TEST(sqdiff_of_equal_whites_is_zero) {
  Finder finder("method=sqdiff subpixel=false threshold=1 template=" +
                save(Gray(16, 16, 255), "white.png"));
  const auto peaks = finder.find(Gray(64, 48, 255)).peaks;
  assert_equals_int(peaks.size(), 1);
  assert_at(peaks[0], 0, 0);
  fail_unless(peaks[0].score == 0.0);
}

/// Without variance nothing matches by the default method at any threshold above zero.
ELEMENT_TEST(flat_frame_has_no_match) {
  Finder finder("threshold=0.01 template=" + save(texture(16, 16), "patch.png"));
  for (const int value : {0, 77, 255})
    assert_equals_int(finder.find(Gray(64, 48, static_cast<std::uint8_t>(value))).peaks.size(), 0);
}

ELEMENT_TEST(flat_frame_scores_zero) {
  Finder finder("threshold=0 template=" + save(texture(16, 16), "patch.png"));
  const auto peaks = finder.find(Gray(64, 48, 200)).peaks;
  assert_equals_int(peaks.size(), 1);
  fail_unless(peaks[0].score == 0.0, "score %.17g", peaks[0].score);
}

ELEMENT_TEST(template_equal_to_the_frame) {
  const Gray scene = texture(48, 36);
  Finder finder("max-peaks=10 threshold=-1 template=" + save(scene, "scene.png"));
  const auto peaks = finder.find(scene).peaks;
  assert_equals_int(peaks.size(), 1);
  assert_at(peaks[0], 0, 0);
  fail_unless(peaks[0].score == 1.0);
}

/// A band-limited pattern, shifted by dx, dy.
Gray waves(int width, int height, double dx, double dy) {
  constexpr double waves[][3] = {{0.21, 0.13, 0.3},
                                 {-0.17, 0.24, 1.1},
                                 {0.09, -0.31, 2.0},
                                 {0.33, 0.05, 0.7},
                                 {0.07, 0.18, 1.9}};
  Gray image(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      double value = 127.5;
      for (const auto& [fx, fy, phase] : waves)
        value += 22 * std::cos(fx * (x - dx) + fy * (y - dy) + phase);
      image.at(x, y) = static_cast<std::uint8_t>(std::lround(value));
    }
  return image;
}

ELEMENT_TEST(parts_of_a_pixel) {
  const Gray still = waves(96, 72, 0, 0);
  Finder finder("threshold=0.9 template=" + save(crop(still, 40, 30, 24, 24), "patch.png"));
  for (int tenth = -5; tenth <= 5; ++tenth) {
    const double dx = 0.1 * tenth, dy = -0.05 * tenth;
    const auto peaks = finder.find(waves(96, 72, dx, dy)).peaks;
    assert_equals_int(peaks.size(), 1);
    assert_at(peaks[0], 40 + dx, 30 + dy, 0.1);
  }
}

/// Also by what it was called when it was a boolean.
ELEMENT_TEST(ways_to_parts_of_a_pixel) {
  const Gray still = waves(96, 72, 0, 0);
  const std::string file = save(crop(still, 40, 30, 24, 24), "patch.png");
  for (const auto& [name, bound, value] : {std::tuple{"none", 0.0, "none"},
                                           {"false", 0.0, "none"},
                                           {"quadratic", 0.1, "quadratic"},
                                           {"least-squares", 0.02, "least-squares"},
                                           {"true", 0.02, "least-squares"}}) {
    Finder finder(std::string("threshold=0.9 subpixel=") + name + " template=" + file);
    assert_text(finder.get("subpixel"), value);
    const auto peaks = finder.find(waves(96, 72, 0.3, -0.4)).peaks;
    assert_equals_int(peaks.size(), 1);
    if (bound > 0)
      assert_at(peaks[0], 40.3, 29.6, bound);
    else
      assert_at(peaks[0], 40, 30, 0);
  }
}

/// Broad blobs plus equally strong noise, independent for each pixel.
ELEMENT_TEST(smoothing_finds_what_noise_hides) {
  const Gray blobs = texture(30, 20, 4);
  Gray scene(180, 120);
  for (int y = 0; y < scene.height; ++y)
    for (int x = 0; x < scene.width; ++x)
      scene.at(x, y) =
          static_cast<std::uint8_t>(std::min(255, std::max(0, 2 * blobs.at(x / 6, y / 6) - 128)));
  const std::string file = save(crop(scene, 51, 31, 40, 32), "patch.png");
  std::uint32_t random = 1;
  for (std::uint8_t& v : scene.pixels) {
    random = random * 1664525u + 1013904223u;
    v = static_cast<std::uint8_t>(v / 2 + (random >> 25));
  }
  Finder finder("threshold=0.75 template=" + file);
  assert_equals_int(finder.find(scene).peaks.size(), 0);
  finder.set("prefilter-sigma", "2");
  const auto smoothed = finder.find(scene).peaks;
  assert_equals_int(smoothed.size(), 1);
  assert_at(smoothed[0], 51, 31, 0.7);
  finder.set("prefilter-sigma", "0");
  assert_equals_int(finder.find(scene).peaks.size(), 0);
}

/// The filter reads the frame's own pixels around a region, wherever that lies.
ELEMENT_TEST(smoothing_a_region_is_that_of_the_frame) {
  const Gray scene = texture(120, 90);
  Finder finder("prefilter-sigma=1.5 template=" + save(crop(scene, 60, 40, 20, 16), "patch.png"));
  const auto whole = finder.find(scene).peaks;
  assert_equals_int(whole.size(), 1);
  for (const char* region : {"<50,30,50,40>", "<70,50,50,40>", "<60,40,20,16>", "<0,0,120,90>"}) {
    finder.set("search-region", region);
    const auto peaks = finder.find(scene).peaks;
    const bool inside = std::string(region).find("<70") == std::string::npos;
    assert_equals_int(peaks.size(), inside ? 1 : 0);
    if (inside) fail_unless(peaks[0].score == whole[0].score, "%s", region);
  }
}

}  // namespace
