// SPDX-License-Identifier: LGPL-2.1-or-later
#include "chaos_stream.hpp"

namespace {

constexpr GstClockTime frame_time = 40 * GST_MSECOND;

guint checksum(GstBuffer* buffer) {
  GstMapInfo map;
  chaos_unless(gst_buffer_map(buffer, &map, GST_MAP_READ), "a frame cannot be mapped");
  guint sum = 2166136261u;
  for (gsize i = 0; i < map.size; ++i) sum = (sum ^ map.data[i]) * 16777619u;
  gst_buffer_unmap(buffer, &map);
  return sum;
}

}  // namespace

/// Without a template a pad would accept only the caps that it has.
GstPad* new_chaos_sink() {
  static GstStaticPadTemplate any =
      GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
  return gst_pad_new_from_static_template(&any, "sink");
}

ChaosStream::ChaosStream(GstElement* element)
    : source_(gst_pad_new("source", GST_PAD_SRC)), sink_(new_chaos_sink()) {
  gst_pad_set_chain_function(sink_, chain);
  gst_pad_set_event_function(sink_, drop_event);
  gst_pad_set_event_function(source_, drop_event);
  gst_pad_set_query_function(source_, answer);
  for (GstPad* pad : {source_, sink_}) {
    gst_pad_set_element_private(pad, this);
    gst_pad_set_active(pad, TRUE);
  }
  GstPad* in = gst_element_get_static_pad(element, "sink");
  GstPad* out = gst_element_get_static_pad(element, "src");
  gst_pad_link(source_, in);
  gst_pad_link(out, sink_);
  gst_object_unref(in);
  gst_object_unref(out);
}

ChaosStream::~ChaosStream() {
  for (GstPad* pad : {source_, sink_}) {
    gst_pad_set_active(pad, FALSE);
    GstPad* peer = gst_pad_get_peer(pad);
    pad == source_ ? gst_pad_unlink(pad, peer) : gst_pad_unlink(peer, pad);
    gst_object_unref(peer);
    gst_object_unref(pad);
  }
}

// ---- the sink -------------------------------------------------------------------------------

GstFlowReturn ChaosStream::chain(GstPad* pad, GstObject*, GstBuffer* buffer) {
  static_cast<ChaosStream*>(gst_pad_get_element_private(pad))->arrived(buffer);
  return GST_FLOW_OK;
}

gboolean ChaosStream::drop_event(GstPad*, GstObject*, GstEvent* event) {
  gst_event_unref(event);
  return TRUE;
}

gboolean ChaosStream::answer(GstPad* pad, GstObject* parent, GstQuery* query) {
  if (GST_QUERY_TYPE(query) != GST_QUERY_LATENCY) return gst_pad_query_default(pad, parent, query);
  gst_query_set_latency(query, FALSE, 0, GST_CLOCK_TIME_NONE);
  return TRUE;
}

void ChaosStream::arrived(GstBuffer* buffer) {
  const guint64 number = GST_BUFFER_OFFSET(buffer);
  const guint sum = checksum(buffer);
  const std::lock_guard lock(mutex_);
  const auto sent = on_the_way_.find(number);
  chaos_unless(sent != on_the_way_.end(), "frame %" G_GUINT64_FORMAT " came twice or out of order",
               number);
  const guint64 oldest = on_the_way_.begin()->first;
  const auto last_missing = std::prev(sent, sent != on_the_way_.begin())->first;
  chaos_unless(oldest == number || last_missing < forgiven_,
               "frame %" G_GUINT64_FORMAT " is missing before %" G_GUINT64_FORMAT, last_missing,
               number);
  const Sent& was = sent->second;
  chaos_unless(was.checksum == sum, "the pixels of frame %" G_GUINT64_FORMAT " are others", number);
  chaos_unless(was.pts == GST_BUFFER_PTS(buffer) && was.dts == GST_BUFFER_DTS(buffer) &&
                   was.duration == GST_BUFFER_DURATION(buffer),
               "the times of frame %" G_GUINT64_FORMAT " are others", number);
  if (was.kept)
    taken_.push_back(buffer);
  else
    gst_buffer_unref(buffer);
  on_the_way_.erase(on_the_way_.begin(), std::next(sent));
}

std::vector<GstBuffer*> ChaosStream::taken() {
  const std::lock_guard lock(mutex_);
  chaos_unless(on_the_way_.empty() || on_the_way_.rbegin()->first < forgiven_,
               "frame %" G_GUINT64_FORMAT " is missing at the end", on_the_way_.rbegin()->first);
  on_the_way_.clear();
  return std::exchange(taken_, {});
}

// ---- stops and flushes ----------------------------------------------------------------------

/// What is on its way may be discarded.
void ChaosStream::forgive() {
  const std::lock_guard lock(mutex_);
  forgiven_ = frames_;
}

void ChaosStream::park() {
  std::unique_lock lock(mutex_);
  parked_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return next_.has_value(); });
  const Next next = *next_;
  lock.unlock();
  forgive();
  if (next == Next::start) {
    begin(format_, width_, height_);
  } else {
    push(gst_event_new_flush_stop(TRUE));
    if (begun_)
      begin_segment();
    else
      begin(format_, width_, height_);
  }
  lock.lock();
  parked_ = interrupted_ = false;
  next_.reset();
  changed_.notify_all();
}

void ChaosStream::wait_for_source() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return parked_; });
}

void ChaosStream::go_on(Next next) {
  std::unique_lock lock(mutex_);
  next_ = next;
  changed_.notify_all();
  // Else the next flush could begin before this one ends.
  changed_.wait(lock, [&] { return !parked_; });
}

// ---- the source -----------------------------------------------------------------------------

void ChaosStream::begin(GstVideoFormat format, int width, int height) {
  if (width != width_ || height != height_) background_ = texture(width, height);
  format_ = format;
  width_ = width;
  height_ = height;
  push(gst_event_new_stream_start("chaos"));
  GstCaps* caps =
      gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING,
                          gst_video_format_to_string(format), "width", G_TYPE_INT, width, "height",
                          G_TYPE_INT, height, "framerate", GST_TYPE_FRACTION, 25, 1, nullptr);
  begun_ = push(gst_event_new_caps(caps));
  gst_caps_unref(caps);
  begin_segment();
}

void ChaosStream::begin_segment() { push(new_segment()); }

GstFlowReturn ChaosStream::push(Place place, Random& random, bool kept) {
  Gray image = background_;
  paste(image, patch_, place.x, place.y);
  GstBuffer* buffer = make_frame(format_, image, kept ? 0 : 4 * random.below(3));
  const guint64 number = GST_BUFFER_OFFSET(buffer) = frames_++;
  GST_BUFFER_PTS(buffer) = random.once_in(20) ? GST_CLOCK_TIME_NONE : number * frame_time;
  GST_BUFFER_DURATION(buffer) = random.once_in(20) ? GST_CLOCK_TIME_NONE : frame_time;
  if (random.once_in(10)) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
  {
    const guint sum = checksum(buffer);
    const std::lock_guard lock(mutex_);
    on_the_way_[number] = {sum, GST_BUFFER_PTS(buffer), GST_BUFFER_DTS(buffer),
                           GST_BUFFER_DURATION(buffer), kept};
  }
  GstBuffer* shared = random.once_in(5) ? gst_buffer_ref(buffer) : nullptr;  // as after a tee
  const GstFlowReturn flow = gst_pad_push(source_, buffer);
  gst_clear_buffer(&shared);
  return flow;
}

void ChaosStream::drain() {
  push(gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_new_empty("drain")));
}

void ChaosStream::query(Random& random) {
  GstCaps* caps = gst_pad_get_current_caps(source_);
  GstQuery* queries[] = {
      gst_query_new_allocation(caps, TRUE), gst_query_new_drain(),
      gst_query_new_custom(static_cast<GstQueryType>(GST_QUERY_MAKE_TYPE(
                               250, GST_QUERY_TYPE_DOWNSTREAM | GST_QUERY_TYPE_SERIALIZED)),
                           gst_structure_new_empty("chaos")),
      gst_query_new_accept_caps(caps), gst_query_new_caps(nullptr)};
  gst_pad_peer_query(source_, random.of(queries));
  for (GstQuery* query : queries) gst_query_unref(query);
  gst_caps_unref(caps);
}

void ChaosStream::something_else(Random& random) {
  GstSegment segment;
  gst_segment_init(&segment, random.once_in(4) ? GST_FORMAT_BYTES : GST_FORMAT_TIME);
  switch (random.below(9)) {
    case 0:
      random.step("other caps");
      return begin(random.of(all_formats), 40 + 2 * random.below(40), 30 + 2 * random.below(30));
    case 1:
      random.step("segment");
      segment.rate = random.once_in(3) ? 2 : 1;
      segment.base = random.bits() % (10 * GST_SECOND);
      push(gst_event_new_segment(&segment));
      return;
    case 2:
      random.step("gap");
      push(gst_event_new_gap(frames_ * frame_time, frame_time));
      return;
    case 3:
      random.step("tags");
      push(gst_event_new_tag(gst_tag_list_new(GST_TAG_TITLE, "chaos", nullptr)));
      return;
    case 4:
      random.step("end of stream");
      push(gst_event_new_eos());
      return begin(format_, width_, height_);
    case 5:
      random.step("pause");
      return g_usleep(static_cast<gulong>(random.below(3000)));
    default:
      random.step("query in the stream");
      return query(random);
  }
}

void ChaosStream::run(Random random) {
  begin(GST_VIDEO_FORMAT_GRAY8, 96, 64);
  while (!ended_) {
    if (random.once_in(8)) something_else(random);
    random.step("frame");
    const GstFlowReturn flow =
        push({random.below(width_ - patch_size), random.below(height_ - patch_size)}, random);
    // A stop may also make GStreamer refuse events, and then frames: errors that nobody posts.
    if (flow != GST_FLOW_OK && interrupted_ && ChaosRun::error.empty())
      park();
    else
      chaos_unless(flow == GST_FLOW_OK, "the stream ends: %s %s", gst_flow_get_name(flow),
                   ChaosRun::error.c_str());
  }
}
