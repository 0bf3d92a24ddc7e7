// SPDX-License-Identifier: LGPL-2.1-or-later
#include "support.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <random>

Gray texture(int width, int height, unsigned seed) {
  std::mt19937 random(seed);
  Gray noise(width + 2, height + 2), smooth(width, height);
  for (auto& pixel : noise.pixels) pixel = static_cast<std::uint8_t>(random() >> 24);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      int sum = 0;
      for (int j = 0; j < 3; ++j)
        for (int i = 0; i < 3; ++i) sum += noise.at(x + i, y + j);
      smooth.at(x, y) = static_cast<std::uint8_t>(sum / 9);
    }
  return smooth;
}

Gray crop(const Gray& from, int x, int y, int width, int height) {
  Gray part(width, height);
  for (int j = 0; j < height; ++j)
    for (int i = 0; i < width; ++i) part.at(i, j) = from.at(x + i, y + j);
  return part;
}

void paste(Gray& onto, const Gray& image, int x, int y) {
  for (int j = 0; j < image.height; ++j)
    for (int i = 0; i < image.width; ++i) onto.at(x + i, y + j) = image.at(i, j);
}

const char* backend() {
  const char* requested = std::getenv("XCORR_TEST_BACKEND");
  return requested && *requested ? requested : "cpu";
}

std::vector<Peak> claims(const Found& found) {
  std::vector<Peak> seen;
  std::ranges::copy_if(found.peaks, std::back_inserter(seen),
                       [](const Peak& peak) { return !peak.lost; });
  return seen;
}

Found found_in(GstBuffer* buffer) {
  const GstStructure* result = gst_cuda_xcorr_get_result(buffer);
  fail_unless(result != nullptr, "the buffer has no result");
  Found found;
  gboolean analysed = FALSE;
  fail_unless(gst_structure_get_boolean(result, "analysed", &analysed));
  found.analysed = analysed;
  for (guint i = 0; i < gst_cuda_xcorr_get_n_peaks(result); ++i) {
    Peak peak;
    fail_unless(gst_cuda_xcorr_get_peak(result, i, &peak));
    // These live as long as the buffer.
    peak.label = peak.GstCudaXCorrPeak::label;
    peak.sample = peak.GstCudaXCorrPeak::sample;
    peak.state = peak.GstCudaXCorrPeak::state;
    found.peaks.push_back(peak);
  }
  return found;
}

GstEvent* new_segment() {
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  return gst_event_new_segment(&segment);
}

void assert_text(const std::string& text, const std::string& expected) {
  fail_unless(text == expected, "'%s' is not '%s'", text.c_str(), expected.c_str());
}

void assert_contains(const std::string& text, const std::string& part) {
  fail_unless(text.find(part) != text.npos, "'%s' does not say '%s'", text.c_str(), part.c_str());
}

void assert_at(const Peak& peak, double x, double y, double tolerance) {
  fail_unless(std::abs(peak.x - x) <= tolerance && std::abs(peak.y - y) <= tolerance,
              "found at %f,%f, expected %f,%f", peak.x, peak.y, x, y);
}

namespace {

GstContext* shared_context = nullptr;

/// What an error or a warning says. Takes the message.
GError* error_in(GstMessage* message) {
  fail_unless(message != nullptr, "there is no such message");
  GError* error = nullptr;
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
    gst_message_parse_error(message, &error, nullptr);
  else
    gst_message_parse_warning(message, &error, nullptr);
  gst_message_unref(message);
  return error;
}

/// Starts an element that a harness would only say of that it does not start.
void start(GstElement* element, const std::string& launch) {
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(element, bus);
  if (gst_element_set_state(element, GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE)
    fail_unless(false, "%s does not start: %s", launch.c_str(),
                error_in(gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR))->message);
  gst_element_set_bus(element, nullptr);
  gst_object_unref(bus);
}

}  // namespace

void share_context_of(GstElement* element) {
  GstQuery* query = gst_query_new_context("gst.cuda.context");
  GstContext* context = nullptr;
  if (element && gst_element_query(element, query)) gst_query_parse_context(query, &context);
  gst_context_replace(&shared_context, context);
  gst_query_unref(query);
}

GstHarness* harness_of(const std::string& launch) {
  GError* error = nullptr;
  GstElement* bin = gst_parse_bin_from_description(launch.c_str(), TRUE, &error);
  fail_unless(bin && !error, "cannot make %s: %s", launch.c_str(), error ? error->message : "");
  if (shared_context) gst_element_set_context(bin, shared_context);
  start(bin, launch);
  GstHarness* harness = gst_harness_new_with_element(bin, "sink", "src");
  gst_object_unref(bin);
  return harness;
}

Finder::Finder(const std::string& rest, const char* factory) {
  const std::string launch =
      std::string(factory) + " name=finder backend=" + backend() + " " + rest;
  harness = harness_of(launch);
  element = gst_bin_get_by_name(GST_BIN(harness->element), "finder");
  bus_ = gst_bus_new();
  gst_element_set_bus(harness->element, bus_);
}

Finder::~Finder() {
  gst_element_set_bus(harness->element, nullptr);
  gst_object_unref(bus_);
  gst_object_unref(element);
  gst_harness_teardown(harness);
}

void Finder::set_format(GstVideoFormat format, int width, int height) {
  format_ = format;
  width_ = width;
  height_ = height;
  GstCaps* caps =
      gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING,
                          gst_video_format_to_string(format), "width", G_TYPE_INT, width, "height",
                          G_TYPE_INT, height, "framerate", GST_TYPE_FRACTION, 25, 1, nullptr);
  gst_harness_set_src_caps(harness, caps);
}

GstBuffer* Finder::pass(GstBuffer* buffer) {
  GstBuffer* out = gst_harness_push_and_pull(harness, buffer);
  fail_unless(out != nullptr, "no frame came out");
  return out;
}

Found Finder::find(GstBuffer* buffer) {
  GstBuffer* out = pass(buffer);
  const Found found = found_in(out);
  gst_buffer_unref(out);
  return found;
}

Found Finder::find(const Gray& image) {
  if (format_ == GST_VIDEO_FORMAT_UNKNOWN || width_ != image.width || height_ != image.height)
    set_format(format_ == GST_VIDEO_FORMAT_UNKNOWN ? GST_VIDEO_FORMAT_GRAY8 : format_, image.width,
               image.height);
  return find(make_frame(format_, image));
}

void Finder::set(const char* property, const std::string& value) {
  gst_util_set_object_arg(G_OBJECT(element), property, value.c_str());
}

std::string Finder::get(const char* property) {
  GValue value = G_VALUE_INIT;
  g_object_get_property(G_OBJECT(element), property, &value);
  gchar* text =
      G_VALUE_HOLDS_STRING(&value) ? g_value_dup_string(&value) : gst_value_serialize(&value);
  const std::string result = text ? text : "";
  g_free(text);
  g_value_unset(&value);
  return result;
}

GstMessage* Finder::message(GstMessageType types) { return gst_bus_pop_filtered(bus_, types); }

guint64 stat_of(GstElement* element, const char* field) {
  GstStructure* stats = nullptr;
  g_object_get(element, "stats", &stats, nullptr);
  guint64 value = 0;
  fail_unless(gst_structure_get_uint64(stats, field, &value), "stats has no %s", field);
  gst_structure_free(stats);
  return value;
}

std::string text_of(GstMessage* message, GQuark domain, int code) {
  GError* error = error_in(message);
  fail_unless(g_error_matches(error, domain, code), "%s %d, not %s %d: %s",
              g_quark_to_string(error->domain), error->code, g_quark_to_string(domain), code,
              error->message);
  const std::string text = error->message;
  g_error_free(error);
  return text;
}

void assert_warned(Finder& finder, const std::string& text, GQuark domain, int code) {
  assert_contains(text_of(finder.message(GST_MESSAGE_WARNING), domain, code), text);
  fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr, "a second warning");
}

std::string refused_at_start(GstElement* element, GQuark domain, int code) {
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(element, bus);
  assert_equals_int(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  const std::string text = text_of(gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR), domain, code);
  fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR) == nullptr, "a second error");
  gst_element_set_state(element, GST_STATE_NULL);
  gst_element_set_bus(element, nullptr);
  gst_object_unref(bus);
  gst_object_unref(element);
  return text;
}

std::string refused_at_start(std::initializer_list<std::pair<const char*, std::string>> properties,
                             GQuark domain, int code, const char* factory) {
  GstElement* element = gst_element_factory_make(factory, nullptr);
  gst_util_set_object_arg(G_OBJECT(element), "backend", backend());
  for (const auto& [name, value] : properties)
    gst_util_set_object_arg(G_OBJECT(element), name, value.c_str());
  return refused_at_start(element, domain, code);
}
