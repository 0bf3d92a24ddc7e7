// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element in pipelines: renegotiation, changes while playing, flushes, restarts, threads,
// latency, statistics.
#include <atomic>
#include <thread>

#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>

#include "support.hpp"

namespace {

std::string patch_file(const Gray& scene, int x, int y, const std::string& name = "patch.png") {
  return save(crop(scene, x, y, 16, 12), name);
}

ELEMENT_TEST(renegotiation_to_other_sizes_and_formats) {
  const Gray scene = texture(120, 90);
  Finder finder("subpixel=false template=" + patch_file(scene, 31, 22));
  assert_at(finder.find(scene).peaks.at(0), 31, 22);
  assert_at(finder.find(crop(scene, 10, 10, 60, 40)).peaks.at(0), 21, 12);
  finder.set_format(GST_VIDEO_FORMAT_BGRx, 70, 50);
  assert_at(finder.find(crop(scene, 5, 5, 70, 50)).peaks.at(0), 26, 17);
  assert_at(finder.find(scene).peaks.at(0), 31, 22);
}

ELEMENT_TEST(templates_swapped_while_playing) {
  const Gray scene = texture(120, 90);
  const std::string first = patch_file(scene, 10, 20, "first.png");
  const std::string second = patch_file(scene, 70, 60, "second.png");
  Finder finder("subpixel=false");
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, scene.width, scene.height);
  gst_buffer_unref(finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, scene)));
  finder.set("template", first);
  assert_at(finder.find(scene).peaks.at(0), 10, 20);
  finder.set("template", second);
  assert_at(finder.find(scene).peaks.at(0), 70, 60);
  finder.set("templates", array_of({first}));
  const auto both = finder.find(scene).peaks;
  assert_equals_int(both.size(), 2);
  assert_text(both[0].label, "second");
  assert_text(both[1].label, "first");
  g_object_set(finder.element, "template", nullptr, nullptr);
  finder.set("templates", "<>");
  GstBuffer* out = finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, scene));
  fail_unless(gst_cuda_xcorr_get_result(out) == nullptr);
  gst_buffer_unref(out);
}

/// Setting the same name again rereads the file.
ELEMENT_TEST(template_file_rewritten_while_playing) {
  const Gray scene = texture(120, 90);
  Finder finder("subpixel=false template=" + patch_file(scene, 10, 20));
  assert_at(finder.find(scene).peaks.at(0), 10, 20);
  finder.set("template", patch_file(scene, 70, 60));
  assert_at(finder.find(scene).peaks.at(0), 70, 60);
}

ELEMENT_TEST(interval_skips_frames) {
  const Gray scene = texture(60, 40);
  Finder finder("interval=3 template=" + patch_file(scene, 9, 9));
  for (int i = 0; i < 7; ++i) {
    const Found found = finder.find(scene);
    assert_equals_int(found.analysed, i % 3 == 0);
    assert_equals_int(found.peaks.size(), i % 3 == 0 ? 1 : 0);
    GstMessage* message = finder.message(GST_MESSAGE_ELEMENT);
    assert_equals_int(message != nullptr, i % 3 == 0);
    if (message) gst_message_unref(message);
  }
}

ELEMENT_TEST(flush_makes_the_next_frame_due) {
  const Gray scene = texture(60, 40);
  Finder finder("interval=100 template=" + patch_file(scene, 9, 9));
  fail_unless(finder.find(scene).analysed);
  fail_unless(!finder.find(scene).analysed);
  fail_unless(gst_harness_push_event(finder.harness, gst_event_new_flush_start()));
  fail_unless(gst_harness_push_event(finder.harness, gst_event_new_flush_stop(TRUE)));
  fail_unless(gst_harness_push_event(finder.harness, new_segment()));
  fail_unless(finder.find(scene).analysed);
}

ELEMENT_TEST(end_of_stream_passes) {
  const Gray scene = texture(60, 40);
  Finder finder("template=" + patch_file(scene, 9, 9));
  finder.find(scene);
  fail_unless(gst_harness_push_event(finder.harness, gst_event_new_eos()));
  bool ended = false;
  while (GstEvent* event = gst_harness_try_pull_event(finder.harness)) {
    ended = GST_EVENT_TYPE(event) == GST_EVENT_EOS;
    gst_event_unref(event);
  }
  fail_unless(ended);
}

ELEMENT_TEST(restarts) {
  const Gray scene = texture(60, 40);
  Finder finder("subpixel=false template=" + patch_file(scene, 9, 9));
  for (int round = 0; round < 3; ++round) {
    assert_at(finder.find(scene).peaks.at(0), 9, 9);
    assert_text(finder.get("active-backend"), backend());
    gst_element_set_state(finder.harness->element, GST_STATE_READY);
    assert_text(finder.get("active-backend"), "auto");
    gst_element_set_state(finder.harness->element, GST_STATE_PLAYING);
    gst_harness_push_event(finder.harness, gst_event_new_stream_start("again"));
    finder.set_format(GST_VIDEO_FORMAT_GRAY8, scene.width, scene.height);
    gst_harness_push_event(finder.harness, new_segment());
  }
}

/// Each has its own context on a GPU; nothing that one leaves behind may be used by the next.
ELEMENT_TEST(elements_come_and_go) {
  const Gray scene = texture(400, 300);
  const std::string file = patch_file(scene, 231, 122);
  for (int i = 0; i < 12; ++i) {
    Finder finder("kernel=fft subpixel=false template=" + file);
    assert_at(finder.find(scene).peaks.at(0), 231, 122);
    assert_at(finder.find(crop(scene, 10, 10, 380 - i, 280)).peaks.at(0), 221, 112);
  }
}

ELEMENT_TEST(active_backend_notifies) {
  GstElement* element = gst_element_factory_make("cudaxcorr", nullptr);
  gst_util_set_object_arg(G_OBJECT(element), "backend", backend());
  int notified = 0;
  const auto count =
      +[](GObject*, GParamSpec*, gpointer counter) { ++*static_cast<int*>(counter); };
  g_signal_connect(element, "notify::active-backend", G_CALLBACK(count), &notified);
  gst_element_set_state(element, GST_STATE_PAUSED);
  assert_equals_int(notified, 1);
  gst_element_set_state(element, GST_STATE_NULL);
  assert_equals_int(notified, 2);
  gst_object_unref(element);
}

ELEMENT_TEST(two_elements_in_two_threads) {
  const Gray scene = texture(120, 90);
  const std::string files[] = {patch_file(scene, 10, 20, "first.png"),
                               patch_file(scene, 70, 60, "second.png")};
  std::atomic<int> right = 0;
  const auto work = [&](int which) {
    Finder finder("subpixel=false template=" + files[which]);
    for (int i = 0; i < 20; ++i) {
      const auto peaks = finder.find(scene).peaks;
      if (peaks.size() == 1 && peaks[0].x == (which ? 70 : 10)) ++right;
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  assert_equals_int(right, 40);
}

/// Properties change from another thread while frames flow.
ELEMENT_TEST(changes_from_another_thread) {
  const Gray scene = texture(60, 40);
  const std::string files[] = {patch_file(scene, 9, 9, "a.png"),
                               patch_file(scene, 20, 15, "b.png")};
  Finder finder("subpixel=false template=" + files[0]);
  std::atomic<bool> done = false;
  std::thread changer([&] {
    for (int i = 1; i <= 30; ++i) {
      finder.set("template", files[i % 2]);
      finder.set("threshold", i % 3 ? "0.5" : "0.9");
      finder.set("max-peaks", std::to_string(1 + i % 2));
      finder.get("stats");
    }
    done = true;
  });
  while (!done) {
    const auto peaks = finder.find(scene).peaks;
    fail_unless(!peaks.empty());
    assert_at(peaks[0], peaks[0].label == "a" ? 9 : 20, peaks[0].label == "a" ? 9 : 15);
  }
  changer.join();
}

ELEMENT_TEST(latency_is_unchanged) {
  Finder finder("template=" + patch_file(texture(60, 40), 9, 9));
  finder.find(texture(60, 40));
  gst_harness_set_upstream_latency(finder.harness, 30 * GST_MSECOND);
  assert_equals_uint64(gst_harness_query_latency(finder.harness), 30 * GST_MSECOND);
}

/// Built with GStreamer's CUDA library, the element on a GPU shares its context with neighbours.
ELEMENT_TEST(neighbours_get_the_cuda_context) {
  const bool shares = g_strcmp0(g_getenv("XCORR_TEST_GST_CUDA"), "1") == 0;
  const Gray scene = texture(120, 90);
  Finder finder("subpixel=false template=" + patch_file(scene, 31, 22));
  assert_at(finder.find(scene).peaks.at(0), 31, 22);
  GstPad* pad = gst_element_get_static_pad(finder.element, "sink");
  GstQuery* query = gst_query_new_context("gst.cuda.context");
  fail_unless(gst_pad_query(pad, query) == (shares && std::string(backend()) == "cuda"));
  gst_query_unref(query);
  gst_object_unref(pad);
}

/// The pipeline's other CUDA elements use the same context, and frames pass through them.
ELEMENT_TEST(between_other_cuda_elements) {
  if (std::string(backend()) != "cuda" || !gst_element_factory_find("cudaupload")) return;
  const Gray scene = texture(120, 90);
  const std::string launch =
      "cudaupload ! cudadownload ! cudaxcorr name=finder backend=cuda subpixel=false template=" +
      patch_file(scene, 31, 22) + " ! cudaupload ! cudadownload";
  GstHarness* harness = gst_harness_new_parse(launch.c_str());
  gst_harness_set_src_caps_str(harness,
                               "video/x-raw,format=NV12,width=120,height=90,framerate=30/1");
  for (int i = 0; i < 5; ++i) {
    GstBuffer* out = gst_harness_push_and_pull(harness, make_frame(GST_VIDEO_FORMAT_NV12, scene));
    assert_at(found_in(out).peaks.at(0), 31, 22);
    gst_buffer_unref(out);
  }
  gst_harness_teardown(harness);
}

ELEMENT_TEST(threshold_is_controllable) {
  const Gray scene = texture(60, 40);
  Gray faded = scene;
  const Gray noise = texture(60, 40, 8);
  for (std::size_t i = 0; i < faded.pixels.size(); ++i)
    faded.pixels[i] = static_cast<std::uint8_t>((faded.pixels[i] + noise.pixels[i]) / 2);
  Finder finder("template=" + patch_file(scene, 9, 9));
  GstControlSource* source = gst_interpolation_control_source_new();
  g_object_set(source, "mode", GST_INTERPOLATION_MODE_NONE, nullptr);
  gst_object_add_control_binding(
      GST_OBJECT(finder.element),
      gst_direct_control_binding_new_absolute(GST_OBJECT(finder.element), "threshold", source));
  auto* values = GST_TIMED_VALUE_CONTROL_SOURCE(source);
  gst_timed_value_control_source_set(values, 0, 0.3);
  gst_timed_value_control_source_set(values, GST_SECOND, 0.999);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, 60, 40);
  for (const int time : {0, 1}) {
    GstBuffer* frame = make_frame(GST_VIDEO_FORMAT_GRAY8, faded);
    GST_BUFFER_PTS(frame) = time * GST_SECOND;
    assert_equals_int(finder.find(frame).peaks.size(), time == 0 ? 1 : 0);
  }
  gst_object_unref(source);
}

ELEMENT_TEST(stats_count) {
  const Gray scene = texture(60, 40);
  Finder finder("interval=2 template=" + patch_file(scene, 9, 9));
  for (int i = 0; i < 5; ++i) finder.find(scene);
  GstStructure* stats = nullptr;
  g_object_get(finder.element, "stats", &stats, nullptr);
  gdouble average, last;
  fail_unless(gst_structure_get(stats, "average-ms", G_TYPE_DOUBLE, &average, "last-ms",
                                G_TYPE_DOUBLE, &last, nullptr));
  assert_equals_uint64(stat_of(finder.element, "frames"), 5);
  assert_equals_uint64(stat_of(finder.element, "analysed"), 3);
  assert_equals_uint64(stat_of(finder.element, "skipped"), 2);
  assert_equals_uint64(stat_of(finder.element, "in-gpu-memory"), 0);
  fail_unless(average > 0 && last > 0);
  fail_unless(gst_structure_get_string(stats, "kernel")[0] != '\0');
  gst_structure_free(stats);
}

/// The values of a property read back as they were written.
ELEMENT_TEST(properties_read_back) {
  Finder finder("");
  for (const auto& [name, value] :
       {std::pair{"search-region", "< (int)1, (int)2, (int)30, (int)40 >"},
        {"method", "sqdiff-normed"},
        {"threshold", "0.25"},
        {"max-peaks", "7"},
        {"min-peak-distance", "9"},
        {"subpixel", "quadratic"},
        {"interval", "4"},
        {"post-messages", "false"},
        {"attach-roi-meta", "false"},
        {"kernel", "direct"}}) {
    finder.set(name, value);
    assert_text(finder.get(name), value);
  }
  GValue region = G_VALUE_INIT;
  g_object_get_property(G_OBJECT(finder.element), "search-region", &region);
  assert_equals_int(gst_value_array_get_size(&region), 4);
  assert_equals_int(g_value_get_int(gst_value_array_get_value(&region, 3)), 40);
  g_value_unset(&region);
}

}  // namespace
