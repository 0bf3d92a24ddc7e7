// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Everything at random while frames flow: properties, templates, pads, caps, segments, flushes,
// states and queries, from three threads. No frame may be lost, reordered or altered, nothing may
// be criticised by GLib, and after each round a known configuration must find what is there.
//
//   XCORR_CHAOS_SECONDS   how long, 5 if not set; from two minutes on it is a soak: what the
//   process
//                         holds may not grow
//   XCORR_CHAOS_SEED      repeats a run; what threads do at the same time still differs
//   XCORR_CHAOS_ROUND     begins with that round of it
//   XCORR_CHAOS_TALKS     prints each step
#include <string_view>
#include <thread>

#include "chaos_resources.hpp"  // first: Check has a macro `fail`

#include "chaos_application.hpp"

namespace {

constexpr int steps_a_round = 60;
constexpr gint64 time_between_prints = 10 * G_TIME_SPAN_SECOND;
/// In less, what plugins and allocators keep for later still grows.
constexpr gint64 least_time_of_soak = 2 * G_TIME_SPAN_MINUTE;

unsigned number_from(const char* variable, unsigned otherwise) {
  const gchar* text = g_getenv(variable);
  return text ? static_cast<unsigned>(g_ascii_strtoull(text, nullptr, 10)) : otherwise;
}

void play_at_random(ChaosApplication& application, ChaosStream& stream) {
  std::thread source([&] { stream.run(Random("source", 0)); });
  const auto act = [&](const char* name, unsigned number) {
    Random random(name, number);
    for (int i = 0; i < steps_a_round; ++i) application.step(random);
  };
  std::thread other(act, "application 2", 2);
  act("application 1", 1);
  other.join();
  stream.end();
  source.join();
}

/// Frames with the patch at known places; each must be found where it is.
void check_answers(ChaosApplication& application, ChaosStream& stream, GstElement* element,
                   const std::string& file) {
  Random random("main", 3);
  constexpr int count = 6;
  const bool restarts = random.once_in(2), track = random.once_in(3);
  const unsigned depth = random.once_in(2) ? 1 : 4;
  stream.drain();
  for (GstBuffer* buffer : stream.taken()) gst_buffer_unref(buffer);
  if (restarts) gst_element_set_state(element, GST_STATE_NULL);
  application.set_back(file);
  g_object_set(element, "threshold", 0.9, "subpixel", FALSE, "track", track, "async-depth", depth,
               nullptr);
  // A filter's places and scores are others.
  gst_util_set_object_arg(G_OBJECT(element), "tracker", "template");
  if (restarts) chaos_unless(application.start(), "does not start with known settings");
  constexpr GstVideoFormat formats[] = {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_NV12,
                                        GST_VIDEO_FORMAT_BGRx};
  stream.begin(random.of(formats), 128, 72);  // no size of before: tracks end
  Place places[count];
  for (int i = 0; i < count; ++i) {
    places[i] = {20 + 5 * i + random.below(3), 10 + 4 * i + random.below(3)};
    chaos_unless(stream.push(places[i], random, true) == GST_FLOW_OK, "a frame is refused");
  }
  stream.drain();
  const auto buffers = stream.taken();
  chaos_unless(buffers.size() == count, "%d frames came of %d", static_cast<int>(buffers.size()),
               count);
  for (int i = 0; i < count; ++i) {
    const Found found = found_in(buffers[i]);
    chaos_unless(found.analysed && found.peaks.size() == 1, "%d peaks in frame %d",
                 static_cast<int>(found.peaks.size()), i);
    const Peak& peak = found.peaks[0];
    gst_buffer_unref(buffers[i]);
    // After a gap in the stream a target is seen again only when that is sure.
    if (track && peak.lost) continue;
    chaos_unless(peak.x == places[i].x && peak.y == places[i].y && peak.score > 0.98,
                 "'%s' found at %f,%f with %f, not at %d,%d", peak.label.c_str(), peak.x, peak.y,
                 peak.score, places[i].x, places[i].y);
  }
}

void no_critics() {
  constexpr auto levels =
      static_cast<GLogLevelFlags>(G_LOG_LEVEL_WARNING | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR);
  const auto fails = [](const gchar*, GLogLevelFlags, const gchar* text, gpointer) {
    chaos_fails(text);
  };
  for (const char* domain : {"GLib", "GLib-GObject", "GStreamer", "GStreamer-Base",
                             "GStreamer-Video", "GStreamer-Audio"})
    g_log_set_handler(domain, levels, fails, nullptr);
}

ELEMENT_TEST(everything_at_random) {
  no_critics();
  ChaosRun::seed = number_from("XCORR_CHAOS_SEED", g_random_int());
  std::printf("seed %u\n", ChaosRun::seed.load());
  std::fflush(stdout);  // before anything can crash
  const gint64 time = number_from("XCORR_CHAOS_SECONDS", 5) * G_TIME_SPAN_SECOND;
  const gint64 end = g_get_monotonic_time() + time;
  ChaosResources resources(std::string_view(backend()) == "cuda" ? 0 : -1);
  gint64 next_print = 0;
  const std::string file = save(texture(patch_size, patch_size, 50), "known.png");
  guint64 frames = 0;
  unsigned round = number_from("XCORR_CHAOS_ROUND", 0);
  do {
    ChaosRun::round = round;
    GstElement* element = gst_element_factory_make("cudaxcorr", nullptr);
    {
      ChaosStream stream(element);
      ChaosApplication application(element, stream);
      application.set_back(file);
      chaos_unless(application.start(), "does not start");
      play_at_random(application, stream);
      check_answers(application, stream, element, file);
      gst_element_set_state(element, GST_STATE_NULL);
      frames += stream.frames();
    }
    gst_object_unref(element);
    ++round;
    resources.sample();
    if (g_get_monotonic_time() < next_print) continue;
    next_print = g_get_monotonic_time() + time_between_prints;
    std::printf("seed %u, %u rounds, %" G_GUINT64_FORMAT " frames: ", ChaosRun::seed.load(), round,
                frames);
    resources.print();
  } while (g_get_monotonic_time() < end);
  std::printf("seed %u, %u rounds, %" G_GUINT64_FORMAT " frames, ", ChaosRun::seed.load(), round,
              frames);
  const bool grew = resources.grew(g_getenv("LD_PRELOAD") == nullptr);
  fail_if(time >= least_time_of_soak && grew, "what the process holds has grown");
}

}  // namespace
