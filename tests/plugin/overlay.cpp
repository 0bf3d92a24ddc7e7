// SPDX-License-Identifier: LGPL-2.1-or-later
//
// xcorroverlay: boxes are where they belong, and nothing else is touched.
#include <cmath>

#include "overlay_harness.hpp"

namespace {

// ---- frames ---------------------------------------------------------------------------------

ELEMENT_TEST(without_results_frames_pass_as_they_are) {
  Overlay overlay("");
  GstBuffer* plain = overlay.frame();
  fail_unless(overlay.pass(gst_buffer_ref(plain)) == plain);
  gst_buffer_unref(plain);
  GstBuffer* nothing_found = overlay.frame();
  attach_result(nothing_found, frame_width, frame_height, {});
  fail_unless(overlay.pass(gst_buffer_ref(nothing_found)) == nothing_found);
  fail_unless(overlay.all_ground());
  gst_buffer_unref(nothing_found);
}

/// As after a tee: someone else holds the frame too, and must not see the box.
ELEMENT_TEST(shared_frames_are_not_changed) {
  Overlay overlay(box_only);
  GstBuffer* frame = overlay.frame();
  attach_result(frame, frame_width, frame_height, {in_the_middle});
  GstBuffer* before = gst_buffer_copy_deep(frame);
  GstBuffer* out = overlay.pass(gst_buffer_ref(frame));
  fail_unless(out != frame);
  fail_unless(overlay.count(orange) > 0);
  GstMapInfo map;
  fail_unless(gst_buffer_map(before, &map, GST_MAP_READ));
  gst_check_buffer_data(frame, map.data, map.size);
  gst_buffer_unmap(before, &map);
  gst_buffer_unref(before);
  gst_buffer_unref(frame);
}

ELEMENT_TEST(images_go_along_where_downstream_blends) {
  Overlay overlay(box_only);
  gst_harness_add_propose_allocation_meta(overlay.harness,
                                          GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE, nullptr);
  gst_harness_set_sink_caps_str(
      overlay.harness, "video/x-raw(memory:SystemMemory, meta:GstVideoOverlayComposition)");
  GstBuffer* frame = overlay.frame();
  attach_result(frame, frame_width, frame_height, {in_the_middle, {10, 90, 20, 10}});
  GstMemory* memory = gst_buffer_peek_memory(frame, 0);
  GstBuffer* out = overlay.pass(gst_buffer_ref(frame));
  fail_unless(gst_buffer_peek_memory(out, 0) == memory, "the pixels were copied");
  fail_unless(overlay.all_ground());
  const GstVideoOverlayCompositionMeta* meta = gst_buffer_get_video_overlay_composition_meta(out);
  fail_unless(meta != nullptr);
  assert_equals_int(gst_video_overlay_composition_n_rectangles(meta->overlay), 2);
  gint x, y;
  guint width, height;
  gst_video_overlay_rectangle_get_render_rectangle(
      gst_video_overlay_composition_get_rectangle(meta->overlay, 0), &x, &y, &width, &height);
  assert_equals_int(x, 56);  // the box, a line of two pixels round it and its rims
  assert_equals_int(y, 46);
  assert_equals_int(width, 38);
  assert_equals_int(height, 28);
  gst_buffer_unref(frame);
}

// ---- boxes ----------------------------------------------------------------------------------

ELEMENT_TEST(box_is_round_the_place) {
  Overlay overlay(box_only);
  overlay.show({in_the_middle});
  for (int x = 58; x < 92; ++x) {
    assert_equals_int(overlay.color(x, 47), orange);
    assert_equals_int(overlay.color(x, 72), orange);
  }
  for (int y = 48; y < 72; ++y) {
    assert_equals_int(overlay.color(57, y), orange);
    assert_equals_int(overlay.color(92, y), orange);
  }
  for (int y = 50; y < 70; ++y)
    for (int x = 60; x < 90; ++x) fail_unless(overlay.is_ground(x, y), "%d,%d is drawn on", x, y);
  for (int x = 0; x < frame_width; ++x) {
    fail_unless(overlay.is_ground(x, 45) && overlay.is_ground(x, 74));
  }
}

/// A square of 30 turned by an eighth: its corners are 21 pixels from the middle, right and left,
/// above and below, and its upper edge, at the upper left, has a mark.
ELEMENT_TEST(turned_box) {
  Overlay overlay(box_only);
  MadePeak turned{60, 45, 30, 30};
  turned.angle = 45;
  overlay.show({turned});
  fail_unless(overlay.count(orange, 94, 57, 5, 6) > 0, "no corner on the right");
  fail_unless(overlay.count(orange, 72, 36, 6, 5) > 0, "no corner above");
  fail_unless(overlay.count(orange, 90, 75, 5, 5) == 0, "a corner of the bounds");
  fail_unless(overlay.is_ground(75, 60));
  const int marked = overlay.count(orange, 57, 42, 10, 10);
  const int opposite = overlay.count(orange, 83, 68, 10, 10);
  fail_unless(marked > opposite + 5, "%d pixels, and %d opposite", marked, opposite);
}

ELEMENT_TEST(formats) {
  for (const GstVideoFormat format :
       {GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_YUY2, GST_VIDEO_FORMAT_UYVY,
        GST_VIDEO_FORMAT_GRAY8}) {
    Overlay overlay(box_only, format);
    overlay.show({in_the_middle});
    const int line = overlay.value(0, 75, 47);
    fail_unless(std::abs(line - 154) <= 6, "%s: the line's luma is %d",
                gst_video_format_to_string(format), line);  // orange is 154
    assert_equals_int(overlay.value(0, 75, 60), 100);
    assert_equals_int(overlay.value(0, 5, 5), 100);
  }
  for (const GstVideoFormat format :
       {GST_VIDEO_FORMAT_RGB, GST_VIDEO_FORMAT_BGR, GST_VIDEO_FORMAT_RGBA, GST_VIDEO_FORMAT_ARGB,
        GST_VIDEO_FORMAT_xBGR}) {
    Overlay overlay(box_only, format);
    overlay.show({in_the_middle});
    assert_equals_int(overlay.color(75, 47), orange);
    fail_unless(overlay.is_ground(75, 60));
  }
}

/// The result is of a frame of 160x120, which has been scaled since.
ELEMENT_TEST(box_follows_a_scaling) {
  Overlay overlay(box_only);
  overlay.set_size(frame_width * 2, frame_height / 2);
  overlay.show({in_the_middle});
  assert_equals_int(overlay.color(150, 36), orange);  // the place is 120,25 to 180,35
  assert_equals_int(overlay.color(181, 30), orange);
  fail_unless(overlay.is_ground(150, 30));
  fail_unless(overlay.is_ground(75, 47));
}

ELEMENT_TEST(each_track_has_its_color) {
  Overlay overlay(box_only);
  overlay.show({{20, 50, 10, 10, 1}, {60, 50, 10, 10, 2}});
  assert_equals_int(overlay.color(25, 47), orange);
  assert_equals_int(overlay.color(65, 47), sky_blue);
  gst_util_set_object_arg(G_OBJECT(overlay.element), "color", "0xff12ab34");
  overlay.show({{20, 50, 10, 10, 1}, {60, 50, 10, 10, 2}});
  assert_equals_int(overlay.color(25, 47), 0x12ab34);
  assert_equals_int(overlay.color(65, 47), 0x12ab34);
}

ELEMENT_TEST(line_width) {
  Overlay overlay(box_only + "line-width=36");
  overlay.show({in_the_middle});
  assert_equals_int(overlay.count(orange, 75, 40, 1, 10), 6);
}

/// The width of the line and the height of the text's background in frames of several heights.
ELEMENT_TEST(lines_and_text_scale_with_the_frame) {
  struct Sizes {
    int line, text;
  };
  const auto sizes = [](int height, const std::string& properties) {
    Overlay overlay("show-id=false show-score=false " + properties);
    overlay.set_size(height * frame_width / frame_height, height);
    overlay.show({in_the_middle});
    const int left = height * 60 / frame_height, top = height * 50 / frame_height;
    return Sizes{overlay.count(orange, left - 20, height / 2, 20, 1),
                 overlay.count(orange, left - 3, 0, 1, top)};
  };
  const Sizes reference = sizes(720, ""), twice = sizes(1440, ""), small = sizes(180, "");
  assert_equals_int(reference.line, 3);
  assert_equals_int(twice.line, 6);
  assert_equals_int(small.line, 1);
  fail_unless(std::abs(twice.text - 2 * reference.text) <= 3, "%d and %d pixels of text",
              twice.text, reference.text);
  fail_unless(small.text >= 10 && small.text <= 20, "%d pixels of text", small.text);
  const std::string pixels = "font-desc=\"Sans 16px\"";
  fail_unless(sizes(1440, pixels).text < 1.5 * sizes(720, pixels).text);
}

ELEMENT_TEST(lost_is_dashed) {
  Overlay overlay(box_only);
  overlay.show({{60, 50, 30, 20, 1, true}});
  const int drawn = overlay.count(orange, 57, 47, 36, 1);
  fail_unless(drawn >= 12 && drawn <= 30, "%d of 36 pixels are drawn", drawn);
  gst_util_set_object_arg(G_OBJECT(overlay.element), "hide-lost", "true");
  overlay.show({{60, 50, 30, 20, 1, true}});
  fail_unless(overlay.all_ground());
}

/// How often the line at the box's upper edge begins.
int dashes_of(bool lost, const char* state) {
  Overlay overlay(box_only);
  overlay.show({{60, 50, 30, 20, 1, lost, state}});
  int begins = 0;
  for (int x = 57; x < 92; ++x)
    begins += overlay.color(x, 47) != orange && overlay.color(x + 1, 47) == orange;
  return begins;
}

ELEMENT_TEST(tentative_is_dotted) {
  const int tracked = dashes_of(false, "tracked"), lost = dashes_of(true, "lost");
  const int tentative = dashes_of(false, "tentative");
  fail_unless(tracked <= 1 && lost > tracked && tentative > lost + 2, "%d, %d, %d", tracked, lost,
              tentative);
  assert_equals_int(dashes_of(true, "tentative"), tentative);
}

ELEMENT_TEST(what_was_lost_long_ago_has_no_box) {
  Overlay overlay(box_only);
  const MadePeak lost = {60, 50, 30, 20, 1, true, "lost"};
  overlay.show({in_the_middle, {60, 50, 30, 20, 1}});
  for (int i = 0; i < 50; ++i) overlay.show({lost});
  fail_unless(overlay.count(orange) > 0);
  overlay.show({lost});
  fail_unless(overlay.all_ground());
  overlay.show({{60, 50, 30, 20, 1}});
  overlay.show({lost});
  fail_unless(overlay.count(orange) > 0);
}

ELEMENT_TEST(marks_stay_on_frames_that_were_not_analysed) {
  Overlay overlay(box_only);
  overlay.show({in_the_middle});
  overlay.show({}, false);
  assert_equals_int(overlay.color(75, 47), orange);
  overlay.show({});
  fail_unless(overlay.all_ground());
}

// ---- what should not be -----------------------------------------------------------------------

ELEMENT_TEST(strange_places) {
  Overlay overlay("");
  overlay.show({{-500, -500, 30, 20},
                {1e9, 50, 30, 20},
                {-20, -10, 400, 300},
                {60, 50, 0, 0},
                {60, 50, -30, -20},
                {NAN, NAN, NAN, NAN},
                {60, 50, 30, 20, G_MAXUINT64}});
  overlay.set_size(40000, 4);
  overlay.show({{0, 0, frame_width, frame_height}});
  overlay.set_size(1, 1);
  overlay.show({in_the_middle});
}

ELEMENT_TEST(strange_results) {
  Overlay overlay("");
  GstBuffer* frame = overlay.frame();
  GstStructure* result = attach_result(frame, frame_width, frame_height, {in_the_middle});
  gst_structure_set(result, "peaks", G_TYPE_INT, 3, nullptr);
  overlay.pass(frame);
  fail_unless(overlay.all_ground());
  frame = overlay.frame();
  gst_structure_remove_all_fields(attach_result(frame, frame_width, frame_height, {}));
  overlay.pass(frame);
  fail_unless(overlay.all_ground());
}

/// Drawing into it would write past its end.
ELEMENT_TEST(frame_that_promises_more_than_it_holds) {
  Overlay overlay(box_only);
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(overlay.harness->element, bus);
  for (int i = 0; i < 3; ++i) {
    GstBuffer* short_one = gst_buffer_new_allocate(nullptr, 4096, nullptr);
    gst_buffer_add_video_meta(short_one, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_BGRx,
                              frame_width, frame_height);
    attach_result(short_one, frame_width, frame_height, {in_the_middle});
    overlay.pass(short_one);
  }
  GstMessage* warning = gst_bus_pop_filtered(bus, GST_MESSAGE_WARNING);
  const std::string text = text_of(warning, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT);
  fail_unless(text.find("without marks") != text.npos, "%s", text.c_str());
  fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_WARNING) == nullptr, "a second warning");
  overlay.show({in_the_middle});
  assert_equals_int(overlay.color(75, 47), orange);
  gst_element_set_bus(overlay.harness->element, nullptr);
  gst_object_unref(bus);
}

/// `overlaycomposition` draws into the whole frame.
ELEMENT_TEST(cropping_is_not_offered) {
  Overlay overlay(box_only);
  gst_harness_add_propose_allocation_meta(overlay.harness, GST_VIDEO_META_API_TYPE, nullptr);
  gst_harness_add_propose_allocation_meta(overlay.harness, GST_VIDEO_CROP_META_API_TYPE, nullptr);
  overlay.show({});
  GstPad* sink = gst_element_get_static_pad(overlay.element, "sink");
  GstCaps* caps = gst_pad_get_current_caps(sink);
  GstQuery* query = gst_query_new_allocation(caps, TRUE);
  fail_unless(gst_pad_query(sink, query));
  fail_unless(gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr));
  fail_if(gst_query_find_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, nullptr));
  gst_query_unref(query);
  gst_caps_unref(caps);
  gst_object_unref(sink);
}

ELEMENT_TEST(missing_base_plugin) {
  GstRegistry* registry = gst_registry_get();
  GstPluginFeature* feature = gst_registry_lookup_feature(registry, "overlaycomposition");
  gst_registry_remove_feature(registry, feature);
  const std::string text = refused_at_start(gst_element_factory_make("xcorroverlay", nullptr),
                                            GST_CORE_ERROR, GST_CORE_ERROR_MISSING_PLUGIN);
  fail_unless(text.find("overlaycomposition") != std::string::npos, "%s", text.c_str());
  gst_registry_add_feature(registry, feature);
  gst_object_unref(feature);
}

// ---- with cudaxcorr ---------------------------------------------------------------------------

ELEMENT_TEST(draws_what_is_found) {
  const Gray scene = texture(frame_width, frame_height);
  const std::string file = save(crop(scene, 70, 40, 24, 16), "patch.png");
  Finder finder("template=" + file + " ! xcorroverlay " + box_only);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  for (int run = 0; run < 2; ++run) {
    GstBuffer* out = finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, scene));
    GstMapInfo map;
    fail_unless(gst_buffer_map(out, &map, GST_MAP_READ));
    for (int x = 70; x < 94; ++x) {
      const int line = map.data[37 * frame_width + x];
      fail_unless(std::abs(line - 154) <= 20, "at %d: %d", x, line);
    }
    gst_buffer_unmap(out, &map);
    gst_buffer_unref(out);
  }
}

}  // namespace
