// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/response.h"

#include <algorithm>
#include <utility>

#include "common/mapped_frame.h"
#include "common/new_buffer.h"

namespace cudaxcorr {
namespace {

constexpr char name[] = "response";

std::uint8_t brightness(float value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0.0f, 1.0f) * 255 + 0.5f);
}

bool draw_into(GstBuffer* image, const GstVideoInfo& format, const xcorr::Response& response) {
  const MappedFrame mapped(format, image, GST_MAP_WRITE);
  if (!mapped) return false;
  const GstVideoFrame& frame = mapped.frame;
  auto* row = static_cast<std::uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0));
  const int stride = GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0);
  const xcorr::Rect& places = response.places;
  auto value = response.values.begin();
  for (int y = 0; y < GST_VIDEO_FRAME_HEIGHT(&frame); ++y, row += stride) {
    std::fill_n(row, stride, std::uint8_t{0});
    if (y < places.y || y >= places.y + places.height) continue;
    std::transform(value, value + places.width, row + places.x, brightness);
    value += places.width;
  }
  return true;
}

/// Images are held as long as their frames, so the latency is the main stream's.
gboolean query(GstPad* pad, GstObject* parent, GstQuery* query) {
  if (GST_QUERY_TYPE(query) == GST_QUERY_LATENCY)
    return gst_pad_query(static_cast<GstPad*>(gst_pad_get_element_private(pad)), query);
  return gst_pad_query_default(pad, parent, query);
}

}  // namespace

GstStaticPadTemplate response_template = GST_STATIC_PAD_TEMPLATE(
    name, GST_PAD_SRC, GST_PAD_REQUEST, GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE("GRAY8")));

ResponsePad::~ResponsePad() { gst_flow_combiner_unref(combiner_); }

void ResponsePad::set_element_pads(GstPad* sink, GstPad* src) {
  sink_ = sink;
  src_ = src;
  gst_flow_combiner_add_pad(combiner_, src);
}

// ---- the pad ------------------------------------------------------------------------------------

GstPad* ResponsePad::add(GstElement* element, GstPadTemplate* pad_template) {
  if (exists()) return nullptr;
  GstPad* pad = gst_pad_new_from_template(pad_template, name);
  gst_pad_use_fixed_caps(pad);
  gst_pad_set_element_private(pad, src_);
  gst_pad_set_query_function(pad, GST_DEBUG_FUNCPTR(query));
  gst_pad_set_active(pad, TRUE);
  if (!gst_element_add_pad(element, pad)) return nullptr;
  const std::lock_guard lock(mutex_);
  pad_ = pad;
  pending_ = {};
  gst_flow_combiner_add_pad(combiner_, pad);
  return pad;
}

void ResponsePad::remove(GstElement* element, GstPad* pad) {
  {
    // First, so that a failing push into it from now on does not stop the stream.
    const std::lock_guard lock(mutex_);
    if (pad != pad_) return;
    pad_ = nullptr;
    gst_flow_combiner_remove_pad(combiner_, pad);
  }
  // Before it is deactivated, which takes its sticky events away: an image that is being sent now
  // may not arrive without them.
  if (GstPad* peer = gst_pad_get_peer(pad)) {
    gst_pad_unlink(pad, peer);
    gst_object_unref(peer);
  }
  gst_pad_set_active(pad, FALSE);
  gst_element_remove_pad(element, pad);
}

bool ResponsePad::exists() {
  const std::lock_guard lock(mutex_);
  return pad_ != nullptr;
}

/// A new reference, or null.
GstPad* ResponsePad::pad() {
  const std::lock_guard lock(mutex_);
  return pad_ ? GST_PAD_CAST(gst_object_ref(pad_)) : nullptr;
}

// ---- events -------------------------------------------------------------------------------------

void ResponsePad::restart() {
  format_ = {};
  const std::lock_guard lock(mutex_);
  pending_ = {};
  gst_flow_combiner_reset(combiner_);
}

void ResponsePad::set_format(const GstVideoInfo& frames) {
  gst_video_info_set_format(&format_, GST_VIDEO_FORMAT_GRAY8, frames.width, frames.height);
  format_.fps_n = frames.fps_n;
  format_.fps_d = frames.fps_d;
  format_.par_n = frames.par_n;
  format_.par_d = frames.par_d;
  const std::lock_guard lock(mutex_);
  pending_.caps = true;
}

/// Sends the pending sticky events. False if the pad has been removed meanwhile: it may lack them,
/// so nothing more may be pushed there.
bool ResponsePad::announce(GstPad* pad) {
  Pending pending;
  {
    const std::lock_guard lock(mutex_);
    if (pad != pad_) return false;
    pending = std::exchange(pending_, {false, false, false});
  }
  GstEvent* event = gst_pad_get_sticky_event(sink_, GST_EVENT_STREAM_START, 0);
  if (pending.stream && event) {
    GstElement* element = GST_PAD_PARENT(sink_);
    gchar* id = gst_pad_create_stream_id(pad, element, name);
    GstEvent* start = gst_event_new_stream_start(id);
    g_free(id);
    if (guint group; gst_event_parse_group_id(event, &group)) gst_event_set_group_id(start, group);
    gst_pad_push_event(pad, start);
  }
  gst_clear_event(&event);
  if (pending.caps && format_.finfo) {
    GstCaps* caps = gst_video_info_to_caps(&format_);
    gst_pad_push_event(pad, gst_event_new_caps(caps));
    gst_caps_unref(caps);
  }
  event = gst_pad_get_sticky_event(sink_, GST_EVENT_SEGMENT, 0);
  if (pending.segment && event) gst_pad_push_event(pad, gst_event_ref(event));
  gst_clear_event(&event);
  return true;
}

void ResponsePad::push_event(GstEvent* event) {
  if (GstPad* to = pad()) {
    const bool follows_stream =
        GST_EVENT_IS_SERIALIZED(event) && GST_EVENT_TYPE(event) != GST_EVENT_FLUSH_STOP;
    if (!follows_stream || announce(to)) gst_pad_push_event(to, gst_event_ref(event));
    gst_object_unref(to);
  }
}

void ResponsePad::handle_event(GstEvent* event) {
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_STREAM_START: {
      const std::lock_guard lock(mutex_);
      pending_.stream = true;
      return;
    }
    case GST_EVENT_SEGMENT: {
      const std::lock_guard lock(mutex_);
      pending_.segment = true;
      return;
    }
    case GST_EVENT_FLUSH_STOP: {
      push_event(event);
      const std::lock_guard lock(mutex_);
      pending_.segment = true;
      gst_flow_combiner_reset(combiner_);
      return;
    }
    case GST_EVENT_FLUSH_START:
    case GST_EVENT_GAP:
    case GST_EVENT_EOS:
      return push_event(event);
    default:  // about the frames themselves, such as tags
      return;
  }
}

// ---- images -----------------------------------------------------------------------------------

GstBuffer* ResponsePad::draw(const xcorr::Response& response, GstBuffer* frame) const {
  GstBuffer* image = new_buffer(format_.size);
  if (!image) return nullptr;
  constexpr auto copied =
      static_cast<GstBufferCopyFlags>(GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS);
  gst_buffer_copy_into(image, frame, copied, 0, -1);
  if (!draw_into(image, format_, response)) gst_clear_buffer(&image);
  return image;
}

void ResponsePad::push(GstBuffer* frame, GstBuffer* image) {
  if (GstPad* to = pad()) {
    const bool is_there = announce(to);
    if (is_there && image)
      note_flow(to, gst_pad_push(to, std::exchange(image, nullptr)));
    else if (is_there && GST_BUFFER_PTS_IS_VALID(frame))
      gst_pad_push_event(to, gst_event_new_gap(GST_BUFFER_PTS(frame), GST_BUFFER_DURATION(frame)));
    gst_object_unref(to);
  }
  gst_clear_buffer(&image);
}

void ResponsePad::note_flow(GstPad* pad, GstFlowReturn flow) {
  const std::lock_guard lock(mutex_);
  if (pad == pad_) gst_flow_combiner_update_pad_flow(combiner_, pad, flow);
}

GstFlowReturn ResponsePad::combine(GstFlowReturn flow) {
  const std::lock_guard lock(mutex_);
  return gst_flow_combiner_update_pad_flow(combiner_, src_, flow);
}

}  // namespace cudaxcorr
