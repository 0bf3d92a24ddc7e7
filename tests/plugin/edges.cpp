// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is matched on edges: of either contrast and partly hidden in every format of 8 bits, and
// what has no edges.
#include "masked_images.hpp"

namespace {

constexpr int width = 90, height = 70;

/// A square with a smaller one in it, at (20, 15).
Gray square(std::uint8_t around, std::uint8_t fill, std::uint8_t inside) {
  Gray scene{width, height};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const auto within = [&](int margin) {
        return x >= 20 + margin && x < 52 - margin && y >= 15 + margin && y < 47 - margin;
      };
      scene.pixels[static_cast<std::size_t>(y) * width + x] = within(10)  ? inside
                                                              : within(0) ? fill
                                                                          : around;
    }
  return scene;
}

std::string part() { return save(crop(square(100, 200, 60), 14, 9, 44, 44), "square.png"); }

ELEMENT_TESTS(of_either_contrast, 0, static_cast<int>(all_formats.size())) {
  const GstVideoFormat format = all_formats[__i__];
  const GstVideoFormatInfo* info = gst_video_format_get_info(format);
  if (GST_VIDEO_FORMAT_INFO_DEPTH(info, 0) != 8) return;
  Finder finder("match-on=edges threshold=0.8 subpixel=none template=" + part());
  finder.set_format(format, width, height);
  Found found = finder.find(square(100, 200, 60));
  assert_equals_int(found.peaks.size(), 1);
  assert_at(found.peaks[0], 14, 9);
  assert_equals_int(finder.find(square(130, 20, 190)).peaks.size(), 0);
  finder.set("polarity", "either");
  found = finder.find(square(130, 20, 190));
  assert_equals_int(found.peaks.size(), 1);
  assert_at(found.peaks[0], 14, 9);
  // Its lower half is hidden.
  Gray hidden = square(100, 200, 60);
  for (std::size_t i = 31 * width; i < hidden.pixels.size(); ++i) hidden.pixels[i] = 100;
  assert_equals_int(finder.find(hidden).peaks.size(), 0);
  finder.set("threshold", "0.35");
  found = finder.find(hidden);
  assert_equals_int(found.peaks.size(), 1);
  assert_at(found.peaks[0], 14, 9, 2);
}

/// What the mask leaves has one brightness: its outline is found on any ground, which a square's is
/// not.
ELEMENT_TEST(glyphs_of_one_color) {
  constexpr int size = 24;
  const Gray disc = disc_of(size, size);
  Gray glyph = texture(size, size), frame(width, height, 90);
  paste(glyph, Gray(size, size, 230), disc, 0, 0);
  paste(frame, Gray(size, size, 230), disc, 9, 30);
  paste(frame, Gray(size, size, 230), 57, 5);
  Finder finder("match-on=edges threshold=0.9 max-peaks=3 subpixel=none template=" +
                save(glyph, "glyph.png") + " mask-file=" + save(disc, "disc.png"));
  const Found found = finder.find(frame);
  assert_equals_int(found.peaks.size(), 1);
  assert_at(found.peaks[0], 9, 30);
}

/// A third of its white over a ground that rises, as a channel's logo, whose alpha has a soft rim.
ELEMENT_TEST(logos_of_soft_alpha) {
  constexpr int size = 26, x = 40, y = 18;
  Gray alpha = disc_of(size, size, 0, 30, 0), frame(width, height);
  paste(alpha, Gray(size, size, 89), disc_of(size, size, 2), 0, 0);
  for (int v = 0; v < height; ++v)
    for (int u = 0; u < width; ++u) frame.at(u, v) = static_cast<std::uint8_t>(40 + u / 2 + v / 3);
  for (int v = 0; v < size; ++v)
    for (int u = 0; u < size; ++u) {
      const int share = alpha.at(u, v), ground = frame.at(x + u, y + v);
      frame.at(x + u, y + v) =
          static_cast<std::uint8_t>((share * 255 + (255 - share) * ground) / 255);
    }
  Finder finder("match-on=edges threshold=0.7 max-peaks=3 subpixel=none template=" +
                save(Gray(size, size, 255), alpha, "logo.png"));
  const Found found = finder.find(frame);
  assert_equals_int(found.peaks.size(), 1);
  assert_at(found.peaks[0], x, y);
}

/// A warning says so, what was set before stays and frames flow on.
ELEMENT_TEST(without_edges) {
  Finder finder("match-on=edges threshold=0.8 subpixel=none template=" + part());
  assert_equals_int(finder.find(square(100, 200, 60)).peaks.size(), 1);
  const auto refused = [&](const char* property, const std::string& value, const char* why) {
    finder.set(property, value);
    assert_equals_int(finder.find(square(100, 200, 60)).peaks.size(), 1);
    GstMessage* warning = finder.message(GST_MESSAGE_WARNING);
    fail_unless(warning != nullptr);
    GError* error = nullptr;
    gst_message_parse_warning(warning, &error, nullptr);
    fail_unless(std::string(error->message).find(why) != std::string::npos, "%s", error->message);
    g_error_free(error);
    gst_message_unref(warning);
  };
  refused("template", save(square(7, 7, 7), "flat.png"), "template 0 has too few edges, 0 pixels");
}

/// Turned by some 30 degrees, dark where it was bright.
ELEMENT_TEST(turned) {
  Finder finder("match-on=edges polarity=either threshold=0.7 angle-extent=90 template=" + part());
  Gray scene{width, height};
  const Gray upright = square(130, 20, 190);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const double dx = x - 45, dy = y - 35, cosine = 0.866, sine = 0.5;
      const auto u = static_cast<int>(std::lround(36 + cosine * dx - sine * dy)),
                 v = static_cast<int>(std::lround(31 + sine * dx + cosine * dy));
      const bool is_in = u >= 0 && v >= 0 && u < width && v < height;
      scene.pixels[static_cast<std::size_t>(y) * width + x] =
          is_in ? upright.pixels[static_cast<std::size_t>(v) * width + u] : 130;
    }
  const Found found = finder.find(scene);
  assert_equals_int(found.peaks.size(), 1);
  const double turned = std::abs(std::remainder(found.peaks[0].angle - 30, 90));
  fail_unless(turned < 1, "%g", found.peaks[0].angle);
}

/// Gray frames have edges of their own, and there is nothing to say about it.
ELEMENT_TEST(of_gray_frames_in_color) {
  Finder finder("match-on=color-edges threshold=0.8 subpixel=none template=" + part());
  const Found found = finder.find(square(100, 200, 60));
  assert_equals_int(found.peaks.size(), 1);
  assert_equals_float(found.peaks[0].score, 1);
  fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr);
}

/// Matched on luma, and a warning says why.
ELEMENT_TEST(of_more_bits) {
  Finder finder("match-on=edges threshold=0.8 template=" + part());
  finder.set_format(GST_VIDEO_FORMAT_GRAY16_LE, width, height);
  assert_equals_int(finder.find(square(100, 200, 60)).peaks.size(), 1);
  const std::string text =
      text_of(finder.message(GST_MESSAGE_WARNING), GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED);
  assert_equals_string(text.c_str(),
                       "'match-on': the luma of frames of GRAY16_LE is matched on, since they "
                       "have no edges of 8 bits");
}

ELEMENT_TEST(followed) {
  Finder finder(
      "match-on=edges threshold=0.6 track=true tracker=template template-update=0.1 template=" +
      part());
  for (int i = 0; i < 4; ++i) {
    const Found found = finder.find(square(100, 200, 60));
    assert_equals_int(found.peaks.size(), 1);
    fail_if(found.peaks[0].lost);
    assert_at(found.peaks[0], 14, 9, 0.3);
  }
}

}  // namespace
