// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element xcorrredis as GStreamer sees it: frames pass unchanged, and each makes an entry. How
// entries reach the server is in sender.cpp.

/**
 * SECTION:element-xcorrredis
 * @title: xcorrredis
 *
 * Adds what #cudaxcorr found to a stream of a Redis or Valkey server by XADD, one entry for each
 * frame. The fields of an entry are the members of a line of #xcorrjson, their values JSON.
 *
 * The stream is `places:CAMERA`, of #xcorrredis:camera or else #cudaxcorr:camera-id, and `places`
 * where there is none. An entry's ID is the time of its frame in UTC, `MILLISECONDS-NANOSECONDS`:
 * that of the source, if a #GstReferenceTimestampMeta tells it, else that of its arrival here. An
 * ID is never used twice, so that nothing is doubled by an entry that is sent again.
 *
 * Frames never wait for the network. Entries wait in a queue for a server that is away, slow or
 * full; of those that do not fit in it the oldest are dropped. #xcorrredis:stats counts them, and a
 * warning tells of it, once per second at most.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 rtspsrc location=rtsp://gate.example add-reference-timestamp-meta=true ! decodebin
 * ! \
 *   videoconvert ! cudaxcorr template=patch.png camera-id=gate post-messages=false ! \
 *   xcorrredis address=redis://results.example:6379 ! fakesink
 * ]| Hand the places of a template to a server.
 *
 * Since: 0.1
 */
#include "redis/redis.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "common/callback.h"
#include "common/fault.h"
#include "common/field_properties.h"
#include "common/property_rows.h"
#include "common/times.h"
#include "gstcudaxcorrmeta.h"
#include "json/json_text.h"
#include "redis/sender.h"
#include "redis/tls.h"

GST_DEBUG_CATEGORY_STATIC(gst_xcorr_redis_debug);
#define GST_CAT_DEFAULT gst_xcorr_redis_debug

namespace {

using namespace cudaxcorr;

constexpr auto write_only =
    static_cast<GParamFlags>(G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);

struct Settings {
  std::string address = "redis://localhost:6379", password, stream, camera;
  std::int64_t max_length = 10000;
  unsigned queue_size = 1000;
};

using Rows = PropertyRows<FieldProperty<Settings>>;

const FieldProperties<Settings>& properties() {
  static const FieldProperties<Settings> table = {
      Rows::text("address", "Address",
                 "The server: redis://[USER@]HOST[:PORT], rediss:// for TLS, or "
                 "unix:PATH",
                 XCORR_AT(address), ready),
      Rows::text("password", "Password",
                 "Of the user (none: the environment's REDISCLI_AUTH, if it is set)",
                 XCORR_AT(password), write_only),
      Rows::text("stream", "Stream", "Key of the stream (none: 'places:' and the camera)",
                 XCORR_AT(stream), ready),
      Rows::text("camera", "Camera", "Name of the camera (none: 'camera-id' of cudaxcorr)",
                 XCORR_AT(camera), ready),
      Rows::integer("max-length", "Maximum length",
                    "Number of entries, about, that the stream keeps (0: all)", 0, G_MAXINT64,
                    XCORR_AT(max_length), ready),
      Rows::count("queue-size", "Queue size",
                  "Number of entries that wait for the server before the oldest are "
                  "dropped",
                  1, G_MAXUINT, XCORR_AT(queue_size), ready),
  };
  return table;
}

struct Element {
  // Under the object lock.
  Settings settings;
  // Of the streaming thread and of state changes.
  Settings working;
  std::unique_ptr<Sender> sender;
  GstClockTime last_id = 0;
  bool warned_of_clock = false;  ///< since the start

  SenderCounts counts;
};

}  // namespace

struct _GstXCorrRedis {
  GstBaseTransform parent;
  Element* element;
};

G_DEFINE_TYPE(GstXCorrRedis, gst_xcorr_redis, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(xcorrredis, "xcorrredis", GST_RANK_NONE, GST_TYPE_XCORR_REDIS)

namespace {

GstStructure* stats(const SenderCounts& counts) {
  const guint64 pushed = counts.pushed, sent = counts.sent, dropped = counts.dropped;
  return gst_structure_new("xcorrredis-stats",                 //
                           "frames", G_TYPE_UINT64, pushed,    //
                           "sent", G_TYPE_UINT64, sent,        //
                           "dropped", G_TYPE_UINT64, dropped,  //
                           "connections", G_TYPE_UINT64, guint64{counts.connections}, "connected",
                           G_TYPE_BOOLEAN, gboolean{counts.connected}, nullptr);
}

std::string password_of(const Settings& settings) {
  if (!settings.password.empty()) return settings.password;
  const char* password = std::getenv("REDISCLI_AUTH");
  return password ? password : "";
}

gboolean start(GstBaseTransform* base) {
  GstXCorrRedis* self = GST_XCORR_REDIS(base);
  Element& element = *self->element;
  element.working = copy_under_lock(self, element.settings);
  auto address = parse_redis_address(element.working.address);
  if (address.ok() && address.value().tls && !has_tls())
    address =
        xcorr::Status(xcorr::Code::unsupported,
                      "Cannot use the address '" + element.working.address +
                          "': this build has no TLS, for which hiredis 1.0 or newer is needed");
  if (!address.ok()) {
    post_error(self, {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, address.status().message()});
    return FALSE;
  }
  element.counts.pushed = element.counts.sent = element.counts.dropped = 0;
  element.counts.connections = 0;
  element.warned_of_clock = false;
  element.sender = std::make_unique<Sender>(
      SenderOptions{address.value(), element.working.address, password_of(element.working),
                    static_cast<std::uint64_t>(element.working.max_length),
                    element.working.queue_size},
      element.counts, [self](const std::string& text) {
        post_warning(self, {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE, text});
      });
  return TRUE;
}

gboolean stop(GstBaseTransform* base) {
  GST_XCORR_REDIS(base)->element->sender.reset();
  return TRUE;
}

/// A frame's time, unless that lies ahead: a stream takes nothing older than its last entry.
GstClockTime time_of(GstXCorrRedis* self, GstBuffer* buffer) {
  constexpr GstClockTime plausible = 3600 * GST_SECOND;
  const auto arrival = static_cast<GstClockTime>(g_get_real_time()) * GST_USECOND;
  const GstClockTime time = utc_of(buffer).value_or(arrival);
  if (time <= arrival + plausible) return time;
  if (!std::exchange(self->element->warned_of_clock, true))
    post_warning(self, {GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
                        "A frame's UTC is more than an hour ahead of this machine's: the IDs of "
                        "such entries are times of arrival. Set the camera's clock"});
  return arrival;
}

/// Each one later than the last, whatever the clocks do.
std::string next_id(GstXCorrRedis* self, GstBuffer* buffer) {
  Element& element = *self->element;
  element.last_id = std::max(element.last_id + 1, time_of(self, buffer));
  return std::to_string(element.last_id / GST_MSECOND) + "-" +
         std::to_string(element.last_id % GST_MSECOND);
}

/// An entry's, of which the property's camera is one.
std::vector<std::string> fields_of(const FrameFields& frame, const std::string& camera) {
  std::vector<JsonMember> members = frame.members();
  if (!camera.empty()) {
    std::erase_if(members, [](const JsonMember& member) { return member.name == "camera"; });
    GstStructure* named =
        gst_structure_new("camera", "camera", G_TYPE_STRING, camera.c_str(), nullptr);
    members.push_back(json_members({named}).front());
    gst_structure_free(named);
  }
  std::vector<std::string> fields;
  for (JsonMember& member : members) {
    fields.push_back(std::move(member.name));
    fields.push_back(std::move(member.value));
  }
  return fields;
}

std::string stream_of(const Settings& settings, GstBuffer* buffer) {
  if (!settings.stream.empty()) return settings.stream;
  const GstStructure* result = gst_cuda_xcorr_get_result(buffer);
  const gchar* camera = !settings.camera.empty() ? settings.camera.c_str()
                        : result                 ? gst_structure_get_string(result, "camera")
                                                 : nullptr;
  return camera ? std::string("places:") + camera : "places";
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  GstXCorrRedis* self = GST_XCORR_REDIS(base);
  Element& element = *self->element;
  element.sender->push({stream_of(element.working, buffer), next_id(self, buffer),
                        [frame = FrameFields(base->segment, buffer),
                         camera = element.working.camera] { return fields_of(frame, camera); }});
  return GST_FLOW_OK;
}

/// What is lost is said before the stream ends, while there is someone to hear it.
gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  const auto& sender = GST_XCORR_REDIS(base)->element->sender;
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS && sender)
    if (const std::string lost = sender->settle(); !lost.empty())
      post_warning(base, {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE, lost});
  return GST_BASE_TRANSFORM_CLASS(gst_xcorr_redis_parent_class)->sink_event(base, event);
}

void finalize(GObject* object) {
  delete GST_XCORR_REDIS(object)->element;
  G_OBJECT_CLASS(gst_xcorr_redis_parent_class)->finalize(object);
}

/// Besides the table's, whose `get_property` it takes the place of.
void install_stats(GObjectClass* klass) {
  static const auto get_setting = klass->get_property;
  klass->get_property = [](GObject* object, guint id, GValue* value, GParamSpec* spec) {
    if (id <= properties().size())
      get_setting(object, id, value, spec);
    else
      g_value_take_boxed(value, stats(GST_XCORR_REDIS(object)->element->counts));
  };
  g_object_class_install_property(
      klass, static_cast<guint>(properties().size() + 1),
      g_param_spec_boxed(
          "stats", "Statistics",
          "Since the start: frames, of these sent (the server has them) and dropped, "
          "connections (uint64), connected (boolean)",
          GST_TYPE_STRUCTURE, readable));
}

}  // namespace

static void gst_xcorr_redis_init(GstXCorrRedis* self) {
  self->element = new Element;
  init_transform(self, TRUE);
}

static void gst_xcorr_redis_class_init(GstXCorrRedisClass* klass) {
  GST_DEBUG_CATEGORY_INIT(gst_xcorr_redis_debug, "xcorrredis", 0, "results for Redis");

  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  object_class->finalize = finalize;
  install_properties<GstXCorrRedis, properties>(object_class);
  install_stats(object_class);

  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  add_any_pads(element_class);
  describe(element_class, "Cross-correlation results for Redis", "Filter/Metadata/Video",
           "Adds what cudaxcorr found to a Redis stream, an entry for each frame",
           DOC_URL "/gstreamer" DOC_SUFFIX);

  GstBaseTransformClass* base_class = GST_BASE_TRANSFORM_CLASS(klass);
  base_class->start = GST_DEBUG_FUNCPTR((callback<start, FALSE>));
  base_class->stop = GST_DEBUG_FUNCPTR((callback<stop, FALSE>));
  base_class->sink_event = GST_DEBUG_FUNCPTR((callback<sink_event, FALSE>));
  base_class->transform_ip = GST_DEBUG_FUNCPTR((callback<transform_ip, GST_FLOW_ERROR>));
}
