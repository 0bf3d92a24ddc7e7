// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Templates that cannot be added or removed: the warning, and that nothing else is lost.
#include <array>

#include "live_templates.hpp"

namespace {

ELEMENT_TEST(capture_that_cannot_be) {
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

ELEMENT_TEST(samples_that_cannot_be_used) {
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

ELEMENT_TEST(sample_that_cannot_be_used_at_start) {
  GstElement* element = gst_element_factory_make("cudaxcorr", nullptr);
  gst_util_set_object_arg(G_OBJECT(element), "backend", backend());
  const Sample sample = make_sample(nullptr, GST_VIDEO_FORMAT_RGB, 16, 12);
  g_object_set(element, "template-sample", sample.get(), nullptr);
  const std::string text = refused_at_start(element, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
  fail_unless(text.find("no buffer") != text.npos, "'%s'", text.c_str());
}

ELEMENT_TEST(removal_of_none) {
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

}  // namespace
