// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Caps, buffers and metas of any kind, as frames and as samples for templates, between changes of
// templates, properties and the stream. What does not fit may be refused by an error, and then the
// element is started again; what passes is unchanged and in order.
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include <gst/video/video.h>

#include <gstcudaxcorrmeta.h>

#include "gst.hpp"
#include "matching/formats.h"

namespace {

constexpr const char* refused_formats[] = {"NV12_4L4", "ENCODED", "v210", "RGB8P"};
constexpr const char* interlace_modes[] = {"progressive", "interleaved", "mixed",
                                           "fields",      "alternate",   "unheard-of"};
constexpr const char* colorimetries[] = {"bt601", "bt709", "bt2020", "sRGB", "1:4:0:0", "9:9:9:9"};
constexpr const char* settings[] = {
    "search-region", "max-peaks",       "min-peak-distance",   "prefilter-sigma",
    "track",         "template-update", "async-depth",         "interval",
    "method",        "threshold",       "response-template",   "subpixel",
    "search-margin", "attach-roi-meta", "min-frames-for-lost", "redetect-interval"};
/// Larger frames take too long.
constexpr int max_extent = 4096;

/// Copies of every byte of a buffer.
std::string contents_of(GstBuffer* buffer) {
  std::string bytes(gst_buffer_get_size(buffer), '\0');
  gst_buffer_extract(buffer, 0, bytes.data(), bytes.size());
  return bytes;
}

GstCaps* take_caps(Bytes& bytes) {
  const bool usual = bytes.between(0, 3) != 0;
  constexpr int accepted = std::size(cudaxcorr::pixel_formats);
  const int which = bytes.between(0, accepted - 1 + (usual ? 0 : int(std::size(refused_formats))));
  const char* format = which < accepted
                           ? gst_video_format_to_string(cudaxcorr::pixel_formats[which].format)
                           : refused_formats[which - accepted];
  const auto extent = [&] {
    return usual ? bytes.between(1, 80) : std::min(bytes.mostly_between(1, 80), max_extent);
  };
  GstCaps* caps =
      gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, format, "width", G_TYPE_INT,
                          extent(), "height", G_TYPE_INT, extent(), nullptr);
  if (bytes.flag())
    gst_caps_set_simple(caps, "framerate", GST_TYPE_FRACTION, bytes.number<guint16>(),
                        bytes.flag() ? 1 : G_MAXINT, nullptr);
  if (usual) return caps;
  const char* mode = bytes.one_of(interlace_modes);
  gst_caps_set_simple(caps, "interlace-mode", G_TYPE_STRING, mode, nullptr);
  if (bytes.flag())
    gst_caps_set_features(caps, 0, gst_caps_features_new(GST_CAPS_FEATURE_FORMAT_INTERLACED, NULL));
  if (bytes.flag())
    gst_caps_set_simple(caps, "colorimetry", G_TYPE_STRING, bytes.one_of(colorimetries), nullptr);
  if (bytes.flag())
    gst_caps_set_simple(caps, "views", G_TYPE_INT, bytes.mostly_between(0, 3), nullptr);
  return caps;
}

/// Of exactly that size, so that a read past its end is noticed.
GstMemory* make_memory(std::size_t size, Bytes& bytes) {
  auto* data = static_cast<guint8*>(g_malloc(std::max<std::size_t>(size, 1)));
  const unsigned step = bytes.number<std::uint8_t>();
  for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<guint8>(i * i * step >> 3);
  return gst_memory_new_wrapped(GST_MEMORY_FLAG_READONLY, data, size, 0, size, data, g_free);
}

/// The meta of the caps, some of it changed.
void add_video_meta(GstBuffer* buffer, GstVideoInfo info, Bytes& bytes) {
  GstVideoMeta* meta = gst_buffer_add_video_meta_full(
      buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
      static_cast<guint>(info.width), static_cast<guint>(info.height),
      GST_VIDEO_INFO_N_PLANES(&info), info.offset, info.stride);
  for (int changes = bytes.between(0, 3); changes > 0; --changes) {
    const int plane = bytes.between(0, 3);
    switch (bytes.between(0, 6)) {
      case 0:
        meta->width = static_cast<guint>(bytes.mostly_between(0, 100));
        break;
      case 1:
        meta->height = static_cast<guint>(bytes.mostly_between(0, 100));
        break;
      case 2:
        meta->stride[plane] = bytes.mostly_between(-400, 400);
        break;
      case 3:
        meta->offset[plane] = static_cast<gsize>(bytes.mostly_between(0, 5000));
        break;
      case 4:
        meta->n_planes = static_cast<guint>(bytes.between(0, 4));
        break;
      case 5:
        meta->format = static_cast<GstVideoFormat>(bytes.between(0, 30));
        break;
      case 6: {  // from the last row to the first, as some sources have it
        const gsize rows = static_cast<gsize>(std::max(info.height - 1, 0));
        meta->offset[0] += rows * static_cast<gsize>(std::max(info.stride[0], 0));
        meta->stride[0] = -info.stride[0];
      }
    }
  }
}

GstBuffer* take_buffer(Bytes& bytes, GstCaps* caps) {
  GstVideoInfo info;
  const bool known = gst_video_info_from_caps(&info, caps);
  std::size_t size = known ? std::min<std::size_t>(info.size, 1 << 20) : 1000;
  const int kind = bytes.between(0, 7);
  if (kind == 0) size = static_cast<std::size_t>(bytes.between(0, 10000));
  if (kind == 1)
    size -= std::min<std::size_t>(size, static_cast<std::size_t>(bytes.between(1, 64)));
  GstBuffer* buffer = gst_buffer_new();
  for (int left = bytes.between(0, 7) == 0 ? bytes.between(2, 4) : 1; left > 0; --left) {
    const std::size_t part = size / static_cast<std::size_t>(left);
    gst_buffer_append_memory(buffer, make_memory(part, bytes));
    size -= part;
  }
  if (known && bytes.between(0, 3) == 0) add_video_meta(buffer, info, bytes);
  if (bytes.between(0, 7) == 0) {
    GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(buffer);
    crop->x = static_cast<guint>(bytes.mostly_between(0, 20));
    crop->y = static_cast<guint>(bytes.mostly_between(0, 20));
    crop->width = static_cast<guint>(bytes.mostly_between(0, 80));
    crop->height = static_cast<guint>(bytes.mostly_between(0, 80));
  }
  return buffer;
}

class Session {
 public:
  Session() : tested_("cudaxcorr name=tested backend=cpu post-messages=false enable-capture=true") {
    GstSample* sample = make_sample(8, 6);
    g_signal_emit_by_name(tested_.element, "add-template", sample, "made", &last_id_);
    gst_sample_unref(sample);
    send_caps(gst_caps_from_string("video/x-raw,format=GRAY8,width=40,height=30"));
  }
  ~Session() {
    if (caps_) gst_caps_unref(caps_);
    release_pad();
  }

  void step(Bytes& bytes) {
    switch (bytes.between(0, 15)) {
      case 0:
        send_caps(take_caps(bytes));
        break;
      case 1:
        add_template(bytes);
        break;
      case 2:
        capture(bytes);
        break;
      case 3:
        remove_template(bytes);
        break;
      case 4:
        set_property(bytes);
        break;
      case 5:
        send_segment(bytes);
        break;
      case 6:
        flush();
        break;
      case 7:
        query(bytes);
        break;
      case 8:
        response_ ? release_pad() : request_pad();
        break;
      case 9:
        restart();
        break;
      default:
        pass(bytes);
    }
    take_out();
    if (tested_.failed()) restart();
  }
  void finish() {
    gst_harness_push_event(tested_.harness, gst_event_new_eos());
    take_out();
  }

 private:
  void send_caps(GstCaps* caps) {
    if (caps_) gst_caps_unref(caps_);
    caps_ = caps;
    gst_harness_push_event(tested_.harness, gst_event_new_stream_start("fuzz"));
    gst_harness_push_event(tested_.harness, gst_event_new_caps(caps));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(tested_.harness, gst_event_new_segment(&segment));
  }
  void restart() {
    tested_.restart();
    sent_.clear();
    send_caps(gst_caps_ref(caps_));
    tested_.failed();
  }

  void pass(Bytes& bytes) {
    GstBuffer* buffer = take_buffer(bytes, caps_);
    GST_BUFFER_PTS(buffer) = bytes.flag() ? number_ * GST_SECOND : bytes.number<guint64>();
    GST_BUFFER_OFFSET(buffer) = ++number_;
    if (bytes.between(0, 15) == 0) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
    sent_[number_] = contents_of(buffer);
    gst_harness_push(tested_.harness, buffer);
  }
  void take_out() {
    while (GstBuffer* out = gst_harness_try_pull(tested_.harness)) {
      const guint64 number = GST_BUFFER_OFFSET(out);
      require(number > last_out_, "frames leave in order");
      last_out_ = number;
      if (sent_.contains(number))
        require(contents_of(out) == sent_[number], "a frame leaves as it came");
      check_results(out);
      gst_buffer_unref(out);
    }
  }
  static void check_results(GstBuffer* buffer) {
    const GstStructure* result = gst_cuda_xcorr_get_result(buffer);
    GstCudaXCorrPeak peak;
    for (guint i = 0; i < gst_cuda_xcorr_get_n_peaks(result); ++i) {
      require(gst_cuda_xcorr_get_peak(result, i, &peak), "each peak can be read");
      require(std::isfinite(peak.x) && std::isfinite(peak.y) && std::isfinite(peak.score),
              "places and scores are finite");
      require(peak.width > 0 && peak.height > 0, "a match has an extent");
      // A lost target's place may be of a frame of another size.
      if (!peak.lost)
        // Rows and columns at a template's rim in which nothing counts may stick out.
        require(
            peak.nx < 1 && peak.ny < 1 && peak.nx + peak.nwidth > 0 && peak.ny + peak.nheight > 0,
            "a match is in the frame");
    }
  }

  void add_template(Bytes& bytes) {
    GstCaps* caps = take_caps(bytes);
    GstBuffer* buffer = take_buffer(bytes, caps);
    GstSample* sample = gst_sample_new(bytes.between(0, 15) ? buffer : nullptr,
                                       bytes.between(0, 15) ? caps : nullptr, nullptr, nullptr);
    guint id = 0;
    g_signal_emit_by_name(tested_.element, "add-template", sample, bytes.text().c_str(), &id);
    if (id) {
      require(id > last_id_, "ids of templates are new");
      last_id_ = id;
    }
    gst_sample_unref(sample);
    gst_buffer_unref(buffer);
    gst_caps_unref(caps);
  }
  void capture(Bytes& bytes) {
    guint id = 0;
    const int x = bytes.mostly_between(0, 40), y = bytes.mostly_between(0, 40);
    const int width = bytes.mostly_between(1, 20), height = bytes.mostly_between(1, 20);
    g_signal_emit_by_name(tested_.element, "capture-template", x, y, width, height, &id);
    last_id_ = std::max(last_id_, id);
  }
  void remove_template(Bytes& bytes) {
    gboolean removed = FALSE;
    g_signal_emit_by_name(tested_.element, "remove-template",
                          bytes.flag() ? last_id_ : bytes.number<guint8>(), &removed);
  }
  void set_property(Bytes& bytes) {
    const std::string name = bytes.one_of(settings);
    std::string value = std::to_string(bytes.mostly_between(0, 20));
    if (name == "search-region") {
      value = "<" + value;
      for (int i = 0; i < 3; ++i) value += "," + std::to_string(bytes.mostly_between(0, 60));
      value += ">";
    } else if (name == "threshold" || name == "template-update") {
      value = std::to_string(bytes.between(-10, 10) / 10.0);
    }
    tested_.set(name.c_str(), value.c_str());
  }

  void send_segment(Bytes& bytes) {
    GstSegment segment;
    gst_segment_init(&segment, bytes.flag() ? GST_FORMAT_TIME : GST_FORMAT_BYTES);
    segment.start = segment.position = bytes.number<guint32>();
    if (bytes.flag()) {
      segment.rate = -1;  // which has an end, by GStreamer's rules
      segment.stop = segment.start + bytes.number<guint32>();
    }
    gst_harness_push_event(tested_.harness, gst_event_new_segment(&segment));
  }
  void flush() {
    gst_harness_push_event(tested_.harness, gst_event_new_flush_start());
    gst_harness_push_event(tested_.harness, gst_event_new_flush_stop(TRUE));
    send_caps(gst_caps_ref(caps_));
  }
  void query(Bytes& bytes) {
    GstQuery* query = bytes.flag()   ? gst_query_new_drain()
                      : bytes.flag() ? gst_query_new_allocation(caps_, TRUE)
                                     : gst_query_new_latency();
    gst_pad_peer_query(tested_.harness->srcpad, query);
    gst_query_unref(query);
  }

  void request_pad() {
    response_ = gst_element_request_pad_simple(tested_.element, "response");
    if (!response_) return;
    end_ = gst_pad_new("end", GST_PAD_SINK);
    gst_pad_set_chain_function(end_, [](GstPad*, GstObject*, GstBuffer* buffer) {
      gst_buffer_unref(buffer);
      return GST_FLOW_OK;
    });
    gst_pad_set_active(end_, TRUE);
    gst_pad_link(response_, end_);
  }
  void release_pad() {
    if (!response_) return;
    gst_pad_set_active(end_, FALSE);
    gst_pad_unlink(response_, end_);
    gst_element_release_request_pad(tested_.element, response_);
    gst_object_unref(response_);
    gst_object_unref(end_);
    response_ = nullptr;
  }

  Tested tested_;
  GstCaps* caps_ = nullptr;
  GstPad *response_ = nullptr, *end_ = nullptr;
  guint last_id_ = 0;
  guint64 number_ = 0, last_out_ = 0;
  std::map<guint64, std::string> sent_;  ///< contents by number
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  start_gstreamer();
  Bytes bytes(data, size);
  Session session;
  for (int steps = 0; !bytes.empty() && steps < 40; ++steps) session.step(bytes);
  session.finish();
  return 0;
}
