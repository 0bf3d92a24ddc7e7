// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The template files and frames of support.hpp.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gst/app/gstappsrc.h>

#include "support.hpp"

namespace {

/// Removed when the process that created it ends, not when a fork of it does.
class Directory {
 public:
  Directory() : owner_(getpid()) {
    gchar* made = g_dir_make_tmp("cudaxcorr-XXXXXX", nullptr);
    path = made;
    g_free(made);
  }
  ~Directory() {
    if (getpid() == owner_) std::filesystem::remove_all(path);
  }
  std::filesystem::path path;

 private:
  pid_t owner_;
};

GstVideoInfo info_of(GstVideoFormat format, const Gray& image) {
  GstVideoInfo info;
  fail_unless(gst_video_info_set_format(&info, format, image.width, image.height));
  GST_VIDEO_INFO_FPS_N(&info) = 25;
  return info;
}

/// Writes a component into the mapped frame; chroma may be subsampled.
void fill(GstVideoFrame& frame, int component, const auto& value_at) {
  auto* data = static_cast<guint8*>(GST_VIDEO_FRAME_COMP_DATA(&frame, component));
  const int step = GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, component);
  for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, component); ++y)
    for (int x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH(&frame, component); ++x)
      data[y * GST_VIDEO_FRAME_COMP_STRIDE(&frame, component) + x * step] = value_at(x, y);
}

void run(GstElement* pipeline) {
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus, 10 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  fail_unless(message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS, "cannot write an image");
  gst_message_unref(message);
  gst_object_unref(bus);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

std::string encode(GstVideoFormat format, const Gray& size, GstBuffer* frame, const char* encoder,
                   const std::string& path) {
  const std::string launch = std::string("appsrc name=frame format=time ! ") + encoder +
                             " ! filesink location=\"" + path + "\"";
  GstElement* pipeline = gst_parse_launch(launch.c_str(), nullptr);
  GstElement* source = gst_bin_get_by_name(GST_BIN(pipeline), "frame");
  const GstVideoInfo info = info_of(format, size);
  GstCaps* caps = gst_video_info_to_caps(&info);
  gst_app_src_set_caps(GST_APP_SRC(source), caps);
  gst_caps_unref(caps);
  gst_app_src_push_buffer(GST_APP_SRC(source), frame);
  gst_app_src_end_of_stream(GST_APP_SRC(source));
  gst_object_unref(source);
  run(pipeline);
  return path;
}

/// A BMP file of 24 bits, rows from the bottom up; GStreamer has no encoder for it.
std::string bmp(const Gray& image) {
  const int pitch = (image.width * 3 + 3) / 4 * 4;
  const std::uint32_t header[] = {static_cast<std::uint32_t>(54 + pitch * image.height),
                                  0,
                                  54,
                                  40,
                                  static_cast<std::uint32_t>(image.width),
                                  static_cast<std::uint32_t>(image.height),
                                  1 | 24 << 16,
                                  0,
                                  static_cast<std::uint32_t>(pitch * image.height),
                                  2835,
                                  2835,
                                  0,
                                  0};
  std::string bytes = "BM";
  for (const std::uint32_t word : header)
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(word >> shift & 0xff);
  for (int y = image.height - 1; y >= 0; --y) {
    std::string row;
    for (int x = 0; x < image.width; ++x) row.append(3, static_cast<char>(image.at(x, y)));
    row.resize(static_cast<std::size_t>(pitch));
    bytes += row;
  }
  return bytes;
}

/// Adds padding after each row and before the first, described in a video meta.
GstBuffer* padded_buffer(const GstVideoInfo& info, int padding) {
  gsize offset[GST_VIDEO_MAX_PLANES] = {}, end = static_cast<gsize>(padding);
  gint stride[GST_VIDEO_MAX_PLANES] = {};
  for (guint plane = 0; plane < GST_VIDEO_INFO_N_PLANES(&info); ++plane) {
    offset[plane] = end;
    stride[plane] = GST_VIDEO_INFO_PLANE_STRIDE(&info, plane) + padding;
    end += static_cast<gsize>(stride[plane]) * info.height;
  }
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, end, nullptr);
  gst_buffer_memset(buffer, 0, 0xa5, end);
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                 info.width, info.height, GST_VIDEO_INFO_N_PLANES(&info), offset,
                                 stride);
  return buffer;
}

}  // namespace

std::string temporary(const std::string& name) {
  static const Directory directory;
  return directory.path / name;
}

std::string array_of(const std::vector<std::string>& items) {
  std::string text = "<";
  for (const std::string& item : items) text.append(text.size() > 1 ? "," : "").append(item);
  return text.append(">");
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string read_file(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

std::string save(const Gray& image, const std::string& name) {
  const std::string path = temporary(name);
  const auto format = GST_VIDEO_FORMAT_GRAY8;
  if (name.ends_with(".bmp")) {
    write_file(path, bmp(image));
    return path;
  }
  const char* encoder = name.ends_with(".jpg") ? "jpegenc quality=98" : "pngenc";
  return encode(format, image, make_frame(format, image), encoder, path);
}

std::string save(const Gray& image, const Gray& alpha, const std::string& name) {
  const auto format = GST_VIDEO_FORMAT_RGBA;
  return encode(format, image, make_frame(format, image, alpha), "pngenc", temporary(name));
}

std::string save(const Gray& red, const Gray& green, const Gray& blue, const std::string& name) {
  const auto format = GST_VIDEO_FORMAT_RGB;
  return encode(format, red, make_frame(format, red, green, blue), "pngenc", temporary(name));
}

GstBuffer* make_frame(GstVideoFormat format, const Gray& image, int padding) {
  const GstVideoInfo info = info_of(format, image);
  if (GST_VIDEO_INFO_IS_RGB(&info) && padding == 0) return make_frame(format, image, image, image);
  if (GST_VIDEO_INFO_COMP_DEPTH(&info, 0) > 8)
    return make_frame(format, image, Gray(image.width, image.height, 255));
  GstBuffer* buffer = padded_buffer(info, padding);
  GST_BUFFER_PTS(buffer) = 0;
  GstVideoFrame frame;
  fail_unless(gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE));
  for (guint component = 0; component < GST_VIDEO_INFO_N_COMPONENTS(&info); ++component) {
    const bool luma = component == 0 || GST_VIDEO_INFO_IS_RGB(&info);
    fill(frame, static_cast<int>(component),
         [&](int x, int y) -> guint8 { return luma ? image.at(x, y) : 128; });
  }
  gst_video_frame_unmap(&frame);
  return buffer;
}

GstBuffer* make_frame(GstVideoFormat format, const Gray& red, const Gray& green, const Gray& blue) {
  const GstVideoInfo info = info_of(format, red);
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, info.size, nullptr);
  gst_buffer_memset(buffer, 0, 255, info.size);
  GST_BUFFER_PTS(buffer) = 0;
  GstVideoFrame frame;
  fail_unless(gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE));
  const Gray* planes[] = {&red, &green, &blue};
  for (int component = 0; component < 3; ++component)
    fill(frame, component, [&](int x, int y) { return planes[component]->at(x, y); });
  gst_video_frame_unmap(&frame);
  return buffer;
}

GstBuffer* make_frame(GstVideoFormat format, const Gray& image, const Gray& alpha) {
  const GstVideoInfo info = info_of(format, image);
  const GstVideoFormatInfo* unpacked = gst_video_format_get_info(info.finfo->unpack_format);
  const bool deep = GST_VIDEO_FORMAT_INFO_BITS(unpacked) == 16, rgb = GST_VIDEO_INFO_IS_RGB(&info);
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, info.size, nullptr);
  GST_BUFFER_PTS(buffer) = 0;
  GstVideoFrame frame;
  fail_unless(gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE));
  for (int y = 0; y < image.height; ++y) {
    std::vector<std::uint8_t> bytes;
    for (int x = 0; x < image.width; ++x) {
      const std::uint8_t luma = image.at(x, y), chroma = rgb ? luma : 128;
      for (const std::uint8_t component : {alpha.at(x, y), luma, chroma, chroma})
        bytes.insert(bytes.end(), deep ? 2 : 1, component);
    }
    info.finfo->pack_func(info.finfo, GST_VIDEO_PACK_FLAG_NONE, bytes.data(),
                          static_cast<int>(bytes.size()), frame.data, frame.info.stride,
                          info.chroma_site, y, image.width);
  }
  gsize size = 0;
  if (const void* palette = gst_video_format_get_palette(format, &size))
    std::memcpy(GST_VIDEO_FRAME_PLANE_DATA(&frame, 1), palette, size);
  gst_video_frame_unmap(&frame);
  return buffer;
}
