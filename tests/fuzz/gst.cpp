// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gst.hpp"

#include <random>

#include <gst/video/video.h>

#include "folder.hpp"

extern "C" {
GST_PLUGIN_STATIC_DECLARE(cudaxcorr);
}

namespace {

void log(const gchar* domain, GLogLevelFlags level, const gchar* text, gpointer) {
  if ((level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL)) == 0) return;
  std::fprintf(stderr, "%s: %s\n", domain ? domain : "", text);
  std::abort();
}

}  // namespace

void start_gstreamer() {
  static const bool started = [] {
    g_setenv("XDG_CACHE_HOME", temporary("cache").c_str(), TRUE);  // where kernel=tune remembers
    g_setenv("XCORR_TUNE_SECONDS", "0.01", TRUE);
    g_log_set_default_handler(log, nullptr);
    gst_init(nullptr, nullptr);
    gst_debug_set_default_threshold(GST_LEVEL_NONE);
    GST_PLUGIN_STATIC_REGISTER(cudaxcorr);
    return true;
  }();
  require(started, "GStreamer has started");
}

Tested::Tested(const char* launch) : harness(gst_harness_new_parse(launch)) {
  element = gst_bin_get_by_name(GST_BIN(harness->element), "tested");
  bus_ = gst_bus_new();
  gst_element_set_bus(harness->element, bus_);
}

Tested::~Tested() {
  gst_element_set_bus(harness->element, nullptr);
  gst_object_unref(bus_);
  gst_object_unref(element);
  gst_harness_teardown(harness);
}

bool Tested::failed() {
  bool error = false;
  while (GstMessage* message = gst_bus_pop(bus_)) {
    error |= GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR;
    gst_message_unref(message);
  }
  return error;
}

void Tested::restart() {
  gst_element_set_state(harness->element, GST_STATE_NULL);
  gst_element_set_state(harness->element, GST_STATE_PLAYING);
}

GstBuffer* make_image(int width, int height) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_GRAY8, width, height);
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, info.size, nullptr);
  GstMapInfo map;
  gst_buffer_map(buffer, &map, GST_MAP_WRITE);
  std::mt19937 random(1);
  std::generate_n(map.data, map.size, [&] { return static_cast<guint8>(random() >> 24); });
  gst_buffer_unmap(buffer, &map);
  return buffer;
}

GstSample* make_sample(int width, int height) {
  GstBuffer* image = make_image(width, height);
  GstCaps* caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "GRAY8", "width",
                                      G_TYPE_INT, width, "height", G_TYPE_INT, height, nullptr);
  GstSample* sample = gst_sample_new(image, caps, nullptr, nullptr);
  gst_caps_unref(caps);
  gst_buffer_unref(image);
  return sample;
}
