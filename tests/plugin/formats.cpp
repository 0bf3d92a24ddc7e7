// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A template is found at its known place in every format, for any size and pitch of the frame and
// any format of the template file.
#include <dlfcn.h>

#include "support.hpp"

namespace {

constexpr int format_count = all_formats.size();

bool is_rgb(GstVideoFormat format) {
  return GST_VIDEO_FORMAT_INFO_IS_RGB(gst_video_format_get_info(format));
}

/// One exact copy at x, y.
void assert_copy(const Found& found, double x, double y) {
  assert_equals_int(found.peaks.size(), 1);
  assert_at(found.peaks[0], x, y);
  fail_unless(found.peaks[0].score == 1.0, "score %.17g", found.peaks[0].score);
}

/// NVIDIA's library is not there, so neither are frames that lie in its surfaces.
ELEMENT_TESTS(no_surfaces_without_their_library, 0,
              dlopen("libnvbufsurface.so", RTLD_NOW) ? 0 : 1) {
  for (const char* factory : {"cudaxcorr", "cudaxcorrfield"}) {
    Finder finder("", factory);
    GstPad* pad = gst_element_get_static_pad(finder.element, "sink");
    GstCaps* caps = gst_pad_query_caps(pad, nullptr);
    for (guint i = 0; i < gst_caps_get_size(caps); ++i)
      fail_unless(!gst_caps_features_contains(gst_caps_get_features(caps, i), "memory:NVMM"));
    gst_caps_unref(caps);
    gst_object_unref(pad);
  }
}

ELEMENT_TESTS(known_position, 0, format_count) {
  const Gray scene = texture(96, 64);
  Finder finder("subpixel=false template=" + save(crop(scene, 41, 22, 16, 12), "patch.png"));
  finder.set_format(all_formats[__i__], scene.width, scene.height);
  assert_copy(finder.find(scene), 41, 22);
}

ELEMENT_TESTS(odd_sizes, 0, format_count) {
  const Gray scene = texture(67, 45);
  Finder finder("subpixel=false template=" + save(crop(scene, 13, 31, 15, 11), "patch.png"));
  finder.set_format(all_formats[__i__], scene.width, scene.height);
  assert_copy(finder.find(scene), 13, 31);
}

ELEMENT_TESTS(padded_strides, 0, format_count) {
  const Gray scene = texture(67, 45);
  Finder finder("subpixel=false template=" + save(crop(scene, 50, 3, 16, 12), "patch.png"));
  finder.set_format(all_formats[__i__], scene.width, scene.height);
  assert_copy(finder.find(make_frame(all_formats[__i__], scene, 24)), 50, 3);
}

/// The searched part begins at any byte of a row.
ELEMENT_TESTS(any_region, 0, format_count) {
  const Gray scene = texture(96, 64);
  const std::string file = save(crop(scene, 41, 22, 16, 12), "patch.png");
  for (int x = 21; x < 25; ++x) {
    Finder finder("search-region=\"<" + std::to_string(x) + ",13,51,40>\" template=" + file);
    finder.set("subpixel", "false");
    finder.set_format(all_formats[__i__], scene.width, scene.height);
    assert_copy(finder.find(scene), 41, 22);
  }
}

/// Colours that differ in hue as well as in brightness, both in the file and in the frame.
ELEMENT_TESTS(colour, 0, format_count) {
  if (!is_rgb(all_formats[__i__])) return;
  const Gray red = texture(80, 60, 1), green = texture(80, 60, 2), blue = texture(80, 60, 3);
  const auto part = [](const Gray& plane) { return crop(plane, 33, 18, 14, 13); };
  Finder finder("subpixel=false template=" + save(part(red), part(green), part(blue), "patch.png"));
  finder.set_format(all_formats[__i__], 80, 60);
  assert_copy(finder.find(make_frame(all_formats[__i__], red, green, blue)), 33, 18);
}

/// The documented luma of packed RGB, against a gray template of those values.
ELEMENT_TESTS(luma_of_rgb, 0, format_count) {
  if (!is_rgb(all_formats[__i__])) return;
  const Gray red = texture(80, 60, 1), green = texture(80, 60, 2), blue = texture(80, 60, 3);
  Gray luma(80, 60);
  for (std::size_t i = 0; i < luma.pixels.size(); ++i)
    luma.pixels[i] = static_cast<std::uint8_t>(
        (77 * red.pixels[i] + 150 * green.pixels[i] + 29 * blue.pixels[i] + 128) / 256);
  Finder finder("subpixel=false template=" + save(crop(luma, 33, 18, 14, 13), "patch.png"));
  finder.set_format(all_formats[__i__], 80, 60);
  assert_copy(finder.find(make_frame(all_formats[__i__], red, green, blue)), 33, 18);
}

/// The pads take all rows of the table, whose bits are GStreamer's.
ELEMENT_TEST(table) {
  Finder finder("");
  for (const char* name : {"sink", "src"}) {
    GstPad* pad = gst_element_get_static_pad(finder.element, name);
    GstCaps* taken = gst_pad_get_pad_template_caps(pad);
    for (const cudaxcorr::PixelFormat& row : cudaxcorr::pixel_formats) {
      const GstVideoFormatInfo* info = gst_video_format_get_info(row.format);
      assert_equals_int(row.bits, static_cast<int>(GST_VIDEO_FORMAT_INFO_DEPTH(info, 0)));
      GstCaps* caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING,
                                          GST_VIDEO_FORMAT_INFO_NAME(info), nullptr);
      fail_unless(gst_caps_can_intersect(caps, taken), "%s does not take %s", name,
                  GST_VIDEO_FORMAT_INFO_NAME(info));
      gst_caps_unref(caps);
    }
    gst_caps_unref(taken);
    gst_object_unref(pad);
  }
}

/// The template is converted exactly as videoconvert converts the frames.
ELEMENT_TEST(colour_converted_to_yuv) {
  const Gray red = texture(80, 60, 1), green = texture(80, 60, 2), blue = texture(80, 60, 3);
  const auto part = [](const Gray& plane) { return crop(plane, 33, 18, 14, 13); };
  const std::string file = save(part(red), part(green), part(blue), "patch.png");
  for (const char* caps : {"I420, colorimetry=bt601", "NV12, colorimetry=bt709", "GRAY8",
                           "YUY2, colorimetry=1:4:0:0"}) {
    GstHarness* harness =
        harness_of(std::string("videoconvert ! video/x-raw, format=") + caps +
                   " ! cudaxcorr subpixel=false backend=" + backend() + " template=" + file);
    gst_harness_set_src_caps_str(harness,
                                 "video/x-raw,format=RGB,width=80,height=60,framerate=25/1");
    gst_harness_push(harness, make_frame(GST_VIDEO_FORMAT_RGB, red, green, blue));
    GstBuffer* out = gst_harness_pull(harness);
    assert_copy(found_in(out), 33, 18);
    gst_buffer_unref(out);
    gst_harness_teardown(harness);
  }
}

/// gst-libav has a decoder; the one of gst-plugins-good is ranked too low in some releases.
bool has_bmp_decoder() {
  GList* decoders =
      gst_element_factory_list_get_elements(GST_ELEMENT_FACTORY_TYPE_DECODER, GST_RANK_MARGINAL);
  GstCaps* caps = gst_caps_new_empty_simple("image/bmp");
  GList* able = gst_element_factory_list_filter(decoders, caps, GST_PAD_SINK, FALSE);
  const bool found = able != nullptr;
  gst_plugin_feature_list_free(able);
  gst_plugin_feature_list_free(decoders);
  gst_caps_unref(caps);
  return found;
}

ELEMENT_TESTS(bmp_template, 0, count_with(has_bmp_decoder(), "decoder of image/bmp")) {
  const Gray scene = texture(64, 48);
  Finder finder("subpixel=false template=" + save(crop(scene, 20, 17, 13, 9), "patch.bmp"));
  assert_copy(finder.find(scene), 20, 17);
}

/// A BMP file that is read in several pieces.
ELEMENT_TESTS(large_bmp_template, 0, count_with(has_bmp_decoder(), "decoder of image/bmp")) {
  const Gray scene = texture(210, 140);
  Finder finder("subpixel=false template=" + save(crop(scene, 5, 6, 201, 130), "patch.bmp"));
  assert_copy(finder.find(scene), 5, 6);
}

ELEMENT_TEST(jpeg_template) {
  const Gray scene = texture(64, 48);
  Finder finder("subpixel=false template=" + save(crop(scene, 20, 17, 16, 16), "patch.jpg"));
  const Found found = finder.find(scene);
  assert_equals_int(found.peaks.size(), 1);
  assert_at(found.peaks[0], 20, 17);
  fail_unless(found.peaks[0].score > 0.95, "score %f", found.peaks[0].score);
}

}  // namespace
