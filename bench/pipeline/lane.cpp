// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lane.hpp"

#include <chrono>
#include <cmath>

#include "../require.hpp"
#include "gstcudaxcorrmeta.h"

namespace bench {
namespace {

GstElement* make(GstBin* pipeline, const std::string& launch) {
  GError* error = nullptr;
  GstElement* element =
      gst_parse_launch_full(launch.c_str(), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (!element) fail({xcorr::Code::invalid_argument, launch + ": " + error->message});
  gst_bin_add(pipeline, element);
  return element;
}

/// The one that the element proposes; null: none.
GstBufferPool* pool_for(GstElement* source, GstCaps* caps) {
  GstQuery* query = gst_query_new_allocation(caps, TRUE);
  GstPad* pad = gst_element_get_static_pad(source, "src");
  GstBufferPool* pool = nullptr;
  if (gst_pad_peer_query(pad, query) && gst_query_get_n_allocation_pools(query) > 0)
    gst_query_parse_nth_allocation_pool(query, 0, &pool, nullptr, nullptr, nullptr);
  gst_object_unref(pad);
  gst_query_unref(query);
  return pool;
}

/// Of the pool, if there is one, else of ordinary memory.
std::vector<GstBuffer*> make_buffers(GstBufferPool* pool, std::size_t bytes) {
  std::vector<GstBuffer*> buffers;
  if (pool) gst_buffer_pool_set_active(pool, TRUE);
  for (int i = 0; i < Scene::distinct; ++i) {
    GstBuffer* buffer = nullptr;
    if (!pool || gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr) != GST_FLOW_OK)
      buffer = gst_buffer_new_allocate(nullptr, bytes, nullptr);
    buffers.push_back(buffer);
  }
  if (pool) gst_buffer_pool_set_active(pool, FALSE);  // each buffer is freed when it comes back
  return buffers;
}

int frame_of(GstBuffer* buffer) { return static_cast<int>(GST_BUFFER_OFFSET(buffer)); }

}  // namespace

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

Lane::Lane(GstBin* pipeline, const Scene& scene, LaneSettings settings, std::latch& ready)
    : scene_(scene),
      settings_(std::move(settings)),
      ready_(ready),
      source_(make(pipeline, "appsrc format=time")),
      element_(make(pipeline, "cudaxcorr " + settings_.element)),
      sink_(make(pipeline, "fakesink sync=false")),
      ns_(static_cast<std::size_t>(settings_.frames)) {
  GstCaps* caps = scene.caps(settings_.rate);
  g_object_set(source_, "caps", caps, "is-live", settings_.rate > 0, nullptr);
  gst_caps_unref(caps);
  GstSample* patch = scene.patch();
  g_object_set(element_, "template-sample", patch, nullptr);
  gst_sample_unref(patch);
  gst_element_link_many(source_, element_, sink_, nullptr);

  GstAppSrcCallbacks callbacks{};
  callbacks.need_data = [](GstAppSrc*, guint, gpointer lane) { static_cast<Lane*>(lane)->give(); };
  gst_app_src_set_callbacks(GST_APP_SRC(source_), &callbacks, this, nullptr);
  probe(element_, "sink", [](GstPad*, GstPadProbeInfo* info, gpointer lane) {
    static_cast<Lane*>(lane)->ns_[frame_of(GST_PAD_PROBE_INFO_BUFFER(info))] = now_ns();
    return GST_PAD_PROBE_OK;
  });
  probe(element_, "src", [](GstPad*, GstPadProbeInfo* info, gpointer lane) {
    std::int64_t& ns = static_cast<Lane*>(lane)->ns_[frame_of(GST_PAD_PROBE_INFO_BUFFER(info))];
    ns = now_ns() - ns;
    return GST_PAD_PROBE_OK;
  });
  probe(sink_, "sink", [](GstPad*, GstPadProbeInfo* info, gpointer lane) {
    static_cast<Lane*>(lane)->check(GST_PAD_PROBE_INFO_BUFFER(info));
    return GST_PAD_PROBE_OK;
  });
}

Lane::~Lane() {
  for (GstBuffer* buffer : buffers_) gst_buffer_unref(buffer);
}

void Lane::probe(GstElement* element, const char* name, GstPadProbeCallback callback) {
  GstPad* pad = gst_element_get_static_pad(element, name);
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, callback, this, nullptr);
  gst_object_unref(pad);
}

/// The first frame goes before the pool is asked for, since the element answers when it knows caps.
void Lane::give() {
  const int frame = given_++;
  if (frame == settings_.frames) {
    gst_app_src_end_of_stream(GST_APP_SRC(source_));
    return;
  }
  if (frame == 1) prepare();
  if (settings_.before_frame) settings_.before_frame(element_, frame);
  GstBuffer* buffer;
  if (frame == 0) {
    buffer = gst_buffer_new_allocate(nullptr, scene_.bytes(), nullptr);
    scene_.draw(0, buffer);
  } else {
    buffer = gst_buffer_copy(buffers_[frame % Scene::distinct]);  // of the same memory
  }
  if (settings_.rate > 0) wait_until(time_of(frame));
  GST_BUFFER_PTS(buffer) = time_of(frame);
  GST_BUFFER_OFFSET(buffer) = static_cast<guint64>(frame);
  gst_app_src_push_buffer(GST_APP_SRC(source_), buffer);
}

void Lane::prepare() {
  GstCaps* caps = scene_.caps(settings_.rate);
  GstBufferPool* pool = settings_.ordinary_memory ? nullptr : pool_for(source_, caps);
  buffers_ = make_buffers(pool, scene_.bytes());
  gst_clear_object(&pool);
  gst_caps_unref(caps);
  for (int i = 0; i < Scene::distinct; ++i) scene_.draw(i, buffers_[i]);
  ready_.arrive_and_wait();
  first_paced_ = 1;
  if (settings_.rate > 0) epoch_ = gst_element_get_current_running_time(source_);
}

GstClockTime Lane::time_of(int frame) const {
  const int rate = settings_.rate > 0 ? settings_.rate : 60;
  return epoch_ + gst_util_uint64_scale(frame - first_paced_, GST_SECOND, rate);
}

void Lane::wait_until(GstClockTime running_time) {
  GstClock* clock = gst_element_get_clock(source_);
  const GstClockID id =
      gst_clock_new_single_shot_id(clock, gst_element_get_base_time(source_) + running_time);
  gst_clock_id_wait(id, nullptr);
  gst_clock_id_unref(id);
  gst_object_unref(clock);
}

void Lane::check(GstBuffer* buffer) {
  const int frame = frame_of(buffer);
  result_.end_ns = now_ns();
  if (frame == std::min(warm_up, settings_.frames / 2)) result_.begin_ns = result_.end_ns;
  if (result_.begin_ns != 0 && result_.begin_ns != result_.end_ns) ++result_.timed;
  ++result_.frames;

  const GstStructure* found = gst_cuda_xcorr_get_result(buffer);
  gboolean analysed = FALSE;
  if (!found || !gst_structure_get_boolean(found, "analysed", &analysed) || !analysed) {
    ++result_.unanalysed;
    return;
  }
  result_.kernel = gst_structure_get_string(found, "kernel");
  const auto [x, y] = scene_.place(frame);
  GstCudaXCorrPeak peak;
  // Of the first template, the patch; the others are nowhere.
  if (!gst_cuda_xcorr_get_peak(found, 0, &peak) || peak.template_index != 0 || peak.lost ||
      std::hypot(peak.x - x, peak.y - y) > 1 || peak.score < 0.99)
    ++result_.wrong;
}

LaneResult Lane::result() const {
  LaneResult result = result_;
  const int first = std::min(warm_up, settings_.frames / 2);
  for (auto ns = ns_.begin() + first; ns != ns_.end(); ++ns)
    result.added_ms.push_back(1e-6 * double(*ns));
  return result;
}

}  // namespace bench
