// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Impossible settings, formats and frames: each gives a clear error or warning.
#include "support.hpp"

namespace {

/// An ordinal that no GPU has, so the result is the same with a GPU and without.
ELEMENT_TEST(no_such_gpu) {
  refused_at_start({{"backend", "cuda"}, {"cuda-device-id", "4095"}}, GST_RESOURCE_ERROR,
                   GST_RESOURCE_ERROR_NOT_FOUND);
  // With `auto` the CPU is used instead.
  Finder finder("backend=auto cuda-device-id=4095");
  gst_element_set_state(finder.element, GST_STATE_READY);
  assert_equals_int(gst_element_set_state(finder.element, GST_STATE_PAUSED),
                    GST_STATE_CHANGE_SUCCESS);
  assert_text(finder.get("active-backend"), "cpu");
  fail_unless(finder.message(
                  static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING)) == nullptr);
}

/// A list with something that is no text, as a careless program may pass one.
ELEMENT_TEST(templates_without_a_name) {
  Finder finder("threshold=0.9");
  GValue list = G_VALUE_INIT, item = G_VALUE_INIT;
  gst_value_array_init(&list, 1);
  g_value_init(&item, G_TYPE_STRING);
  gst_value_array_append_and_take_value(&list, &item);
  g_object_set_property(G_OBJECT(finder.element), "templates", &list);
  g_value_unset(&list);
  assert_warned(finder, "'templates' cannot be");
}

/// Not numbers, negative, too large, doubled, with something between or behind: nothing changes.
ELEMENT_TEST(malformed_devices) {
  Finder finder("devices=2,0 backend=cpu");  // of which there may be fewer
  for (const char* value : {"a", "-1", "0,-1", "0,,1", "0,", ",0", "0 1", "0, 1", "0,1x", "1.5",
                            "0,1,0", "99999999999"}) {
    finder.set("devices", value);
    assert_warned(finder, "'devices' cannot be");
    assert_text(finder.get("devices"), "2,0");
  }
  for (const char* value : {"0", "3,1,2"}) {
    finder.set("devices", value);
    assert_text(finder.get("devices"), value);
  }
  g_object_set(finder.element, "devices", nullptr, nullptr);
  gchar* text = nullptr;
  g_object_get(finder.element, "devices", &text, nullptr);
  fail_unless(text == nullptr);
  fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr, "a warning about what it took");
}

/// Whether the first or the second is missing, or there is no CUDA at all.
ELEMENT_TEST(no_such_devices) {
  for (const char* devices : {"4095", "4095,0", "0,4095"}) {
    refused_at_start({{"backend", "cuda"}, {"devices", devices}}, GST_RESOURCE_ERROR,
                     GST_RESOURCE_ERROR_NOT_FOUND);
    for (const char* backend : {"auto", "cpu"}) {
      const Gray scene = texture(60, 40);
      Finder finder(std::string("backend=") + backend + " devices=" + devices +
                    " template=" + save(crop(scene, 9, 9, 16, 12), "patch.png"));
      gst_element_set_state(finder.element, GST_STATE_READY);  // it started before it had a bus
      gst_element_set_state(finder.element, GST_STATE_PLAYING);
      assert_text(finder.get("active-backend"), "cpu");
      assert_warned(finder, "'devices' has no effect, the CPU works: ");
      assert_equals_int(finder.find(scene).peaks.size(), 1);
      fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr, "a second warning");
    }
  }
}

ELEMENT_TEST(caps_it_cannot_take) {
  for (const char* caps :
       {"video/x-raw,format=GRAY16_BE", "video/x-raw,format=P012_LE", "video/x-raw,format=Y410",
        "video/x-raw(memory:DMABuf),format=NV12", "image/jpeg"}) {
    Finder finder("template=" + save(texture(9, 9), "patch.png"));
    gst_harness_set_src_caps_str(
        finder.harness, (std::string(caps) + ",width=32,height=32,framerate=25/1").c_str());
    const GstFlowReturn flow =
        gst_harness_push(finder.harness, gst_buffer_new_allocate(nullptr, 8192, nullptr));
    fail_unless(flow == GST_FLOW_NOT_NEGOTIATED, "%s: %s", caps, gst_flow_get_name(flow));
  }
}

/// Before any frame, and without a template.
ELEMENT_TEST(unknown_kernel_at_start) {
  const std::string text =
      refused_at_start({{"kernel", "no_such"}}, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
  assert_contains(text, "no_such");
  assert_contains(text, "fft");  // what there is instead
}

ELEMENT_TEST(unknown_kernel_while_playing) {
  const Gray scene = texture(60, 40);
  Finder finder("template=" + save(crop(scene, 9, 9, 16, 12), "patch.png"));
  finder.find(scene);
  finder.set("kernel", "no_such");
  assert_equals_int(finder.find(scene).peaks.size(), 1);
  assert_warned(finder, "no_such");
  assert_text(finder.get("kernel"), "auto");
  assert_equals_int(finder.find(scene).peaks.size(), 1);
  fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr, "a second warning");
}

/// What it started with is returned to, although no frame has been analysed yet.
ELEMENT_TEST(unknown_kernel_before_the_first_frame) {
  const Gray scene = texture(60, 40);
  Finder finder("template=" + save(crop(scene, 9, 9, 16, 12), "patch.png"));
  finder.set("kernel", "no_such");
  assert_equals_int(finder.find(scene).peaks.size(), 1);
  assert_warned(finder, "no_such");
  assert_text(finder.get("kernel"), "auto");
}

/// One that is able until other frames come.
ELEMENT_TEST(kernel_that_cannot_do_these_frames) {
  if (std::string(backend()) != "cpu") return;
  const Gray scene = texture(60, 40);
  Finder finder("kernel=fft_single template=" + save(crop(scene, 9, 9, 16, 12), "patch.png"));
  assert_equals_int(finder.find(scene).peaks.size(), 1);
  fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr, "a warning");
  finder.set_format(GST_VIDEO_FORMAT_GRAY16_LE, scene.width, scene.height);
  assert_equals_int(finder.find(scene).peaks.size(), 1);
  assert_contains(
      text_of(finder.message(GST_MESSAGE_WARNING), GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS),
      "fft_single");
  assert_text(finder.get("kernel"), "auto");
}

/// An array of the wrong length or type changes nothing.
ELEMENT_TEST(malformed_region) {
  Finder finder("search-region=\"<1,2,30,40>\"");
  for (const char* value : {"<1,2,3>", "<1,2,3,4,5>", "<1,2,-3,4>", "<1,2,3,4.5>",
                            "<1,2,3,<4,5,6,7>>", "<1,2,3,99999999999>"}) {
    finder.set("search-region", value);
    assert_warned(finder, "search-region");
    assert_text(finder.get("search-region"), "< (int)1, (int)2, (int)30, (int)40 >");
  }
}

/// GObject warns; from GLib 2.75 on the warning is critical.
#if GLIB_CHECK_VERSION(2, 75, 0)
#define ASSERT_COMPLAINT ASSERT_CRITICAL
#else
#define ASSERT_COMPLAINT ASSERT_WARNING
#endif

/// Past their ranges, and no number: the old value stays, and frames flow on.
ELEMENT_TEST(numbers_out_of_range) {
  static constexpr struct {
    const char *property, *old, *below, *above;
  } numbers[] = {{"prefilter-sigma", "1.5", "-1", "11"},  {"angle-start", "-20", "-361", "361"},
                 {"angle-extent", "40", "-1", "361"},     {"angle-step", "2", "-1", "361"},
                 {"scale-min", "0.9", "0.09", "11"},      {"scale-max", "1.1", "0.09", "11"},
                 {"scale-step", "0.1", "-0.1", "1.1"},    {"max-overlap", "0.3", "-0.1", "1.1"},
                 {"min-contrast", "4", "-1", "256"},      {"edge-contrast", "5", "0", "65"},
                 {"confirm-threshold", "4", "-1", "256"}, {"overhang", "0.2", "-0.1", "0.6"},
                 {"track-angle", "9", "-1", "181"},       {"track-scale", "0.2", "-0.1", "1.1"}};
  const Gray scene = texture(60, 40);
  for (const auto& [property, old, below, above] : numbers) {
    Finder finder(std::string(property) + "=" + old +
                  " template=" + save(crop(scene, 9, 9, 16, 12), "patch.png"));
    for (const char* value : {below, above, "nan"}) {
      ASSERT_COMPLAINT(finder.set(property, value));
      assert_equals_float(g_ascii_strtod(finder.get(property).c_str(), nullptr),
                          g_ascii_strtod(old, nullptr));
    }
    finder.find(scene);
    fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr, "%s", property);
  }
  Finder finder("pyramid-levels=1");
  for (const char* value : {"-2", "9"}) {
    ASSERT_COMPLAINT(finder.set("pyramid-levels", value));
    assert_text(finder.get("pyramid-levels"), "1");
  }
}

}  // namespace
