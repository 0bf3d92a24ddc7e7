// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is matched on in colour: in every format what luma cannot tell apart, patches of frames that
// begin anywhere, and what has no colour that can be compared.
#include <algorithm>

#include "live_templates.hpp"
#include "support.hpp"

namespace {

constexpr int width = 81, height = 61;

struct Colors {
  Gray red{width, height}, green{width, height}, blue{width, height};
};

/// Two discs, a red and a green one of the same luma, on gray that has it, too.
Colors buttons() {
  Colors scene;
  const auto paint = [&](int x, int y, int red, int green) {
    const std::size_t at = static_cast<std::size_t>(y) * width + x;
    scene.red.pixels[at] = static_cast<std::uint8_t>(red);
    scene.green.pixels[at] = static_cast<std::uint8_t>(green);
    scene.blue.pixels[at] = 110;
  };
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const auto in_disc = [&](int center) {
        return (x - center) * (x - center) + (y - 30) * (y - 30) < 120;
      };
      // 77 and 150 parts of 256 make luma of red and green.
      if (in_disc(20))
        paint(x, y, 210, 59);
      else if (in_disc(60))
        paint(x, y, 10, 161);
      else
        paint(x, y, 110, 110);
    }
  return scene;
}

std::string red_button() {
  const Colors scene = buttons();
  const auto part = [](const Gray& plane) { return crop(plane, 6, 16, 29, 29); };
  return save(part(scene.red), part(scene.green), part(scene.blue), "red.png");
}

constexpr bool is_in_color(const cudaxcorr::PixelFormat& row) {
  return row.format != GST_VIDEO_FORMAT_GRAY8 && row.format != GST_VIDEO_FORMAT_GRAY16_LE;
}
constexpr auto color_formats = cudaxcorr::formats_that<is_in_color>();

/// Frames of RGB that are converted before `rest` of a launch line, an element "e".
class Pipeline {
 public:
  Pipeline(GstVideoFormat format, const std::string& rest) {
    harness_ = harness_of(std::string("videoconvert ! video/x-raw,format=") +
                          gst_video_format_to_string(format) +
                          " ! cudaxcorr name=e subpixel=false backend=" + backend() + " " + rest);
    element = gst_bin_get_by_name(GST_BIN(harness_->element), "e");
    bus_ = gst_bus_new();
    gst_element_set_bus(element, bus_);
    gst_harness_set_src_caps_str(harness_,
                                 "video/x-raw,format=RGB,width=81,height=61,framerate=25/1");
  }
  ~Pipeline() {
    gst_element_set_bus(element, nullptr);
    gst_object_unref(bus_);
    gst_object_unref(element);
    gst_harness_teardown(harness_);
  }
  Pipeline(const Pipeline&) = delete;

  GstBuffer* pass(const Colors& scene) {
    gst_harness_push(harness_,
                     make_frame(GST_VIDEO_FORMAT_RGB, scene.red, scene.green, scene.blue));
    return gst_harness_pull(harness_);
  }
  Found find(const Colors& scene) {
    GstBuffer* out = pass(scene);
    const Found found = found_in(out);
    gst_buffer_unref(out);
    return found;
  }
  void set(const char* property, const std::string& value) {
    gst_util_set_object_arg(G_OBJECT(element), property, value.c_str());
  }
  GstMessage* warning() { return gst_bus_pop_filtered(bus_, GST_MESSAGE_WARNING); }

  GstElement* element;

 private:
  GstHarness* harness_;
  GstBus* bus_;
};

ELEMENT_TESTS(buttons_of_equal_luma, 0, color_formats.size()) {
  Pipeline pipeline(color_formats[__i__],
                    "match-on=color threshold=0.6 max-peaks=2 template=" + red_button());
  const Found found = pipeline.find(buttons());
  assert_equals_int(found.peaks.size(), 1);
  assert_at(found.peaks[0], 6, 16);
  fail_unless(found.peaks[0].score > 0.95, "%g", found.peaks[0].score);
  // The green one has its colours inverted.
  pipeline.set("polarity", "either");
  assert_equals_int(pipeline.find(buttons()).peaks.size(), 2);
}

/// Both have an outline, of which one is the other's inverted; of chroma at half the resolution,
/// too.
ELEMENT_TESTS(outlines_of_equal_luma, 0, color_formats.size()) {
  Pipeline pipeline(color_formats[__i__],
                    "match-on=color-edges threshold=0.5 max-peaks=2 template=" + red_button());
  Found found = pipeline.find(buttons());
  assert_equals_int(found.peaks.size(), 1);
  assert_at(found.peaks[0], 6, 16, 1);
  pipeline.set("polarity", "either");
  found = pipeline.find(buttons());
  assert_equals_int(found.peaks.size(), 2);
}

Colors textures() {
  return {texture(width, height, 1), texture(width, height, 2), texture(width, height, 3)};
}

/// The scene as a frame of that format, converted to another.
GstBuffer* frame_of(const Colors& scene, GstVideoFormat format, GstVideoFormat to) {
  const auto converted = [](GstVideoFormat of) {
    return std::string("videoconvert ! video/x-raw,format=") + gst_video_format_to_string(of) +
           " ! ";
  };
  GstHarness* harness =
      gst_harness_new_parse((converted(format) + converted(to) + "identity").c_str());
  gst_harness_set_src_caps_str(harness, "video/x-raw,format=RGB,width=81,height=61,framerate=25/1");
  gst_harness_push(harness, make_frame(GST_VIDEO_FORMAT_RGB, scene.red, scene.green, scene.blue));
  GstBuffer* frame = gst_harness_pull(harness);
  gst_harness_teardown(harness);
  return frame;
}

/// A part of a frame that an application has, in the frame's format.
ELEMENT_TESTS(cut_out_of_frames, 0, color_formats.size()) {
  const GstVideoFormat format = color_formats[__i__];
  const Colors scene = textures();
  for (const guint side : {16, 15}) {
    GstBuffer* frame = frame_of(scene, format, format);
    gst_buffer_add_video_meta(frame, GST_VIDEO_FRAME_FLAG_NONE, format, width, height);
    GstVideoCropMeta* part = gst_buffer_add_video_crop_meta(frame);
    part->x = 20;
    part->y = 10;
    part->width = part->height = side;
    Pipeline pipeline(format, "match-on=color");
    g_object_set(pipeline.element, "template-sample", make_sample(frame, format, side, side).get(),
                 nullptr);
    const Found found = pipeline.find(scene);
    assert_equals_int(found.peaks.size(), 1);
    assert_at(found.peaks[0], 20, 10);
    fail_unless(found.peaks[0].score == 1, "%.17g in %s", found.peaks[0].score,
                gst_video_format_to_string(format));
  }
}

/// A part of a picture that a frame was saved as: the converter may have smoothed its chroma.
ELEMENT_TESTS(cut_out_of_pictures, 0, color_formats.size()) {
  const GstVideoFormat format = color_formats[__i__];
  const Colors scene = textures();
  Colors saved;
  GstBuffer* picture = frame_of(scene, format, GST_VIDEO_FORMAT_RGB);
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_RGB, width, height);
  GstVideoFrame frame;
  fail_unless(gst_video_frame_map(&frame, &info, picture, GST_MAP_READ));
  Gray* const planes[] = {&saved.red, &saved.green, &saved.blue};
  for (int i = 0; i < 3; ++i)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        planes[i]->at(x, y) = static_cast<const std::uint8_t*>(GST_VIDEO_FRAME_COMP_DATA(
            &frame, i))[y * GST_VIDEO_FRAME_COMP_STRIDE(&frame, i) + 3 * x];
  gst_video_frame_unmap(&frame);
  gst_buffer_unref(picture);
  for (const int place : {20, 21}) {
    const auto part = [&](const Gray& plane) { return crop(plane, place, place, 15, 13); };
    Pipeline pipeline(format, "match-on=color template=" + save(part(saved.red), part(saved.green),
                                                                part(saved.blue), "saved.png"));
    const Found found = pipeline.find(scene);
    assert_equals_int(found.peaks.size(), 1);
    assert_at(found.peaks[0], place, place);
    fail_unless(found.peaks[0].score > 0.94, "%.17g in %s", found.peaks[0].score,
                gst_video_format_to_string(format));
  }
}

/// Whatever the place, a patch of a frame is an exact copy.
ELEMENT_TESTS(captured_anywhere, 0, color_formats.size()) {
  const Colors scene = textures();
  for (const int x : {20, 21})
    for (const int y : {10, 11}) {
      Pipeline pipeline(color_formats[__i__], "match-on=color enable-capture=true");
      gst_buffer_unref(pipeline.pass(scene));
      guint id = 0;
      g_signal_emit_by_name(pipeline.element, "capture-template", x, y, 15, 13, &id);
      fail_unless(id > 0);
      const Found found = pipeline.find(scene);
      assert_equals_int(found.peaks.size(), 1);
      assert_at(found.peaks[0], x, y);
      fail_unless(found.peaks[0].score == 1, "%.17g in %s at %d, %d", found.peaks[0].score,
                  gst_video_format_to_string(color_formats[__i__]), x, y);
    }
}

/// Of words their upper bytes count; contrasts are in levels of 256, as they are in luma.
ELEMENT_TESTS(low_bits_of_words, 0, 2) {
  const GstVideoFormat format = __i__ ? GST_VIDEO_FORMAT_P010_10LE : GST_VIDEO_FORMAT_I420_10LE;
  const int low = __i__ ? 6 : 0;
  const auto frame = [&] { return frame_of(textures(), format, format); };
  Finder finder("match-on=color subpixel=false min-contrast=5 enable-capture=true");
  finder.set_format(format, width, height);
  gst_buffer_unref(finder.pass(frame()));
  fail_unless(capture(finder, 21, 11, 15, 13) > 0);
  for (const char* match_on : {"color", "luma"}) {
    finder.set("match-on", match_on);
    GstBuffer* other = frame();
    GstMapInfo bytes;
    fail_unless(gst_buffer_map(other, &bytes, GST_MAP_WRITE));
    for (gsize i = 0; i < bytes.size; i += 2)
      bytes.data[i] = static_cast<guint8>((bytes.data[i] & ~(3 << low)) | i * i % 7 % 4 << low);
    gst_buffer_unmap(other, &bytes);
    const Found found = finder.find(other);
    assert_equals_int(found.peaks.size(), 1);
    assert_at(found.peaks[0], 21, 11);
    fail_unless((found.peaks[0].score == 1) == (std::string(match_on) == "color"), "%.17g in %s",
                found.peaks[0].score, match_on);
  }
}

/// Frames flow on, matched on luma, and a warning says why.
ELEMENT_TEST(without_color) {
  for (const GstVideoFormat format : {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_GRAY16_LE}) {
    Pipeline pipeline(format, "match-on=color threshold=0.6 template=" + red_button());
    pipeline.find(buttons());
    const std::string text = text_of(pipeline.warning(), GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED);
    fail_unless(text.find("'match-on': the luma of frames of ") == 0, "%s", text.c_str());
  }
}

ELEMENT_TEST(gray_templates) {
  const Gray scene = texture(width, height);
  Pipeline pipeline(GST_VIDEO_FORMAT_BGRx, "match-on=color threshold=0.9 template=" +
                                               save(crop(scene, 31, 22, 16, 12), "gray.png"));
  const Found found = pipeline.find({scene, scene, scene});
  assert_equals_int(found.peaks.size(), 1);
  assert_at(found.peaks[0], 31, 22);
  assert_equals_float(found.peaks[0].score, 1);
  const std::string text = text_of(pipeline.warning(), GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED);
  fail_unless(text.find("is gray: with match-on=color") != text.npos, "%s", text.c_str());
}

/// At any angle.
ELEMENT_TEST(turned) {
  Pipeline pipeline(
      GST_VIDEO_FORMAT_NV12,
      "match-on=color threshold=0.6 mask=disc angle-extent=90 template=" + red_button());
  const Found found = pipeline.find(buttons());
  assert_equals_int(found.peaks.size(), 1);
  fail_unless(found.peaks[0].score > 0.9, "%g", found.peaks[0].score);
}

/// By templates that adapt to the frames, too.
ELEMENT_TESTS(followed, 0, 2) {
  Pipeline pipeline(__i__ ? GST_VIDEO_FORMAT_P010_10LE : GST_VIDEO_FORMAT_NV12,
                    "match-on=color threshold=0.6 track=true tracker=template template-update=0.2 "
                    "template=" +
                        red_button());
  for (int i = 0; i < 3; ++i) {
    const Found found = pipeline.find(buttons());
    assert_equals_int(found.peaks.size(), 1);
    fail_if(found.peaks[0].lost);
    assert_at(found.peaks[0], 6, 16, 0.5);
  }
}

/// While frames flow.
ELEMENT_TEST(switched) {
  Pipeline pipeline(GST_VIDEO_FORMAT_BGRA, "threshold=0.6 max-peaks=2 template=" + red_button());
  for (int i = 0; i < 2; ++i) {
    pipeline.set("match-on", "color");
    assert_equals_int(pipeline.find(buttons()).peaks.size(), 1);
    pipeline.set("match-on", "luma");
    for (const Peak& peak : pipeline.find(buttons()).peaks)
      fail_unless(peak.score < 0.95, "%g", peak.score);
  }
}

}  // namespace
