// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames of 10 to 16 bits: templates are found at their known places to the last bit, cut out of
// such frames or of 8 bits, displacements are measured, and what needs frames of 8 bits says so.
#include <memory>  // which the macros of gstcheck.h would spoil
#include <random>

#include "fields.hpp"
#include "live_templates.hpp"

namespace {

/// An image of so many bits as its pixels are in memory.
struct Words {
  int width, height;
  std::vector<std::uint16_t> pixels;

  Words(int w, int h) : width(w), height(h), pixels(static_cast<std::size_t>(w) * h) {}
  std::uint16_t& at(int x, int y) { return pixels[static_cast<std::size_t>(y) * width + x]; }
};

struct Deep {
  GstVideoFormat format;
  int bits, shift;
};
constexpr int deep_count = cudaxcorr::formats_that<cudaxcorr::is_deep>().size();
const std::vector<Deep> deep_formats = [] {
  std::vector<Deep> formats;
  for (const GstVideoFormat format : cudaxcorr::formats_that<cudaxcorr::is_deep>()) {
    const GstVideoFormatInfo* info = gst_video_format_get_info(format);
    formats.push_back({format, static_cast<int>(info->depth[0]), static_cast<int>(info->shift[0])});
  }
  return formats;
}();
constexpr int width = 96, height = 64;

/// Pixels that differ from their neighbours in their `varying` lowest bits only. Within the range
/// of video, where conversions keep values.
Words noise(const Deep& deep, int varying, unsigned seed = 1) {
  std::mt19937 random(seed);
  Words image(width, height);
  for (auto& pixel : image.pixels)
    pixel = static_cast<std::uint16_t>(((1u << (deep.bits - 1)) + (random() >> (32 - varying)))
                                       << deep.shift);
  return image;
}

GstVideoInfo info_of(const Deep& deep) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, deep.format, width, height);
  GST_VIDEO_INFO_FPS_N(&info) = 25;
  return info;
}

GstBuffer* frame_of(const Deep& deep, const Words& image) {
  const GstVideoInfo info = info_of(deep);
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, info.size, nullptr);
  GST_BUFFER_PTS(buffer) = 0;
  GstVideoFrame frame;
  fail_unless(gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE));
  for (int c = 0; c < static_cast<int>(GST_VIDEO_INFO_N_COMPONENTS(&info)); ++c)
    for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, c); ++y)
      for (int x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH(&frame, c); ++x) {
        auto* pixel = static_cast<guint8*>(GST_VIDEO_FRAME_COMP_DATA(&frame, c)) +
                      y * GST_VIDEO_FRAME_COMP_STRIDE(&frame, c) +
                      x * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c);
        const int gray = 1 << (deep.bits - 1 + deep.shift);
        GST_WRITE_UINT16_LE(pixel, c == 0 ? image.pixels[std::size_t(y) * width + x] : gray);
      }
  gst_video_frame_unmap(&frame);
  return buffer;
}

constexpr int patch_x = 41, patch_y = 22, patch_width = 16, patch_height = 12;

/// The pipeline of docs/template.md.
std::string cut(const Deep& deep, const Words& image) {
  const std::string path = temporary("patch.png");
  const std::string launch =
      "videoconvert ! video/x-raw,format=GRAY16_LE ! videocrop left=" + std::to_string(patch_x) +
      " top=" + std::to_string(patch_y) +
      " right=" + std::to_string(width - patch_x - patch_width) +
      " bottom=" + std::to_string(height - patch_y - patch_height) +
      " ! videoconvert ! video/x-raw,format=GRAY16_BE ! pngenc";
  GstHarness* harness = gst_harness_new_parse(launch.c_str());
  const GstVideoInfo info = info_of(deep);
  gst_harness_set_src_caps(harness, gst_video_info_to_caps(&info));
  GstBuffer* file = gst_harness_push_and_pull(harness, frame_of(deep, image));
  GstMapInfo map;
  fail_unless(file && gst_buffer_map(file, &map, GST_MAP_READ));
  write_file(path, {reinterpret_cast<const char*>(map.data), map.size});
  gst_buffer_unmap(file, &map);
  gst_buffer_unref(file);
  gst_harness_teardown(harness);
  return path;
}

void assert_found(const Found& found, int x, int y, double least = 1) {
  assert_equals_int(found.peaks.size(), 1);
  assert_at(found.peaks[0], x, y);
  fail_unless(found.peaks[0].score >= least, "score %.17g", found.peaks[0].score);
}

ELEMENT_TESTS(cut_out_of_a_frame, 0, deep_count) {
  const Deep& deep = deep_formats[__i__];
  const Words scene = noise(deep, deep.bits - 2);
  Finder finder("subpixel=false template=" + cut(deep, scene));
  finder.set_format(deep.format, width, height);
  // A YUV pipeline's gray PNG has another range of values, which rounds.
  assert_found(finder.find(frame_of(deep, scene)), patch_x, patch_y,
               deep.format == GST_VIDEO_FORMAT_GRAY16_LE ? 1 : 0.9999);
}

/// High bytes are all the same.
ELEMENT_TEST(low_bits_decide) {
  const Deep& deep = deep_formats[0];
  const Words scene = noise(deep, 6);
  Finder finder("subpixel=false template=" + cut(deep, scene));
  finder.set_format(deep.format, width, height);
  assert_found(finder.find(frame_of(deep, scene)), patch_x, patch_y);
}

ELEMENT_TESTS(template_of_8_bits, 0, deep_count) {
  const Deep& deep = deep_formats[__i__];
  const Gray gray = texture(width, height);
  Words scene(width, height);
  for (std::size_t i = 0; i < gray.pixels.size(); ++i)
    scene.pixels[i] = static_cast<std::uint16_t>(gray.pixels[i] << (deep.bits - 8) << deep.shift);
  Finder finder(
      "subpixel=false template=" +
      save(crop(gray, patch_x, patch_y, patch_width, patch_height), "patch-of-8-bits.png"));
  finder.set_format(deep.format, width, height);
  assert_found(finder.find(frame_of(deep, scene)), patch_x, patch_y, 0.999);
}

ELEMENT_TESTS(captured_template, 0, deep_count) {
  const Deep& deep = deep_formats[__i__];
  const Words scene = noise(deep, 5);
  Finder finder("subpixel=false enable-capture=true");
  finder.set_format(deep.format, width, height);
  gst_buffer_unref(finder.pass(frame_of(deep, scene)));
  fail_unless(capture(finder, patch_x, patch_y, patch_width, patch_height) > 0);
  assert_found(finder.find(frame_of(deep, scene)), patch_x, patch_y,
               deep.format == GST_VIDEO_FORMAT_GRAY16_LE ? 1 : 0.999);
}

/// A contrast is asked for in gray levels of 256, whatever the frames' depth.
ELEMENT_TESTS(contrast_is_of_256_levels, 0, deep_count) {
  const Deep& deep = deep_formats[__i__];
  Words scene(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      scene.at(x, y) = static_cast<std::uint16_t>((x * 7 + y * y * 5) % 23 % 2 == 0 ? 100 : 140)
                       << (deep.bits - 8) << deep.shift;
  const std::string file = cut(deep, scene);
  for (const bool enough : {true, false}) {
    Finder finder("subpixel=false max-peaks=1 template=" + file);
    finder.set("min-contrast", enough ? "15" : "25");
    finder.set_format(deep.format, width, height);
    assert_equals_int(finder.find(frame_of(deep, scene)).peaks.size(), enough);
  }
}

/// A second look, too: 40 levels in a fourth of a square are 20.
ELEMENT_TESTS(differences_are_of_256_levels, 0, deep_count) {
  const Deep& deep = deep_formats[__i__];
  const Gray gray = texture(width, height);
  Words scene(width, height);
  for (std::size_t i = 0; i < gray.pixels.size(); ++i)
    scene.pixels[i] =
        static_cast<std::uint16_t>((50 + gray.pixels[i] / 2) << (deep.bits - 8) << deep.shift);
  Finder finder("method=sqdiff-normed subpixel=false threshold=0.9 template=" + cut(deep, scene));
  finder.set_format(deep.format, width, height);
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 4; ++x)
      scene.at(patch_x + 2 + x, patch_y + 2 + y) +=
          static_cast<std::uint16_t>(40 << (deep.bits - 8) << deep.shift);
  for (const auto& [threshold, count] :
       {std::pair("0", 1), std::pair("25", 1), std::pair("15", 0)}) {
    finder.set("confirm-threshold", threshold);
    assert_equals_int(finder.find(frame_of(deep, scene)).peaks.size(), count);
  }
}

ELEMENT_TESTS(targets_are_followed, 0, deep_count) {
  const Deep& deep = deep_formats[__i__];
  const Words pattern = noise(deep, deep.bits - 2, 2);
  Finder finder("track=true subpixel=false template=" + cut(deep, pattern));
  finder.set_format(deep.format, width, height);
  guint64 target = 0;
  for (int step = 0; step < 4; ++step) {
    Words scene = noise(deep, 2, 3);
    for (int y = 0; y < patch_height; ++y)
      for (int x = 0; x < patch_width; ++x)
        scene.at(10 + 5 * step + x, 20 + y) =
            pattern.pixels[std::size_t(patch_y + y) * width + patch_x + x];
    const Found found = finder.find(frame_of(deep, scene));
    assert_equals_int(found.peaks.size(), 1);
    assert_at(found.peaks[0], 10 + 5 * step, 20);
    if (step > 0) assert_equals_uint64(found.peaks[0].id, target);
    target = found.peaks[0].id;
  }
  fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr, "nobody asked for filters");
}

std::string warning_of(Finder& finder) {
  return text_of(finder.message(GST_MESSAGE_WARNING), GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED);
}

/// An element with a template out of the frames, which are GRAY16_LE.
struct Gray16 {
  const Deep& deep = deep_formats[0];
  const Words scene = noise(deep, deep.bits - 2);
  Finder finder;

  explicit Gray16(const std::string& settings)
      : finder(settings + " subpixel=false template=" + cut(deep, scene)) {
    finder.set_format(deep.format, width, height);
  }
  GstBuffer* frame() const { return frame_of(deep, scene); }
};

/// The patch lies on its left side there, which needs no interpolation. No pixel says more than its
/// low bits.
ELEMENT_TESTS(turned_parts, 0, deep_count) {
  const Deep& deep = deep_formats[__i__];
  const Words pattern = noise(deep, 6, 2);
  Finder finder("subpixel=false angle-extent=180 template=" + cut(deep, pattern));
  finder.set_format(deep.format, width, height);
  Words scene = noise(deep, 6, 3);
  constexpr int left = 30, top = 21;
  for (int y = 0; y < patch_width; ++y)
    for (int x = 0; x < patch_height; ++x)
      scene.at(left + x, top + y) =
          pattern.pixels[std::size_t(patch_y + x) * width + patch_x + patch_width - 1 - y];
  const Found found = finder.find(frame_of(deep, scene));
  assert_equals_int(found.peaks.size(), 1);
  const Peak& peak = found.peaks[0];
  assert_equals_float(peak.angle, 90);
  assert_equals_float(peak.x, left);
  assert_equals_float(peak.y, top);
  assert_equals_int(peak.width, patch_height);
  // A YUV pipeline's gray PNG has another range of values, which rounds.
  fail_unless(peak.score >= (deep.format == GST_VIDEO_FORMAT_GRAY16_LE ? 1 : 0.99));
}

ELEMENT_TEST(filters_need_8_bits) {
  Gray16 gray("track=true tracker=filter");
  assert_found(gray.finder.find(gray.frame()), patch_x, patch_y);
  assert_text(warning_of(gray.finder),
              "Filters need frames of 8 bits, not GRAY16_LE: targets are followed by templates");
}

/// Frames flow on, and are analysed again when they can be.
ELEMENT_TEST(odd_addresses) {
  Gray16 gray("");
  GstBuffer* odd = gst_buffer_new_allocate(nullptr, 2 * width * height + 1, nullptr);
  gsize offset[GST_VIDEO_MAX_PLANES] = {1};
  gint stride[GST_VIDEO_MAX_PLANES] = {2 * width};
  gst_buffer_add_video_meta_full(odd, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY16_LE, width,
                                 height, 1, offset, stride);
  gst_buffer_unref(gray.finder.pass(odd));
  assert_text(
      text_of(gray.finder.message(GST_MESSAGE_WARNING), GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT),
      "A frame passes unanalysed: its 16-bit pixels begin at odd addresses");
  assert_found(gray.finder.find(gray.frame()), patch_x, patch_y);
}

/// Of images whose high bytes are all the same.
ELEMENT_TESTS(displacements, 0, deep_count) {
  const Deep& deep = deep_formats[__i__];
  const Words scene = noise(deep, deep.bits - 8);
  Words moved(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      moved.at((x + 3) % width, (y + height - 2) % height) =
          scene.pixels[static_cast<std::size_t>(y) * width + x];
  for (const char* reference : {"previous", "first"}) {
    FieldFinder finder(std::string("subpixel=none windows=<20> search-range=6 reference=") +
                       reference);
    finder.set_format(deep.format, width, height);
    assert_text(finder.measure(frame_of(deep, scene)).state, "reference");
    const Field field = finder.measure(frame_of(deep, moved));
    assert_moved(field, 3, -2);
    fail_unless(field.score[field.size() / 2] == 1, "scores %f", field.score[field.size() / 2]);
  }
  // From bits to bytes and back: the field begins anew.
  FieldFinder finder("subpixel=none windows=<20> search-range=6");
  finder.set_format(deep.format, width, height);
  finder.measure(frame_of(deep, scene));
  assert_text(finder.measure(view_at(0, 0)).state, "reference");
  assert_moved(finder.measure(view_at(3, -2)), -3, 2);
}

}  // namespace
