// SPDX-License-Identifier: LGPL-2.1-or-later
#include "run.hpp"

#include <time.h>

#include <algorithm>
#include <memory>

#include "../require.hpp"

namespace bench {
namespace {

double cpu_seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

[[noreturn]] void fail_with(GstMessage* message) {
  GError* error = nullptr;
  gchar* details = nullptr;
  gst_message_parse_error(message, &error, &details);
  fail({xcorr::Code::invalid_argument,
        std::string(error->message) + " (" + (details ? details : "") + ")"});
}

}  // namespace

void play(GstElement* pipeline) {
  GstBus* bus = gst_element_get_bus(pipeline);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus, GST_CLOCK_TIME_NONE, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) fail_with(message);
  gst_message_unref(message);
  gst_object_unref(bus);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

RunResult run(const Scene& scene, int streams, const LaneSettings& settings) {
  GstElement* pipeline = gst_pipeline_new(nullptr);
  std::latch ready(streams);
  std::vector<std::unique_ptr<Lane>> lanes;
  for (int i = 0; i < streams; ++i)
    lanes.push_back(std::make_unique<Lane>(GST_BIN(pipeline), scene, settings, ready));
  const double cpu_begin = cpu_seconds();
  play(pipeline);
  const double cpu = cpu_seconds() - cpu_begin;

  RunResult sum;
  for (const auto& lane : lanes) {
    const LaneResult result = lane->result();
    sum.frames += result.frames;
    sum.unanalysed += result.unanalysed;
    sum.wrong += result.wrong;
    sum.frames_per_s += result.timed / (1e-9 * double(result.end_ns - result.begin_ns));
    sum.added_ms.insert(sum.added_ms.end(), result.added_ms.begin(), result.added_ms.end());
    sum.kernel = result.kernel;
  }
  sum.cpu_ms = 1e3 * cpu / sum.frames;
  std::ranges::sort(sum.added_ms);
  return sum;
}

double quantile(const std::vector<double>& sorted, double share) {
  return sorted.empty() ? 0 : sorted[std::size_t(share * double(sorted.size() - 1) + 0.5)];
}

}  // namespace bench
