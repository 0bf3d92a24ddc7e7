// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which contrast matches have: `polarity`, `min-contrast`, and what is reported of it.
#include <algorithm>

#include "support.hpp"

namespace {

Gray negative_of(Gray image) {
  for (std::uint8_t& pixel : image.pixels) pixel = static_cast<std::uint8_t>(255 - pixel);
  return image;
}

/// A part, and as a negative the same part elsewhere.
struct Parts {
  Gray part = crop(texture(64, 64, 5), 0, 0, 24, 20);
  Gray scene = texture(160, 120, 9);
  std::string file = save(part, "part.png");

  Parts() {
    paste(scene, part, 20, 12);
    paste(scene, negative_of(part), 90, 60);
  }
};

ELEMENT_TEST(of_either_sign) {
  const Parts parts;
  Finder finder("threshold=0.9 max-peaks=4 subpixel=none template=" + parts.file);
  Found found = finder.find(parts.scene);
  assert_equals_int(found.peaks.size(), 1);
  assert_at(found.peaks[0], 20, 12);
  fail_if(found.peaks[0].inverted);
  finder.set("polarity", "inverted");
  found = finder.find(parts.scene);
  assert_equals_int(found.peaks.size(), 1);
  assert_at(found.peaks[0], 90, 60);
  fail_unless(found.peaks[0].inverted);
  assert_equals_float(found.peaks[0].score, 1);
  assert_equals_float(found.peaks[0].similarity, 1);
  finder.set("polarity", "either");
  assert_equals_int(finder.find(parts.scene).peaks.size(), 2);
}

/// The template takes up nothing of it, which would undo its own contrast.
ELEMENT_TEST(an_inverted_target_is_followed) {
  const Parts parts;
  Finder finder("threshold=0.8 track=true tracker=template polarity=either template=" + parts.file);
  guint64 id = 0;
  for (int i = 0; i < 20; ++i) {
    Gray scene = texture(160, 120, 9);
    paste(scene, negative_of(parts.part), 30 + 3 * i, 30 + 2 * i);
    const Found found = finder.find(scene);
    assert_equals_int(found.peaks.size(), 1);
    fail_if(found.peaks[0].lost, "lost in frame %d", i);
    fail_unless(found.peaks[0].inverted);
    fail_unless(found.peaks[0].score > 0.999, "%g in frame %d", found.peaks[0].score, i);
    if (i > 0) assert_equals_uint64(found.peaks[0].id, id);
    id = found.peaks[0].id;
  }
}

/// By methods whose sign says nothing; the old one stays, and frames flow on.
ELEMENT_TEST(methods_without_a_sign_are_refused) {
  const Parts parts;
  Finder finder("threshold=0.9 polarity=either max-peaks=4 template=" + parts.file);
  assert_equals_int(finder.find(parts.scene).peaks.size(), 2);
  for (const char* method : {"sqdiff", "sqdiff-normed", "ccorr", "ccorr-normed"}) {
    finder.set("method", method);
    assert_equals_int(finder.find(parts.scene).peaks.size(), 2);
    const std::string text =
        text_of(finder.message(GST_MESSAGE_WARNING), GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
    assert_contains(text, "polarity");
    assert_contains(text, method);
    assert_text(finder.get("method"), "ccoeff-normed");
  }
  finder.set("method", "ccoeff");
  assert_equals_int(finder.find(parts.scene).peaks.size(), 2);
  fail_unless(finder.message(GST_MESSAGE_ERROR) == nullptr);
}

ELEMENT_TEST(polarity_is_refused_without_a_sign) {
  const Parts parts;
  Finder finder("threshold=0.9 method=ccorr-normed max-peaks=1 template=" + parts.file);
  assert_equals_int(finder.find(parts.scene).peaks.size(), 1);
  finder.set("polarity", "either");
  assert_equals_int(finder.find(parts.scene).peaks.size(), 1);
  assert_warned(finder, "polarity");
  assert_text(finder.get("polarity"), "same");
}

ELEMENT_TEST(flat_places_are_no_match) {
  const Parts parts;
  Gray faint = parts.scene;
  for (std::uint8_t& pixel : faint.pixels) pixel = static_cast<std::uint8_t>(120 + pixel / 16);
  Finder finder("threshold=0.9 template=" + parts.file);
  assert_equals_int(finder.find(faint).peaks.size(), 1);
  finder.set("min-contrast", "8");
  assert_equals_int(finder.find(faint).peaks.size(), 0);
  assert_equals_int(finder.find(parts.scene).peaks.size(), 1);
  finder.set("angle-extent", "20");
  assert_equals_int(finder.find(faint).peaks.size(), 0);
  assert_equals_int(finder.find(parts.scene).peaks.size(), 1);
}

}  // namespace
