// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/image_pipeline.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>

#include <gio/gio.h>
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/base/gsttypefindhelper.h>

#include "matching/image_flaws.h"
#include "matching/image_size.h"
#include "matching/unreleased_frames.h"

namespace cudaxcorr {
namespace {

struct Unref {
  void operator()(gpointer object) const { gst_object_unref(object); }
  void operator()(GstCaps* caps) const { gst_caps_unref(caps); }
  void operator()(GError* error) const { g_error_free(error); }
  void operator()(GstMessage* message) const { gst_message_unref(message); }
};
template <class T>
using Ref = std::unique_ptr<T, Unref>;

/// What the callbacks of the pipeline's threads know and tell.
struct Watch {
  const unsigned max_pixels;
  GstBus* bus = nullptr;
  GstTaskPool* threads = nullptr;
  std::atomic<bool> refused = false;           ///< a plugin that could go on with the contents
  GstPadGetRangeFunction get_range = nullptr;  ///< of the source
  unsigned reads_past_the_end = 0;
};

Ref<GstCaps> type_of(std::string_view contents) {
  const auto* data = reinterpret_cast<const guint8*>(contents.data());
  return Ref<GstCaps>(gst_type_find_helper_for_data(nullptr, data, contents.size(), nullptr));
}

std::string excess_in(GstCaps* caps, unsigned max_pixels) {
  const GstStructure* structure = gst_caps_get_structure(caps, 0);
  int width = 0, height = 0;
  gst_structure_get(structure, "width", G_TYPE_INT, &width, "height", G_TYPE_INT, &height, nullptr);
  return excess_of(width, height, max_pixels);
}

/// Demuxers look for what they need in the file, and some of libav's never end when they cannot.
/// Decoders get the whole file in one buffer, since not all of them put pieces together.
bool is_demuxed(GstCaps* type) {
  GList* demuxers =
      gst_element_factory_list_get_elements(GST_ELEMENT_FACTORY_TYPE_DEMUXER, GST_RANK_MARGINAL);
  GList* able = gst_element_factory_list_filter(demuxers, type, GST_PAD_SINK, FALSE);
  const bool any = able != nullptr;
  gst_plugin_feature_list_free(able);
  gst_plugin_feature_list_free(demuxers);
  return any;
}

/// Whether a plugin is of the kinds that read images from what they are given. Those of playlists
/// and manifests, of the network and of projects have other words in their class, and so have
/// decoders of audio and hardware.
bool reads_images(GstElementFactory* factory) {
  static constexpr std::string_view known[] = {"Codec", "Demuxer",   "Parser", "Decoder",  "Image",
                                               "Video", "Converter", "Bin",    "Metadata", ""};
  std::string_view words = gst_element_factory_get_metadata(factory, GST_ELEMENT_METADATA_KLASS);
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find('/'));
    if (std::ranges::find(known, word) == std::end(known)) return false;
    words.remove_prefix(std::min(words.size(), word.size() + 1));
  }
  return true;
}

/// SVG says how to draw an image, and the size says nothing about what that costs.
bool is_drawing(GstCaps* type) {
  return g_str_has_prefix(gst_structure_get_name(gst_caps_get_structure(type, 0)), "image/svg");
}

/// An allocator that has nothing to give.
GstAllocator* no_memory() {
  struct Class : GstAllocatorClass {};
  static const GType type = g_type_register_static_simple(
      GST_TYPE_ALLOCATOR, "GstCudaXCorrNoMemory", sizeof(Class),
      [](gpointer klass, gpointer) {
        static_cast<GstAllocatorClass*>(klass)->alloc = [](auto...) -> GstMemory* {
          return nullptr;
        };
      },
      sizeof(GstAllocator), nullptr, static_cast<GTypeFlags>(0));
  return GST_ALLOCATOR(gst_object_ref_sink(g_object_new(type, nullptr)));
}

void tell(const Watch& watch, gpointer source, const std::string& text) {
  const Ref<GError> error(
      g_error_new_literal(GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, text.c_str()));
  gst_bus_post(watch.bus, gst_message_new_error(GST_OBJECT(source), error.get(), nullptr));
}

/// Of decodebin's GstAutoplugSelectResult, which no header has.
enum Choice { try_it = 0, skip_it = 2 };

gint choose(GstElement*, GstPad* pad, GstCaps* type, GstElementFactory* factory, Watch* watch) {
  if (const std::string excess = excess_in(type, watch->max_pixels); !excess.empty()) {
    tell(*watch, pad, excess);
    return skip_it;
  }
  if (reads_images(factory) && !is_drawing(type)) return try_it;
  watch->refused = true;
  return skip_it;
}

/// Parsers announce an image's size before decoders see it; if it is too large, the thread is held
/// here until the pipeline stops.
GstPadProbeReturn check_announced(GstPad* pad, GstEvent* event, const Watch& watch) {
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS) return GST_PAD_PROBE_PASS;
  GstCaps* caps = nullptr;
  gst_event_parse_caps(event, &caps);
  if (gst_structure_has_name(gst_caps_get_structure(caps, 0), "video/x-raw"))
    return GST_PAD_PROBE_PASS;
  const std::string excess = excess_in(caps, watch.max_pixels);
  if (excess.empty()) return GST_PAD_PROBE_PASS;
  tell(watch, pad, excess);
  return GST_PAD_PROBE_OK;
}

/// Decoders ask for memory before they decode; for an image that is too large they get none.
GstPadProbeReturn check_allocation(GstPad* pad, GstQuery* query, const Watch& watch) {
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION) return GST_PAD_PROBE_PASS;
  GstCaps* caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  const std::string excess = caps ? excess_in(caps, watch.max_pixels) : "";
  if (excess.empty()) return GST_PAD_PROBE_PASS;
  const Ref<GstAllocator> allocator(no_memory());
  gst_query_add_allocation_param(query, allocator.get(), nullptr);
  tell(watch, pad, excess);
  return GST_PAD_PROBE_HANDLED;
}

GstPadProbeReturn check(GstPad* pad, GstPadProbeInfo* info, gpointer data) {
  const Watch& watch = *static_cast<const Watch*>(data);
  return info->type & GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM
             ? check_allocation(pad, GST_PAD_PROBE_INFO_QUERY(info), watch)
             : check_announced(pad, GST_PAD_PROBE_INFO_EVENT(info), watch);
}

void watch_element(GstBin*, GstBin*, GstElement* element, Watch* watch) {
  gst_element_foreach_src_pad(
      element,
      [](GstElement*, GstPad* pad, gpointer data) -> gboolean {
        gst_pad_add_probe(pad,
                          static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BLOCK |
                                                       GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM |
                                                       GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM),
                          check, data, nullptr);
        return TRUE;
      },
      watch);
}

/// Threads of GStreamer's own pool are waited for by gst_deinit(), also those that never end.
GstBusSyncReply give_thread(GstBus*, GstMessage* message, gpointer data) {
  if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_STREAM_STATUS) return GST_BUS_PASS;
  GstStreamStatusType type;
  gst_message_parse_stream_status(message, &type, nullptr);
  const GValue* task = gst_message_get_stream_status_object(message);
  if (type == GST_STREAM_STATUS_TYPE_CREATE && task && G_VALUE_HOLDS(task, GST_TYPE_TASK))
    gst_task_set_pool(GST_TASK(g_value_get_object(task)), static_cast<Watch*>(data)->threads);
  return GST_BUS_PASS;
}

/// libav's demuxers take the end of the file for a pause and read there again and again, for ever.
/// An error stops them; others do not come so far.
GstFlowReturn read_range(GstPad* pad, GstObject* parent, guint64 offset, guint size,
                         GstBuffer** buffer) {
  constexpr unsigned patience = 1000;
  Watch& watch = *static_cast<Watch*>(pad->getrangedata);
  const GstFlowReturn flow = watch.get_range(pad, parent, offset, size, buffer);
  if (flow != GST_FLOW_EOS || ++watch.reads_past_the_end < patience) return flow;
  return GST_FLOW_ERROR;
}

std::string reason_of(GstMessage* message, const Watch& watch) {
  GError* parsed = nullptr;
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
    gst_message_parse_error(message, &parsed, nullptr);
  else
    gst_message_parse_warning(message, &parsed, nullptr);
  const Ref<GError> error(parsed);
  const auto is = [&](GQuark domain, int code) {
    return g_error_matches(error.get(), domain, code);
  };
  // What was decoded is not video and could not be linked, or the plugin that is missing is one
  // that was not to be used.
  const bool none = error->domain == GST_PARSE_ERROR ||
                    (watch.refused && (is(GST_CORE_ERROR, GST_CORE_ERROR_MISSING_PLUGIN) ||
                                       is(GST_STREAM_ERROR, GST_STREAM_ERROR_CODEC_NOT_FOUND)));
  if (none) return "there is no image in it";
  const bool broken = is(GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE) ||
                      is(GST_STREAM_ERROR, GST_STREAM_ERROR_WRONG_TYPE);
  return (broken ? "the image in it is broken, or not complete: " : "") +
         std::string(error->message);
}

/// Says what the image is, where that says more than what its decoder did.
std::string unread(const Contents& contents, const std::string& reason) {
  const std::string kind = kind_of(view(contents));
  return kind.empty() ? reason : "it is " + kind + ": " + reason;
}

/// Waits until the pipeline has prerolled, or has failed and the reason is set. Decoders warn of
/// damaged images, which counts as a failure here.
void wait_for_preroll(const Watch& watch, GstClockTime time_limit, std::string& reason) {
  const Ref<GstMessage> message(gst_bus_timed_pop_filtered(
      watch.bus, time_limit,
      static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING |
                                  GST_MESSAGE_ASYNC_DONE)));
  if (!message)
    reason = "decoding took too long";
  else if (GST_MESSAGE_TYPE(message.get()) != GST_MESSAGE_ASYNC_DONE)
    reason = reason_of(message.get(), watch);
}

void set_stream(GstElement* source, const Contents& contents, Watch& watch) {
  GInputStream* stream = g_memory_input_stream_new_from_bytes(contents.get());
  g_object_set(source, "stream", stream, nullptr);
  g_object_unref(stream);
  const Ref<GstPad> pad(gst_element_get_static_pad(source, "src"));
  watch.get_range = GST_PAD_GETRANGEFUNC(pad.get());
  gst_pad_set_getrange_function_full(pad.get(), read_range, &watch, nullptr);
}

void push(GstElement* source, const Contents& contents) {
  gst_app_src_push_buffer(GST_APP_SRC(source), gst_buffer_new_wrapped_bytes(contents.get()));
  gst_app_src_end_of_stream(GST_APP_SRC(source));
}

/// The elements that turn what is decoded to lie as the file says.
std::string turning(unsigned orientation) {
  static constexpr const char* directions[] = {"horiz", "180",   "vert", "ul-lr",
                                               "90r",   "ur-ll", "90l"};
  if (orientation < 2) return "";
  return std::string("videoconvert ! videoflip video-direction=") + directions[orientation - 2] +
         " ! ";
}

/// Whether other images follow that one, as far as the length of the file is known; the type of a
/// file of one image says that it is one.
bool has_more(GstCaps* type, GstElement* pipeline, GstSample* image) {
  if (g_str_has_prefix(gst_structure_get_name(gst_caps_get_structure(type, 0)), "image/"))
    return false;
  gint64 length = 0;
  const GstClockTime first = GST_BUFFER_DURATION(gst_sample_get_buffer(image));
  if (!gst_element_query_duration(pipeline, GST_FORMAT_TIME, &length) ||
      !GST_CLOCK_TIME_IS_VALID(first))
    return true;
  return static_cast<GstClockTime>(length) > first + first / 2;
}

Ref<GstElement> child(const Ref<GstElement>& pipeline, const char* name) {
  return Ref<GstElement>(gst_bin_get_by_name(GST_BIN(pipeline.get()), name));
}

}  // namespace

DecodedImage decode(const Contents& contents, unsigned max_pixels, GstClockTime time_limit,
                    std::string& reason) {
  const auto refuse = [&](const std::string& text) {
    reason = text;
    return DecodedImage();
  };
  if (const std::string flaw = flaw_of(view(contents), max_pixels); !flaw.empty())
    return refuse(flaw);
  const Ref<GstCaps> type = type_of(view(contents));
  if (!type) return refuse(unread(contents, "there is no image in it"));
  if (const std::string excess = excess_in(type.get(), max_pixels); !excess.empty())
    return refuse(excess);

  const bool demuxed = is_demuxed(type.get());
  const std::string launch =
      std::string(demuxed ? "giostreamsrc" : "appsrc") + " name=file ! decodebin name=decoder ! " +
      turning(orientation_of(view(contents))) +
      "appsink name=image caps=video/x-raw sync=false enable-last-sample=false";
  Watch watch{max_pixels};
  const Ref<GstTaskPool> threads(gst_task_pool_new());
  gst_task_pool_prepare(threads.get(), nullptr);
  watch.threads = threads.get();
  GError* error = nullptr;
  const Ref<GstElement> pipeline(gst_parse_launch(launch.c_str(), &error));
  if (const Ref<GError> owned{error}) return refuse(owned->message);
  const Ref<GstElement> source = child(pipeline, "file"), decoder = child(pipeline, "decoder"),
                        sink = child(pipeline, "image");
  const Ref<GstBus> bus(gst_element_get_bus(pipeline.get()));
  watch.bus = bus.get();
  gst_bus_set_sync_handler(bus.get(), give_thread, &watch, nullptr);
  g_object_set(decoder.get(), "sink-caps", type.get(), nullptr);
  g_signal_connect(decoder.get(), "autoplug-select", G_CALLBACK(choose), &watch);
  g_signal_connect(pipeline.get(), "deep-element-added", G_CALLBACK(watch_element), &watch);
  if (demuxed) set_stream(source.get(), contents, watch);
  gst_element_set_state(pipeline.get(), GST_STATE_PAUSED);
  if (!demuxed) push(source.get(), contents);

  wait_for_preroll(watch, time_limit, reason);
  DecodedImage image;
  if (reason.empty())
    image.sample = take_sample(gst_app_sink_try_pull_preroll(GST_APP_SINK(sink.get()), 0));
  if (image) image.of_video = has_more(type.get(), pipeline.get(), image.sample.get());
  std::optional<UnreleasedFrames> left;
  if (!image) left.emplace(pipeline.get());
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  gst_task_pool_cleanup(threads.get());
  if (reason.empty() && !image) reason = "the image in it is not complete";
  if (!image) reason = unread(contents, reason);
  return image;
}

}  // namespace cudaxcorr
