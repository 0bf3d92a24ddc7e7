// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What counts as opaque, or as not black, in images of every format: exact to the pixel.
#include "masked_images.hpp"

namespace {

/// All that GStreamer has alpha in.
std::vector<GstVideoFormat> formats_with_alpha() {
  GValue names = G_VALUE_INIT;
  g_value_init(&names, GST_TYPE_LIST);
  fail_unless(gst_value_deserialize(&names, GST_VIDEO_FORMATS_ALL));
  std::vector<GstVideoFormat> formats;
  for (guint i = 0; i < gst_value_list_get_size(&names); ++i) {
    const GValue* name = gst_value_list_get_value(&names, i);
    const GstVideoFormat format = gst_video_format_from_string(g_value_get_string(name));
    if (GST_VIDEO_FORMAT_INFO_HAS_ALPHA(gst_video_format_get_info(format)))
      formats.push_back(format);
  }
  g_value_unset(&names);
  return formats;
}

constexpr int width = 18, height = 14;

/// Black and white, which no conversion rounds.
Gray image() {
  Gray image = texture(width, height, 7);
  for (auto& pixel : image.pixels) pixel = pixel & 4 ? 255 : 0;
  return image;
}

/// From 0 to 255, with those round the limit.
Gray alpha() {
  constexpr std::uint8_t values[] = {0, 127, 128, 255, 128, 1, 127, 254, 200};
  Gray alpha(width, height);
  for (std::size_t i = 0; i < alpha.pixels.size(); ++i) alpha.pixels[i] = values[i * i % 9];
  return alpha;
}

/// Where that many white pixels lie, which is what sqdiff finds in a frame of zeros.
Gray inverted(Gray image) {
  for (auto& pixel : image.pixels) pixel = static_cast<std::uint8_t>(255 - pixel);
  return image;
}

double squares(const Gray& image, const Gray& alpha) {
  double sum = 0;
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    if (alpha.pixels[i] >= 128) sum += image.pixels[i] * image.pixels[i];
  return sum;
}

/// Sends a frame of zeros, in the format of the pipeline that has the sample's luma.
double score_of(const Sample& sample, bool rgb) {
  Finder finder("method=sqdiff threshold=-1");
  fail_unless(add(finder, sample) != 0);
  finder.set_format(rgb ? GST_VIDEO_FORMAT_RGB : GST_VIDEO_FORMAT_I420, width, height);
  return only(finder.find(Gray(width, height))).score;
}

ELEMENT_TEST(alpha_of_every_format) {
  const auto formats = formats_with_alpha();
  fail_unless(formats.size() > 20, "%d formats", static_cast<int>(formats.size()));
  for (const GstVideoFormat format : formats) {
    const bool rgb = GST_VIDEO_FORMAT_INFO_IS_RGB(gst_video_format_get_info(format));
    for (const Gray& luma : {image(), inverted(image())}) {
      const Sample sample = make_sample(make_frame(format, luma, alpha()), format, width, height);
      const double score = score_of(sample, rgb), expected = squares(luma, alpha());
      fail_unless(score == expected, "%s: %f, not %f", gst_video_format_to_string(format), score,
                  expected);
    }
  }
}

/// A part of a larger image (GstVideoCropMeta), and one whose rows lie from the last to the
/// first.
ELEMENT_TEST(alpha_of_cropped_and_upside_down_samples) {
  Gray large = texture(width + 12, height + 6, 3), large_alpha = texture(width + 12, height + 6, 4);
  paste(large, image(), 8, 4);
  paste(large_alpha, alpha(), 8, 4);
  for (const auto format : {GST_VIDEO_FORMAT_BGRA, GST_VIDEO_FORMAT_A420}) {
    GstVideoInfo info;
    gst_video_info_set_format(&info, format, large.width, large.height);
    GstBuffer* buffer = make_frame(format, large, large_alpha);
    gst_buffer_add_video_meta_full(
        buffer, GST_VIDEO_FRAME_FLAG_NONE, format, static_cast<guint>(large.width),
        static_cast<guint>(large.height), info.finfo->n_planes, info.offset, info.stride);
    GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(buffer);
    crop->x = 8;
    crop->y = 4;
    crop->width = width;
    crop->height = height;
    const double score =
        score_of(make_sample(buffer, format, width, height), format == GST_VIDEO_FORMAT_BGRA);
    assert_equals_float(score, squares(image(), alpha()));
  }

  Gray turned(width, height), turned_alpha(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      turned.at(x, y) = image().at(x, height - 1 - y);
      turned_alpha.at(x, y) = alpha().at(x, height - 1 - y);
    }
  GstBuffer* buffer = make_frame(GST_VIDEO_FORMAT_RGBA, turned, turned_alpha);
  gsize offset[GST_VIDEO_MAX_PLANES] = {4 * width * (height - 1)};
  gint stride[GST_VIDEO_MAX_PLANES] = {-4 * width};
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_RGBA, width,
                                 height, 1, offset, stride);
  Gray scene = texture(96, 64);
  paste(scene, image(), inverted(inverted(alpha())), 30, 20);
  Finder finder(exact);
  add(finder, make_sample(buffer, GST_VIDEO_FORMAT_RGBA, width, height));
  assert_found_at(only(finder.find(scene)), 30, 20);
}

/// GStreamer's converter crashes where words of two bytes lie at odd addresses.
ELEMENT_TEST(samples_at_odd_addresses) {
  std::vector<GstVideoFormat> formats = formats_with_alpha();
  for (const auto format :
       {GST_VIDEO_FORMAT_YUY2, GST_VIDEO_FORMAT_v216, GST_VIDEO_FORMAT_GRAY16_LE})
    formats.push_back(format);
  for (const GstVideoFormat format : formats) {
    GstVideoInfo info;
    gst_video_info_set_format(&info, format, width, height);
    GstBuffer* even = make_frame(format, image(), alpha());
    GstBuffer* odd = gst_buffer_append(gst_buffer_new_memdup("", 1), gst_buffer_copy_deep(even));
    GstVideoMeta* meta =
        gst_buffer_add_video_meta(odd, GST_VIDEO_FRAME_FLAG_NONE, format, width, height);
    for (guint plane = 0; plane < meta->n_planes; ++plane) ++meta->offset[plane];
    const bool rgb = GST_VIDEO_INFO_IS_RGB(&info);
    assert_equals_float(score_of(make_sample(odd, format, width, height), rgb),
                        score_of(make_sample(even, format, width, height), rgb));
  }
}

/// The luma of an image is what it was without alpha.
ELEMENT_TEST(alpha_does_not_change_luma) {
  const Gray red = texture(width, height, 1), green = texture(width, height, 2),
             blue = texture(width, height, 3);
  GstBuffer* opaque = make_frame(GST_VIDEO_FORMAT_RGBA, red, green, blue);
  GstBuffer* transparent = gst_buffer_copy_deep(opaque);
  GstMapInfo map;
  gst_buffer_map(transparent, &map, GST_MAP_WRITE);
  for (std::size_t i = 0; i < alpha().pixels.size(); ++i) map.data[4 * i + 3] = alpha().pixels[i];
  gst_buffer_unmap(transparent, &map);
  for (const auto format : {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_BGR}) {
    double scores[2];
    for (const int i : {0, 1}) {
      Finder finder("mask=none method=sqdiff threshold=-1");
      add(finder, make_sample(gst_buffer_ref(i ? transparent : opaque), GST_VIDEO_FORMAT_RGBA,
                              width, height));
      finder.set_format(format, width, height);
      scores[i] = only(finder.find(texture(width, height, 9))).score;
    }
    fail_unless(scores[0] == scores[1] && scores[0] > 0);
  }
  gst_buffer_unref(opaque);
  gst_buffer_unref(transparent);
}

/// Any colour, however dark, but neither black nor what is transparent.
ELEMENT_TEST(files_of_masks) {
  const Gray shape = disc_of(width, height, 0, 1), zero(width, height),
             white = disc_of(width, height);
  Gray blocks(48, 32);
  paste(blocks, Gray(16, 16, 255), 16, 8);
  paste(blocks, Gray(8, 8, 255), 40, 0);
  const std::string files[] = {save(shape, "gray.png"),
                               save(shape, zero, zero, "red.png"),
                               save(zero, shape, zero, "green.png"),
                               save(zero, zero, shape, "blue.png"),
                               save(Gray(width, height, 9), white, "alpha.png"),
                               save(white, "mask.bmp")};
  const Gray luma = texture(width, height, 5);
  const std::string file = save(luma, "luma.png");
  for (const std::string& mask : files) {
    Finder finder("method=sqdiff threshold=-1 template=" + file + " mask-file=" + mask);
    const double score = only(finder.find(Gray(width, height))).score;
    fail_unless(score == squares(luma, white), "%s: %f", mask.c_str(), score);
  }
  // Whole blocks of a JPEG file are exact.
  const Gray large = texture(48, 32, 5);
  Finder finder("method=sqdiff threshold=-1 template=" + save(large, "large.png") +
                " mask-file=" + save(blocks, "mask.jpg"));
  assert_equals_float(only(finder.find(Gray(48, 32))).score, squares(large, blocks));
}

}  // namespace
