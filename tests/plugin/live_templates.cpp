// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Templates added and removed while frames flow: samples, patches captured from frames.
#include <atomic>
#include <set>
#include <thread>

#include <malloc.h>

#include "live_templates.hpp"

/// Sanitizers have an allocator of their own, of which mallinfo2() knows nothing.
extern "C" [[gnu::weak]] std::size_t __sanitizer_get_current_allocated_bytes();

namespace {

ELEMENT_TEST(ids_stay_when_others_go) {
  const Gray scene = texture(160, 120);
  const auto part = [&](int x, int y) { return crop(scene, x, y, 16, 12); };
  Finder finder(exact + ("template=" + save(part(10, 20), "first.png")));
  assert_found(only(finder.find(scene)), 1, "first", 10, 20);
  assert_equals_int(add(finder, sample_of(part(50, 30)), "second"), 2);
  assert_equals_int(add_file(finder, save(part(90, 70), "file.png")), 3);
  assert_equals_int(add_file(finder, save(part(30, 90), "named.png"), "fourth"), 4);
  Found found = finder.find(scene);
  assert_equals_int(found.peaks.size(), 4);
  assert_found(found.peaks[0], 1, "first", 10, 20);
  assert_found(found.peaks[1], 2, "second", 50, 30);
  assert_found(found.peaks[2], 3, "file", 90, 70);
  assert_found(found.peaks[3], 4, "fourth", 30, 90);

  fail_unless(remove(finder, 2));
  found = finder.find(scene);
  assert_equals_int(found.peaks.size(), 3);
  assert_found(found.peaks[1], 3, "file", 90, 70);
  assert_equals_int(found.peaks[1].template_index, 1);
  assert_equals_int(add(finder, sample_of(part(50, 30))), 5);
  assert_found(finder.find(scene).peaks.at(3), 5, "sample", 50, 30);
  fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr, "a warning");
}

/// Templates set by properties can be removed too, and the properties reflect it.
ELEMENT_TEST(templates_of_properties_removed) {
  const Gray scene = texture(160, 120);
  const std::string files[] = {save(crop(scene, 10, 20, 16, 12), "a.png"),
                               save(crop(scene, 50, 30, 16, 12), "b.png"),
                               save(crop(scene, 90, 70, 16, 12), "c.png")};
  Finder finder(exact + ("template=" + files[0]));
  finder.set("templates", array_of({files[1], files[2]}));
  g_object_set(finder.element, "template-sample", sample_of(crop(scene, 30, 90, 16, 12)).get(),
               nullptr);
  const Found found = finder.find(scene);
  assert_equals_int(found.peaks.size(), 4);
  assert_found(found.peaks[3], found.peaks[3].template_id, "sample", 30, 90);

  fail_unless(remove(finder, found.peaks[0].template_id));
  assert_text(finder.get("template"), "");
  fail_unless(remove(finder, found.peaks[1].template_id));
  fail_unless(finder.get("templates").find("b.png") == std::string::npos);
  fail_unless(remove(finder, found.peaks[3].template_id));
  GstSample* sample = nullptr;
  g_object_get(finder.element, "template-sample", &sample, nullptr);
  fail_unless(sample == nullptr, "there is still a sample");
  assert_text(only(finder.find(scene)).label, "c");
}

ELEMENT_TESTS(sample_of_every_format, 0, all_formats.size()) {
  const GstVideoFormat format = all_formats[__i__];
  const Gray scene = texture(97, 65);
  Finder finder(exact);
  finder.set_format(format, scene.width, scene.height);
  const Sample sample = sample_of(crop(scene, 41, 23, 16, 12), format);
  g_object_set(finder.element, "template-sample", sample.get(), nullptr);
  assert_found(only(finder.find(scene)), 1, "sample", 41, 23);
}

/// Frame rate and interlacing may differ from the pipeline's.
ELEMENT_TEST(sample_of_another_stream) {
  const Gray scene = texture(96, 64);
  const Sample frame = sample_of(crop(scene, 41, 23, 16, 12));
  GstCaps* caps = gst_caps_copy(gst_sample_get_caps(frame.get()));
  gst_caps_set_simple(caps, "interlace-mode", G_TYPE_STRING, "interleaved", "framerate",
                      GST_TYPE_FRACTION, 7, 3, nullptr);
  const Sample sample(gst_sample_new(gst_sample_get_buffer(frame.get()), caps, nullptr, nullptr),
                      gst_sample_unref);
  gst_caps_unref(caps);
  Finder finder(exact);
  const guint id = add(finder, sample, "other");
  assert_found(only(finder.find(scene)), id, "other", 41, 23);
}

/// An odd rectangle, also in formats with subsampled chroma.
ELEMENT_TESTS(capture_in_every_format, 0, all_formats.size()) {
  const Gray scene = texture(97, 65);
  Finder finder(exact + std::string("enable-capture=true"));
  finder.set_format(all_formats[__i__], scene.width, scene.height);
  gst_buffer_unref(finder.pass(make_frame(all_formats[__i__], scene)));
  assert_equals_int(capture(finder, 41, 23, 15, 11), 1);
  assert_found(only(finder.find(scene)), 1, "captured", 41, 23);
}

/// The pixels are those that arrived, even if elements downstream write into the frame.
ELEMENT_TEST(capture_of_a_frame_written_into) {
  const Gray scene = texture(96, 64);
  Finder finder(exact + std::string("enable-capture=true"));
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, scene.width, scene.height);
  for (const int x : {9, 41}) {  // without a template, then with one
    GstBuffer* out =
        gst_buffer_make_writable(finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, scene)));
    gst_buffer_memset(out, 0, 7, gst_buffer_get_size(out));
    gst_buffer_unref(out);
    const guint id = capture(finder, x, 23, 16, 12);
    assert_found(finder.find(scene).peaks.back(), id, "captured", x, 23);
  }
}

/// From the frame that left last, not from those in flight.
ELEMENT_TEST(capture_while_frames_are_in_work) {
  const Gray scenes[] = {texture(96, 64, 1), texture(96, 64, 2)};
  Finder finder(exact + std::string("enable-capture=true async-depth=2"));
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, 96, 64);
  for (const Gray& scene : scenes)
    gst_harness_push(finder.harness, make_frame(GST_VIDEO_FORMAT_GRAY8, scene));
  const guint id = capture(finder, 41, 23, 16, 12);
  for (int i = 0; i < 2; ++i)
    gst_harness_push(finder.harness, make_frame(GST_VIDEO_FORMAT_GRAY8, scenes[0]));
  for (int i = 0; i < 3; ++i) {
    GstBuffer* out = gst_harness_pull(finder.harness);
    if (i == 2) assert_found(only(found_in(out)), id, "captured", 41, 23);
    gst_buffer_unref(out);
  }
}

ELEMENT_TEST(tracks_of_the_others_stay) {
  const World world;
  Gray image = world.frame({{200, 100}});
  const Gray other = crop(image, 60, 30, 20, 12);
  Finder finder(settings_for(world, "enable-capture=true"));
  for (int i = 0; i < 3; ++i) finder.find(image);
  const guint captured = capture(finder, 60, 30, 20, 12);
  for (int i = 0; i < 3; ++i) {
    const Found found = finder.find(image);
    assert_equals_int(found.peaks.size(), 2);
    assert_track(found.peaks[0], 1, "tracked");
    assert_track(found.peaks[1], 2, i < 2 ? "tentative" : "tracked");
  }
  fail_unless(remove(finder, 1));
  assert_track(only(finder.find(image)), 2, "tracked");
  assert_equals_int(add(finder, sample_of(world.patch), "again"), captured + 1);
  const Found found = finder.find(image);
  assert_track(found.peaks.at(0), 2, "tracked");
  assert_track(found.peaks.at(1), 3, "tentative");
}

/// Added while stopped, and kept when stopped again.
ELEMENT_TEST(added_templates_outlive_a_stop) {
  const Gray scene = texture(96, 64);
  Finder finder(exact);
  gst_element_set_state(finder.element, GST_STATE_NULL);
  const guint id = add(finder, sample_of(crop(scene, 41, 23, 16, 12)), "mine");
  const guint other = add(finder, sample_of(crop(scene, 11, 33, 16, 12)), "other");
  for (int i = 0; i < 2; ++i) {
    gst_harness_play(finder.harness);
    gst_element_set_state(finder.element, GST_STATE_PLAYING);
    finder.set_format(GST_VIDEO_FORMAT_GRAY8, scene.width, scene.height);
    assert_found(finder.find(make_frame(GST_VIDEO_FORMAT_GRAY8, scene)).peaks.at(0), id, "mine", 41,
                 23);
    gst_element_set_state(finder.element, GST_STATE_NULL);
    assert_equals_int(remove(finder, other), i == 0);
  }
}

/// Two threads add and remove templates while frames flow in a third.
ELEMENT_TEST(changes_from_other_threads) {
  const Gray scene = texture(96, 64);
  Finder finder(exact + std::string("enable-capture=true template=") +
                save(crop(scene, 41, 23, 16, 12), "a.png"));
  finder.find(scene);
  constexpr int each = 40;
  std::atomic<int> removed = 0, running = 2;
  std::set<guint> ids[2];
  const auto work = [&](int which) {
    for (int i = 0; i < each; ++i) {
      const guint id =
          which ? capture(finder, i, 5, 15, 11) : add(finder, sample_of(crop(scene, 9, i, 12, 12)));
      ids[which].insert(id);
      removed += remove(finder, id);
    }
    --running;
  };
  std::thread adder(work, 0), capturer(work, 1);
  int frames = 0;
  for (; running > 0 || frames < 10; ++frames) {
    const Found found = finder.find(scene);
    assert_found(found.peaks.at(0), 1, "a", 41, 23);
    for (const Peak& peak : found.peaks)
      fail_unless(peak.score == 1.0, "%s %.17g", peak.label.c_str(), peak.score);
  }
  adder.join();
  capturer.join();
  assert_equals_int(removed, 2 * each);
  ids[0].merge(ids[1]);
  assert_equals_int(ids[0].size(), 2 * each);
  fail_unless(!ids[0].count(0) && !ids[0].count(1));
  fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr, "a warning");
  g_print("%d frames while %d templates came and went\n", frames, 2 * each);
}

/// Bytes in use after 50 frames with a change before each.
std::size_t bytes_after_changes(Finder& finder, const Gray& scene) {
  for (int i = 0; i < 50; ++i) {
    const guint added = add(finder, sample_of(crop(scene, i % 50, 9, 16, 12)));
    const guint captured = capture(finder, 5, i % 40, 20, 10);
    finder.find(scene);
    fail_unless(remove(finder, added) && remove(finder, captured));
  }
  finder.find(scene);
  return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes()
                                                 : mallinfo2().uordblks;
}

/// What every change left behind would show each time. What a thread of the pool takes once, when
/// it first gets work, does not: that may be late, on a busy machine.
ELEMENT_TEST(changes_leave_no_memory_behind) {
  const Gray scene = texture(96, 64);
  Finder finder(exact +
                std::string("enable-capture=true track=true post-messages=false template=") +
                save(crop(scene, 41, 23, 16, 12), "a.png"));
  finder.find(scene);
  std::size_t before = bytes_after_changes(finder, scene), after = 0;
  for (int i = 0; i < 8; ++i) {
    after = bytes_after_changes(finder, scene);
    g_print("%zu bytes in use, %zu after 50 changes more\n", before, after);
    if (after < before + 8'000) return;
    before = after;
  }
  fail("after 50 changes more there were 8 kB more in use, each of 8 times");
}

}  // namespace
