// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A template file with any contents, added while frames flow: whatever is in it, the frames go on.
#include <fstream>
#include <memory>

#include <gst/video/video.h>

#include "folder.hpp"
#include "gst.hpp"

namespace {

constexpr int width = 64, height = 48;

/// An element that has frames of a format.
class Stream {
 public:
  explicit Stream(GstVideoFormat format) : tested_("cudaxcorr name=tested backend=cpu") {
    gst_video_info_set_format(&info_, format, width, height);
    GstCaps* caps = gst_video_info_to_caps(&info_);
    gst_harness_set_src_caps(tested_.harness, caps);
  }

  void try_template(const char* file) {
    guint id = 0;
    g_signal_emit_by_name(tested_.element, "add-template-file", file, nullptr, &id);
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, info_.size, nullptr);
    gst_buffer_memset(frame, 0, 99, info_.size);
    GstBuffer* out = gst_harness_push_and_pull(tested_.harness, frame);
    require(out == frame, "the frame passes");
    gst_buffer_unref(out);
    require(!tested_.failed(), "a template is no reason for an error");
    gboolean removed = FALSE;
    if (id != 0) g_signal_emit_by_name(tested_.element, "remove-template", id, &removed);
    require(removed == (id != 0), "a template that was added can be removed");
  }

 private:
  Tested tested_;
  GstVideoInfo info_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  start_gstreamer();
  g_log_set_default_handler([](const gchar*, GLogLevelFlags, const gchar*, gpointer) {},
                            nullptr);  // criticals of decoders are not ours
  static constexpr GstVideoFormat formats[] = {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_I420,
                                               GST_VIDEO_FORMAT_BGRx};
  static Stream* streams[std::size(formats)];
  const std::size_t which = size % std::size(formats);
  if (!streams[which]) streams[which] = new Stream(formats[which]);
  static const std::string file = temporary("image");
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  streams[which]->try_template(file.c_str());
  return 0;
}
