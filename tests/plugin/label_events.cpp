// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The property `events`: labels that appear and are gone, told in the meta and on the bus.
#include <optional>

#include "support.hpp"

namespace {

constexpr int frame_width = 96, frame_height = 64;
constexpr GstClockTime apart = 40 * GST_MSECOND, utc_of_first = 1'700'000'000 * GST_SECOND;

/// A scene with a patch of 16x12 at 41,22, and one without.
struct Scenes {
  Gray with = texture(frame_width, frame_height), without = with;
  Gray patch = crop(with, 41, 22, 16, 12);
  std::string file = save(patch, "logo.png");

  Scenes() { paste(without, texture(16, 12, 7), 41, 22); }
};

/// What of an event there is to compare.
struct Event {
  std::string what, label;
  guint64 first, last, unanalysed;  ///< the first two in frames
  GstCudaXCorrPeak peak{};

  bool operator==(const Event& other) const {
    return what == other.what && label == other.label && first == other.first &&
           last == other.last && unanalysed == other.unanalysed;
  }
};

Event event_of(const GstStructure* fields) {
  Event event{gst_structure_get_string(fields, "event"), gst_structure_get_string(fields, "label"),
              0, 0, 0};
  GstStructure* peak = nullptr;
  fail_unless(gst_structure_get(fields, "first-running-time", G_TYPE_UINT64, &event.first,
                                "last-running-time", G_TYPE_UINT64, &event.last, "unanalysed",
                                G_TYPE_UINT64, &event.unanalysed, "peak", GST_TYPE_STRUCTURE, &peak,
                                nullptr));
  // Without a track there is no confidence.
  const char* how_sure = gst_structure_has_field(peak, "confidence") ? "confidence" : "similarity";
  event.first /= apart;
  event.last /= apart;
  fail_unless(gst_structure_get(peak, "x", G_TYPE_DOUBLE, &event.peak.x, "y", G_TYPE_DOUBLE,
                                &event.peak.y, how_sure, G_TYPE_DOUBLE, &event.peak.confidence,
                                "id", G_TYPE_UINT64, &event.peak.id, nullptr));
  gst_structure_free(peak);
  return event;
}

/// Frames of 40 ms with their time in UTC.
class Stream {
 public:
  explicit Stream(const std::string& rest) : finder_("subpixel=none post-messages=false " + rest) {
    finder_.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  }

  /// The events of that many frames with this image, by their metas; nothing: they have no field.
  std::optional<std::vector<Event>> show(const Gray& image, int frames = 1) {
    std::optional<std::vector<Event>> events;
    for (int i = 0; i < frames; ++i, ++frame_) {
      GstBuffer* buffer = make_frame(GST_VIDEO_FORMAT_GRAY8, image);
      GST_BUFFER_PTS(buffer) = frame_ * apart;
      GstCaps* caps = gst_caps_new_empty_simple("timestamp/x-unix");
      gst_buffer_add_reference_timestamp_meta(buffer, caps, utc_of_first + frame_ * apart,
                                              GST_CLOCK_TIME_NONE);
      gst_caps_unref(caps);
      GstBuffer* out = finder_.pass(buffer);
      const GValue* told = gst_structure_get_value(gst_cuda_xcorr_get_result(out), "events");
      if (told && !events) events.emplace();
      for (guint e = 0; told && e < gst_value_array_get_size(told); ++e)
        events->push_back(event_of(gst_value_get_structure(gst_value_array_get_value(told, e))));
      gst_buffer_unref(out);
    }
    return events;
  }
  Finder& finder() { return finder_; }

 private:
  Finder finder_;
  guint64 frame_ = 0;
};

void assert_events(const std::optional<std::vector<Event>>& told,
                   const std::vector<Event>& expected) {
  fail_unless(told.has_value(), "there is no field");
  for (const Event& event : *told)
    g_print("%s %s %" G_GUINT64_FORMAT "..%" G_GUINT64_FORMAT " (%" G_GUINT64_FORMAT ")\n",
            event.what.c_str(), event.label.c_str(), event.first, event.last, event.unanalysed);
  assert_equals_int(told->size(), expected.size());
  fail_unless(*told == expected);
}

ELEMENT_TEST(they_name_the_first_frame_and_the_last) {
  const Scenes scenes;
  Stream stream("events=true threshold=0.9 template=" + scenes.file);
  assert_events(stream.show(scenes.without, 3), {});
  assert_events(stream.show(scenes.with, 1), {});
  const auto appeared = stream.show(scenes.with, 4);
  assert_events(appeared, {{"appeared", "logo", 3, 4, 0}});
  assert_equals_float(appeared->front().peak.x, 41);
  assert_equals_float(appeared->front().peak.y, 22);
  assert_equals_float(appeared->front().peak.confidence, 1);
  assert_events(stream.show(scenes.without, 1), {});
  assert_events(stream.show(scenes.with, 1), {});
  assert_events(stream.show(scenes.without, 4), {{"gone", "logo", 3, 9, 0}});
}

ELEMENT_TEST(messages) {
  const Scenes scenes;
  Stream stream("events=true appear-frames=1 camera-id=gate threshold=0.9 template=" + scenes.file);
  stream.show(scenes.without, 2);
  fail_unless(stream.finder().message(GST_MESSAGE_ELEMENT) == nullptr);
  stream.show(scenes.with);
  GstMessage* message = stream.finder().message(GST_MESSAGE_ELEMENT);
  fail_unless(message != nullptr);
  const GstStructure* fields = gst_message_get_structure(message);
  assert_equals_string(gst_structure_get_name(fields), "cudaxcorr-event");
  const Event expected{"appeared", "logo", 2, 2, 0};
  fail_unless(event_of(fields) == expected);
  assert_equals_string(gst_structure_get_string(fields, "camera"), "gate");
  assert_equals_string(gst_structure_get_string(fields, "first-utc"),
                       "2023-11-14T22:13:20.080000000Z");
  assert_equals_string(gst_structure_get_string(fields, "last-utc"),
                       "2023-11-14T22:13:20.080000000Z");
  GstClockTime running_time = 0;
  fail_unless(gst_structure_get_clock_time(fields, "running-time", &running_time));
  assert_equals_uint64(running_time, 2 * apart);

  GstSample* sample = nullptr;
  fail_unless(gst_structure_get(fields, "sample", GST_TYPE_SAMPLE, &sample, nullptr));
  GstMapInfo map;
  gst_buffer_map(gst_sample_get_buffer(sample), &map, GST_MAP_READ);
  assert_equals_int(map.size, scenes.patch.pixels.size());
  fail_unless(std::equal(scenes.patch.pixels.begin(), scenes.patch.pixels.end(), map.data));
  gst_buffer_unmap(gst_sample_get_buffer(sample), &map);
  gst_sample_unref(sample);
  gst_message_unref(message);
  fail_unless(stream.finder().message(GST_MESSAGE_ELEMENT) == nullptr);
}

ELEMENT_TEST(unanalysed_frames_are_counted) {
  const Scenes scenes;
  Stream stream("events=true interval=5 threshold=0.9 template=" + scenes.file);
  stream.show(scenes.without, 7);  // 0 and 5 are analysed
  assert_events(stream.show(scenes.with, 13), {{"appeared", "logo", 10, 15, 4}});
  assert_events(stream.show(scenes.without, 10), {{"gone", "logo", 10, 15, 4}});
}

ELEMENT_TEST(tracks) {
  const Scenes scenes;
  for (const char* tracker : {"template", "filter"}) {
    Stream stream(std::string("events=true track=true redetect-interval=1 threshold=0.9 tracker=") +
                  tracker + " template=" + scenes.file);
    stream.show(scenes.without, 3);
    const auto appeared = stream.show(scenes.with, 10);
    assert_events(appeared, {{"appeared", "logo", 3, 4, 0}});
    fail_unless(appeared->front().peak.id > 0);
    assert_events(stream.show(scenes.without, 10), {{"gone", "logo", 3, 12, 0}});
  }
}

ELEMENT_TEST(not_asked_for) {
  const Scenes scenes;
  Stream stream("threshold=0.9 template=" + scenes.file);
  fail_if(stream.show(scenes.with, 3).has_value());
  stream.finder().set("events", "true");
  assert_events(stream.show(scenes.with, 3), {{"appeared", "logo", 3, 4, 0}});
  stream.finder().set("events", "false");
  fail_if(stream.show(scenes.with, 3).has_value());
  stream.finder().set("events", "true");
  assert_events(stream.show(scenes.with, 3), {{"appeared", "logo", 9, 10, 0}});
}

ELEMENT_TEST(templates_come_and_go) {
  const Scenes scenes;
  const std::string other = save(crop(scenes.with, 5, 6, 20, 15), "other.png");
  Stream stream("events=true threshold=0.9 templates=" + array_of({scenes.file, other}));
  assert_events(stream.show(scenes.with, 2),
                {{"appeared", "logo", 0, 1, 0}, {"appeared", "other", 0, 1, 0}});
  stream.finder().set("templates", array_of({other}));
  assert_events(stream.show(scenes.with, 3), {{"gone", "logo", 0, 1, 0}});
  stream.finder().set("templates", array_of({scenes.file, other}));
  assert_events(stream.show(scenes.with, 3), {{"appeared", "logo", 5, 6, 0}});
}

ELEMENT_TEST(frames_in_flight) {
  const Scenes scenes;
  Finder finder("events=true async-depth=3 threshold=0.9 post-messages=false template=" +
                scenes.file);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  for (int i = 0; i < 8; ++i) {
    GstBuffer* buffer =
        make_frame(GST_VIDEO_FORMAT_GRAY8, i >= 2 && i < 5 ? scenes.with : scenes.without);
    GST_BUFFER_PTS(buffer) = i * apart;
    gst_harness_push(finder.harness, buffer);
  }
  gst_harness_push_event(finder.harness, gst_event_new_eos());
  for (const Event& expected : {Event{"appeared", "logo", 2, 3, 0}, {"gone", "logo", 2, 4, 0}}) {
    GstMessage* message = finder.message(GST_MESSAGE_ELEMENT);
    fail_unless(message != nullptr);
    fail_unless(event_of(gst_message_get_structure(message)) == expected);
    gst_message_unref(message);
  }
}

}  // namespace
