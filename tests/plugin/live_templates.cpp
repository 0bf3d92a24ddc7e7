// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Templates that come and go while frames flow: samples, patches captured from frames, removal;
// what is refused, and that nothing else is lost by it.
#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <thread>

#include "moving_patch.hpp"

namespace {

using Sample = std::shared_ptr<GstSample>;

Sample make_sample(GstBuffer* buffer, GstVideoFormat format, int width, int height) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, format, width, height);
  GstCaps* caps = gst_video_info_to_caps(&info);
  const Sample sample(gst_sample_new(buffer, caps, nullptr, nullptr), gst_sample_unref);
  gst_clear_buffer(&buffer);
  gst_caps_unref(caps);
  return sample;
}

Sample sample_of(const Gray& picture, GstVideoFormat format = GST_VIDEO_FORMAT_GRAY8) {
  return make_sample(make_frame(format, picture), format, picture.width, picture.height);
}

guint add(Finder& finder, const Sample& sample, const char* label = nullptr) {
  guint id = 0;
  g_signal_emit_by_name(finder.element, "add-template", sample.get(), label, &id);
  return id;
}

guint add_file(Finder& finder, const std::string& file, const char* label = nullptr) {
  guint id = 0;
  g_signal_emit_by_name(finder.element, "add-template-file", file.c_str(), label, &id);
  return id;
}

guint capture(Finder& finder, int x, int y, int width, int height) {
  guint id = 0;
  g_signal_emit_by_name(finder.element, "capture-template", x, y, width, height, &id);
  return id;
}

bool remove(Finder& finder, guint id) {
  gboolean removed = FALSE;
  g_signal_emit_by_name(finder.element, "remove-template", id, &removed);
  return removed;
}

/// There is one warning, which says that.
void assert_warned(Finder& finder, const char* text, GQuark domain = GST_LIBRARY_ERROR,
                   int code = GST_LIBRARY_ERROR_SETTINGS) {
  const std::string told = text_of(finder.message(GST_MESSAGE_WARNING), domain, code);
  fail_unless(told.find(text) != told.npos, "'%s' does not say '%s'", told.c_str(), text);
  fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr, "a second warning");
}

void assert_found(const Peak& peak, guint template_id, const char* label, int x, int y) {
  assert_equals_int(peak.template_id, template_id);
  assert_text(peak.label, label);
  assert_at(peak, x, y);
  fail_unless(peak.score == 1.0, "score %.17g", peak.score);
}

constexpr char exact[] = "subpixel=false threshold=0.9 ";

GST_START_TEST(ids_stay_when_others_go) {
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
GST_END_TEST

/// Those of properties can be removed too, and the properties say so.
GST_START_TEST(templates_of_properties_removed) {
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
GST_END_TEST

GST_START_TEST(sample_of_every_format) {
  const GstVideoFormat format = all_formats[__i__];
  const Gray scene = texture(97, 65);
  Finder finder(exact);
  finder.set_format(format, scene.width, scene.height);
  const Sample sample = sample_of(crop(scene, 41, 23, 16, 12), format);
  g_object_set(finder.element, "template-sample", sample.get(), nullptr);
  assert_found(only(finder.find(scene)), 1, "sample", 41, 23);
}
GST_END_TEST

/// Of an odd rectangle, also in formats whose colours are of fewer pixels.
GST_START_TEST(capture_in_every_format) {
  const Gray scene = texture(97, 65);
  Finder finder(exact + std::string("enable-capture=true"));
  finder.set_format(all_formats[__i__], scene.width, scene.height);
  gst_buffer_unref(finder.pass(make_frame(all_formats[__i__], scene)));
  assert_equals_int(capture(finder, 41, 23, 15, 11), 1);
  assert_found(only(finder.find(scene)), 1, "captured", 41, 23);
}
GST_END_TEST

/// Its pixels are those that came, whatever became of the frame downstream.
GST_START_TEST(capture_of_a_frame_written_into) {
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
GST_END_TEST

/// Of the frame that left last, not of those in work.
GST_START_TEST(capture_while_frames_are_in_work) {
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
GST_END_TEST

GST_START_TEST(capture_that_cannot_be) {
  Gray scene = texture(96, 64);
  paste(scene, Gray(20, 20, 90), 0, 0);
  Finder finder(exact + std::string("template=") + save(crop(scene, 41, 23, 16, 12), "a.png"));
  assert_equals_int(capture(finder, 0, 0, 16, 16), 0);
  assert_warned(finder, "enable-capture");
  finder.find(scene);
  assert_equals_int(capture(finder, 41, 23, 16, 16), 0);
  assert_warned(finder, "enable-capture");
  finder.set("enable-capture", "true");
  finder.find(scene);
  for (const auto& [x, y, width, height] : {std::array{-1, 0, 16, 16},
                                            {0, 0, 97, 10},
                                            {81, 0, 16, 10},
                                            {0, 49, 16, 16},
                                            {40, 20, 0, 5},
                                            {40, 20, 5, -5},
                                            {2, 2, G_MAXINT, 3},
                                            {G_MAXINT, G_MAXINT, G_MAXINT, G_MAXINT}}) {
    assert_equals_int(capture(finder, x, y, width, height), 0);
    assert_warned(finder, "not inside the frame of 96x64");
  }
  assert_equals_int(capture(finder, 2, 3, 10, 12), 0);
  assert_warned(finder, "10x12 pixels at 2,3 are flat");
  assert_found(only(finder.find(scene)), 1, "a", 41, 23);
  assert_equals_int(capture(finder, 80, 52, 16, 12), 2);  // up to the last pixel
  assert_found(finder.find(scene).peaks.at(1), 2, "captured", 80, 52);
}
GST_END_TEST

GST_START_TEST(samples_that_cannot_be_used) {
  const Gray scene = texture(96, 64);
  Finder finder(exact + ("template=" + save(crop(scene, 41, 23, 16, 12), "a.png")));
  finder.find(scene);
  GstCaps* text = gst_caps_new_empty_simple("text/x-raw");
  GstBuffer* frame = make_frame(GST_VIDEO_FORMAT_GRAY8, scene);
  const Sample no_caps(gst_sample_new(frame, nullptr, nullptr, nullptr), gst_sample_unref);
  const Sample no_video(gst_sample_new(frame, text, nullptr, nullptr), gst_sample_unref);
  gst_buffer_unref(frame);
  gst_caps_unref(text);
  const auto half = gst_buffer_new_allocate(nullptr, 1000, nullptr);
  for (const auto& [sample, reason] :
       {std::pair{make_sample(nullptr, GST_VIDEO_FORMAT_RGB, 16, 12), "no buffer"},
        {no_caps, "caps"},
        {no_video, "caps"},
        {make_sample(half, GST_VIDEO_FORMAT_RGB, 64, 48), "too small"}}) {
    assert_equals_int(add(finder, sample, "mine"), 0);
    assert_warned(finder, reason);
    g_object_set(finder.element, "template-sample", sample.get(), nullptr);
    assert_warned(finder, reason);
  }
  assert_equals_int(add(finder, nullptr), 0);
  assert_warned(finder, "no buffer");
  assert_equals_int(add_file(finder, "/no/such/file.png"), 0);
  assert_warned(finder, "/no/such/file.png", GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ);
  assert_found(only(finder.find(scene)), 1, "a", 41, 23);
}
GST_END_TEST

GST_START_TEST(removal_of_none) {
  const World world;
  Finder finder(settings_for(world));
  settle(finder, world, {200, 100});
  const guint id = add(finder, sample_of(texture(20, 12, 51)));
  fail_unless(!remove(finder, 0));
  assert_warned(finder, "0");
  fail_unless(!remove(finder, 4711));
  assert_warned(finder, "4711");
  fail_unless(remove(finder, id));
  fail_unless(!remove(finder, id));
  assert_warned(finder, std::to_string(id).c_str());
  assert_track(only(finder.find(world.frame({{200, 100}}))), 1, "tracked");
}
GST_END_TEST

GST_START_TEST(tracks_of_the_others_stay) {
  const World world;
  Gray picture = world.frame({{200, 100}});
  const Gray other = crop(picture, 60, 30, 20, 12);
  Finder finder(settings_for(world, "enable-capture=true"));
  for (int i = 0; i < 3; ++i) finder.find(picture);
  const guint captured = capture(finder, 60, 30, 20, 12);
  for (int i = 0; i < 3; ++i) {
    const Found found = finder.find(picture);
    assert_equals_int(found.peaks.size(), 2);
    assert_track(found.peaks[0], 1, "tracked");
    assert_track(found.peaks[1], 2, i < 2 ? "tentative" : "tracked");
  }
  fail_unless(remove(finder, 1));
  assert_track(only(finder.find(picture)), 2, "tracked");
  assert_equals_int(add(finder, sample_of(world.patch), "again"), captured + 1);
  const Found found = finder.find(picture);
  assert_track(found.peaks.at(0), 2, "tracked");
  assert_track(found.peaks.at(1), 3, "tentative");
}
GST_END_TEST

/// Added while stopped, and kept through a stop.
GST_START_TEST(added_templates_outlive_a_stop) {
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
GST_END_TEST

/// The library takes no template as large as this: the bank before stays.
GST_START_TEST(an_added_template_that_is_refused) {
  const Gray scene = texture(96, 64);
  Finder finder(exact + ("template=" + save(crop(scene, 41, 23, 16, 12), "a.png")));
  finder.find(scene);
  const guint id = add(finder, sample_of(Gray(4000, 3000, 1)), "huge");
  fail_unless(id != 0);
  assert_found(only(finder.find(scene)), 1, "a", 41, 23);
  assert_warned(finder, "huge", GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT);
  fail_unless(!remove(finder, id));
}
GST_END_TEST

/// Templates come and go in two threads while frames flow in a third.
GST_START_TEST(changes_from_other_threads) {
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
GST_END_TEST

}  // namespace

Suite* suite() {
  constexpr int format_count = G_N_ELEMENTS(all_formats);
  Suite* suite = suite_create("live templates");
  TCase* cases = tcase_create("live templates");
  suite_add_tcase(suite, cases);
  tcase_add_test(cases, ids_stay_when_others_go);
  tcase_add_test(cases, templates_of_properties_removed);
  tcase_add_loop_test(cases, sample_of_every_format, 0, format_count);
  tcase_add_loop_test(cases, capture_in_every_format, 0, format_count);
  tcase_add_test(cases, capture_of_a_frame_written_into);
  tcase_add_test(cases, capture_while_frames_are_in_work);
  tcase_add_test(cases, capture_that_cannot_be);
  tcase_add_test(cases, samples_that_cannot_be_used);
  tcase_add_test(cases, removal_of_none);
  tcase_add_test(cases, tracks_of_the_others_stay);
  tcase_add_test(cases, added_templates_outlive_a_stop);
  tcase_add_test(cases, an_added_template_that_is_refused);
  tcase_add_test(cases, changes_from_other_threads);
  return suite;
}
