// SPDX-License-Identifier: LGPL-2.1-or-later
#include "latency_tracer.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <algorithm>
#include <mutex>
#include <utility>

#include <gst/gst.h>

#include "lane.hpp"

namespace bench {
namespace {

std::mutex mutex;
std::vector<double> latencies_ms;

void note(GstDebugCategory*, GstDebugLevel, const gchar*, const gchar*, gint, GObject*,
          GstDebugMessage* message, gpointer) {
  const gchar* text = gst_debug_message_get(message);
  if (!g_str_has_prefix(text, "element-latency,") || !std::strstr(text, "(string)cudaxcorr"))
    return;
  GstStructure* fields = gst_structure_from_string(text, nullptr);
  guint64 ns = 0;
  if (fields && gst_structure_get_uint64(fields, "time", &ns)) {
    const std::lock_guard lock(mutex);
    latencies_ms.push_back(1e-6 * double(ns));
  }
  g_clear_pointer(&fields, gst_structure_free);
}

}  // namespace

bool enable_latency_tracer() {
  guint major = 0, minor = 0, micro = 0, nano = 0;
  gst_version(&major, &minor, &micro, &nano);
  if (minor == 26) {  // seen with 1.26.2: it waits for a pad's lock that its caller holds
    std::puts("# no latency tracer: with GStreamer 1.26 it hangs");
    return false;
  }
  setenv("GST_TRACERS", "latency(flags=element)", 1);
  return true;
}

void read_latency_tracer() {
  gst_debug_remove_log_function(gst_debug_log_default);
  gst_debug_add_log_function(note, nullptr, nullptr);
  gst_debug_set_threshold_for_name("GST_TRACER", GST_LEVEL_TRACE);
}

std::vector<double> take_element_latencies() {
  const std::lock_guard lock(mutex);
  std::vector<double> taken = std::exchange(latencies_ms, {});
  taken.erase(taken.begin(),
              taken.begin() + std::min<std::ptrdiff_t>(std::ssize(taken) / 2, Lane::warm_up));
  std::ranges::sort(taken);
  return taken;
}

}  // namespace bench
