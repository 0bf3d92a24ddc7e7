// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/decode.h"

#include <string_view>

#include <unistd.h>

#include <glib/gstdio.h>
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>

namespace cudaxcorr {
namespace {

constexpr GstClockTime time_limit = 10 * GST_SECOND;

struct ObjectUnref {
  void operator()(gpointer object) const { gst_object_unref(object); }
};
template <class T>
using Ref = std::unique_ptr<T, ObjectUnref>;

std::string take_text(GError* error) {
  const std::string text = error->message;
  g_error_free(error);
  return text;
}

/// The whole file as one buffer, since not every decoder reassembles pieces. Null with the reason.
GstBuffer* read_file(const std::string& file, std::string& reason) {
  // Opening a pipe could block for ever.
  if (g_access(file.c_str(), R_OK) == 0 && !g_file_test(file.c_str(), G_FILE_TEST_IS_REGULAR)) {
    reason = "not a regular file";
    return nullptr;
  }
  gchar* data = nullptr;
  gsize bytes = 0;
  GError* error = nullptr;
  if (g_file_get_contents(file.c_str(), &data, &bytes, &error))
    return gst_buffer_new_wrapped(data, bytes);
  reason = take_text(error);
  return nullptr;
}

/// Whether a JPEG file ends before its end-of-image marker. Only the marker after the last scan
/// counts: earlier ones may be an embedded thumbnail's.
bool is_cut_off_jpeg(std::string_view bytes) {
  const auto scan = bytes.rfind("\xff\xda");
  return scan == bytes.npos || bytes.find("\xff\xd9", scan) == bytes.npos;
}

/// Whether a BMP file is shorter than its header says (bytes 2 to 5).
bool is_cut_off_bmp(std::string_view bytes) {
  return bytes.size() < 6 || bytes.size() < GST_READ_UINT32_LE(bytes.data() + 2);
}

/// Some decoders paint what is missing gray or black and report nothing.
bool is_cut_off(std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8\xff")) return is_cut_off_jpeg(bytes);
  return bytes.starts_with("BM") && is_cut_off_bmp(bytes);
}

bool is_cut_off(GstBuffer* buffer) {
  GstMapInfo map;
  if (!gst_buffer_map(buffer, &map, GST_MAP_READ)) return true;
  const bool cut = is_cut_off({reinterpret_cast<const char*>(map.data), map.size});
  gst_buffer_unmap(buffer, &map);
  return cut;
}

std::string reason_of(GstMessage* message) {
  GError* error = nullptr;
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
    gst_message_parse_error(message, &error, nullptr);
  else
    gst_message_parse_warning(message, &error, nullptr);
  // What was decoded is not video, so it could not be linked to the sink.
  const bool no_link = error->domain == GST_PARSE_ERROR;
  const std::string text = take_text(error);
  return no_link ? "there is no picture in it" : text;
}

/// Waits until the pipeline has prerolled, or has failed and the reason is set. Decoders warn of
/// damaged pictures, which counts as a failure here.
void wait_for_preroll(GstElement* pipeline, std::string& reason) {
  const Ref<GstBus> bus(gst_element_get_bus(pipeline));
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus.get(), time_limit,
      static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING |
                                  GST_MESSAGE_ASYNC_DONE));
  if (!message) {
    reason = "decoding took too long";
    return;
  }
  if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_ASYNC_DONE) reason = reason_of(message);
  gst_message_unref(message);
}

}  // namespace

Sample decode(const std::string& file, std::string& reason) {
  GstBuffer* contents = read_file(file, reason);
  if (!contents) return nullptr;
  const bool cut_off = is_cut_off(contents);

  GError* error = nullptr;
  const Ref<GstElement> pipeline(
      gst_parse_launch("appsrc name=file ! "
                       "decodebin force-sw-decoders=true ! "
                       "appsink name=picture caps=video/x-raw sync=false enable-last-sample=false",
                       &error));
  if (error) {
    gst_buffer_unref(contents);
    reason = take_text(error);
    return nullptr;
  }
  const Ref<GstElement> source(gst_bin_get_by_name(GST_BIN(pipeline.get()), "file"));
  const Ref<GstElement> sink(gst_bin_get_by_name(GST_BIN(pipeline.get()), "picture"));
  gst_element_set_state(pipeline.get(), GST_STATE_PAUSED);
  gst_app_src_push_buffer(GST_APP_SRC(source.get()), contents);
  gst_app_src_end_of_stream(GST_APP_SRC(source.get()));

  wait_for_preroll(pipeline.get(), reason);
  Sample sample;
  if (reason.empty())
    sample = take_sample(gst_app_sink_try_pull_preroll(GST_APP_SINK(sink.get()), 0));
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  if (sample && !cut_off) return sample;
  if (reason.empty()) reason = "the picture in it is not complete";
  return nullptr;
}

}  // namespace cudaxcorr
