// SPDX-License-Identifier: LGPL-2.1-or-later
#include "templates.h"

#include <cerrno>

#include <unistd.h>

#include <glib/gstdio.h>
#include <gst/app/gstappsink.h>

#include "frame.h"

namespace cudaxcorr {
namespace {

constexpr GstClockTime decode_timeout = 10 * GST_SECOND;

struct ObjectUnref {
  void operator()(gpointer object) const { gst_object_unref(object); }
};
template <class T>
using Ref = std::unique_ptr<T, ObjectUnref>;

using Free = decltype([](gchar* text) { g_free(text); });
using Text = std::unique_ptr<gchar, Free>;

std::string label_of(const std::string& file) {
  const Text base(g_path_get_basename(file.c_str()));
  const std::string name = base.get();
  const auto dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

/// Empty when the file can be opened and is one: opening a pipe could wait for ever.
std::string why_unreadable(const std::string& file) {
  if (g_access(file.c_str(), R_OK) != 0) return g_strerror(errno);
  if (!g_file_test(file.c_str(), G_FILE_TEST_IS_REGULAR)) return "not a regular file";
  return {};
}

std::string text_of(GstMessage* error) {
  GError* parsed = nullptr;
  gst_message_parse_error(error, &parsed, nullptr);
  const std::string text = parsed->message;
  g_error_free(parsed);
  return text;
}

/// The first error on the bus, or empty. Waits until the pipeline is prerolled or has failed.
std::string wait_for_preroll(GstElement* pipeline) {
  const Ref<GstBus> bus(gst_element_get_bus(pipeline));
  gst_element_set_state(pipeline, GST_STATE_PAUSED);
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus.get(), decode_timeout,
      static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_ASYNC_DONE));
  if (!message) return "decoding took too long";
  std::string error;
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) error = text_of(message);
  gst_message_unref(message);
  return error;
}

/// The file's first picture. Null with the reason when there is none.
GstSample* decode(const std::string& file, std::string& reason) {
  GError* error = nullptr;
  const Ref<GstElement> pipeline(
      gst_parse_launch("filesrc name=file ! decodebin force-sw-decoders=true ! "
                       "appsink name=picture caps=video/x-raw sync=false enable-last-sample=false",
                       &error));
  if (error) {
    reason = error->message;
    g_error_free(error);
    return nullptr;
  }
  const Ref<GstElement> source(gst_bin_get_by_name(GST_BIN(pipeline.get()), "file"));
  const Ref<GstElement> sink(gst_bin_get_by_name(GST_BIN(pipeline.get()), "picture"));
  g_object_set(source.get(), "location", file.c_str(), nullptr);

  reason = wait_for_preroll(pipeline.get());
  GstSample* sample =
      reason.empty() ? gst_app_sink_try_pull_preroll(GST_APP_SINK(sink.get()), 0) : nullptr;
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  if (!sample && reason.empty()) reason = "there is no complete picture in it";
  return sample;
}

std::shared_ptr<const Picture> load_one(const std::string& file, Fault& fault) {
  std::string reason = why_unreadable(file);
  GstSample* sample = reason.empty() ? decode(file, reason) : nullptr;
  if (!sample) {
    fault = {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ,
             "Cannot read the template file '" + file + "': " + reason};
    return nullptr;
  }
  auto picture = std::make_shared<Picture>();
  picture->file = file;
  picture->label = label_of(file);
  picture->sample.reset(sample);
  return picture;
}

class MappedFrame {
 public:
  MappedFrame(const GstVideoInfo& info, GstBuffer* buffer, GstMapFlags flags)
      : mapped_(gst_video_frame_map(&frame, &info, buffer, flags)) {}
  ~MappedFrame() {
    if (mapped_) gst_video_frame_unmap(&frame);
  }
  MappedFrame(const MappedFrame&) = delete;
  explicit operator bool() const { return mapped_; }

  GstVideoFrame frame;

 private:
  bool mapped_;
};

/// The pipeline's format at the picture's size.
GstVideoInfo converted_info(const GstVideoInfo& format, const GstVideoInfo& picture) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_INFO_FORMAT(&format), picture.width, picture.height);
  info.colorimetry = format.colorimetry;
  info.chroma_site = format.chroma_site;
  info.fps_n = picture.fps_n;  // the converter refuses to change the rate
  info.fps_d = picture.fps_d;
  return info;
}

bool convert(const MappedFrame& from, MappedFrame& to) {
  GstVideoConverter* converter =
      gst_video_converter_new(&from.frame.info, &to.frame.info, nullptr);
  if (!converter) return false;
  gst_video_converter_frame(converter, &from.frame, &to.frame);
  gst_video_converter_free(converter);
  return true;
}

LumaImage copy(const xcorr::MatrixView& view) {
  LumaImage image{view.size, {}};
  const auto* row = static_cast<const std::uint8_t*>(view.data);
  for (int y = 0; y < view.size.height; ++y, row += view.pitch)
    image.pixels.insert(image.pixels.end(), row, row + view.size.width);
  return image;
}

}  // namespace

std::optional<Pictures> load(const std::vector<std::string>& files, Fault& fault) {
  Pictures pictures;
  for (const std::string& file : files) {
    auto picture = load_one(file, fault);
    if (!picture) return std::nullopt;
    pictures.push_back(std::move(picture));
  }
  return pictures;
}

std::optional<LumaImage> luma_in(const GstVideoInfo& format, const Picture& picture) {
  GstVideoInfo info;
  if (!gst_video_info_from_caps(&info, gst_sample_get_caps(picture.sample.get())))
    return std::nullopt;
  const GstVideoInfo wanted = converted_info(format, info);
  const MappedFrame decoded(info, gst_sample_get_buffer(picture.sample.get()), GST_MAP_READ);
  if (!decoded) return std::nullopt;

  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, wanted.size, nullptr);
  std::optional<LumaImage> image;
  {
    MappedFrame converted(wanted, buffer, GST_MAP_READWRITE);
    Luma luma;
    if (converted && convert(decoded, converted)) image = copy(luma.view(converted.frame));
  }
  gst_buffer_unref(buffer);
  return image;
}

}  // namespace cudaxcorr
