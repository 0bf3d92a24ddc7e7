// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Mistakes that would go unnoticed: those in launch lines are reported on the pipeline's bus, and
// messages name the source file that they come from.
#include "support.hpp"

namespace {

struct Message {
  std::string text, debug;
};

Message read(GstMessage* message) {
  GError* error = nullptr;
  gchar* debug = nullptr;
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
    gst_message_parse_error(message, &error, &debug);
  else
    gst_message_parse_warning(message, &error, &debug);
  const Message read{error->message, debug};
  g_error_free(error);
  g_free(debug);
  return read;
}

/// The warnings of three frames through a cudaxcorr with these properties, as in a launch line, and
/// the error, if there is one.
std::vector<Message> messages_of(const std::string& properties) {
  const std::string launch =
      std::string("videotestsrc num-buffers=3 ! video/x-raw,width=64,height=48 ! ") +
      "cudaxcorr backend=" + backend() + " " + properties + " ! fakesink";
  GstElement* pipeline = gst_parse_launch(launch.c_str(), nullptr);
  fail_unless(pipeline != nullptr, "cannot make %s", launch.c_str());
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  std::vector<Message> messages;
  for (bool ended = false; !ended;) {
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus, 20 * GST_SECOND,
        static_cast<GstMessageType>(GST_MESSAGE_WARNING | GST_MESSAGE_ERROR | GST_MESSAGE_EOS));
    fail_unless(message != nullptr, "no end of %s", launch.c_str());
    if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_EOS) messages.push_back(read(message));
    ended = GST_MESSAGE_TYPE(message) != GST_MESSAGE_WARNING;
    gst_message_unref(message);
  }
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(bus);
  gst_object_unref(pipeline);
  return messages;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

/// Checks that these properties give exactly one message, with these parts.
void assert_told(const std::string& properties, const std::vector<std::string>& parts) {
  const std::vector<Message> messages = messages_of(properties);
  fail_unless(messages.size() == 1, "%s: %d messages", properties.c_str(),
              static_cast<int>(messages.size()));
  for (const std::string& part : parts)
    fail_unless(has(messages[0].text, part), "'%s' does not say '%s'", messages[0].text.c_str(),
                part.c_str());
}

std::string patch() { return "template=" + save(texture(9, 9), "patch.png") + " "; }

/// gst-launch-1.0 sets properties before the element is in a pipeline.
ELEMENT_TEST(malformed_values_in_a_launch_line) {
  for (const char* value : {"<0,0,100>", "<1,2,3,4,5>", "<1,2,-3,4>"})
    assert_told(patch() + "search-region=" + value, {"search-region", "width, height"});
  assert_told(patch() + "search-region=<7,8,9>", {"(int)7, (int)8, (int)9"});
}

/// Posted when the element starts, and only once.
ELEMENT_TEST(refusals_are_told_at_the_first_start) {
  Finder finder(patch());
  gst_element_set_state(finder.harness->element, GST_STATE_NULL);
  finder.set("search-region", "<1,2,3>");
  fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr);
  for (const bool told : {true, false}) {
    gst_element_set_state(finder.harness->element, GST_STATE_PLAYING);
    GstMessage* message = finder.message(GST_MESSAGE_WARNING);
    fail_unless((message != nullptr) == told);
    if (message) gst_message_unref(message);
    gst_element_set_state(finder.harness->element, GST_STATE_NULL);
  }
}

ELEMENT_TEST(no_template) {
  assert_told("", {"no template", "'template'", "'add-template-file'"});
  assert_equals_int(messages_of("enable-capture=true").size(), 0);
  assert_equals_int(messages_of(patch()).size(), 0);
}

/// Of two frames and of one.
std::string video(int frames) {
  const std::string path = temporary("clip" + std::to_string(frames) + ".avi");
  const std::string launch =
      "videotestsrc num-buffers=" + std::to_string(frames) +
      " ! video/x-raw,width=24,height=16,framerate=25/1 ! jpegenc ! avimux ! filesink location=" +
      path;
  GstElement* pipeline = gst_parse_launch(launch.c_str(), nullptr);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus, 20 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS));
  fail_unless(message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS, "cannot write a video");
  gst_message_unref(message);
  gst_object_unref(bus);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
  return path;
}

ELEMENT_TEST(video_instead_of_an_image) {
  const std::string of_two = video(2);
  assert_told("template=" + of_two, {of_two, "is a video", "first frame"});
  assert_told("mask-file=" + of_two + " template=" + save(texture(24, 16), "patch.png"),
              {"is a video"});
  assert_equals_int(messages_of("template=" + video(1)).size(), 0);
}

ELEMENT_TEST(confidence_by_methods_without_it) {
  for (const char* other : {"method=sqdiff-normed", "max-peaks=1024"})
    assert_told(patch() + "threshold=1 min-confidence=0.9 " + other,
                {"'min-confidence' has no effect", "ccoeff-normed"});
  for (const char* fine : {"", "track=true", "track=true method=sqdiff-normed"})
    assert_equals_int(messages_of(patch() + "threshold=1 min-confidence=0.9 " + fine).size(), 0);
}

/// What the limits have in common is not what was meant.
ELEMENT_TEST(limits_the_wrong_way_round) {
  const std::string found = patch() + "threshold=1 ";
  assert_told(found + "scale-min=1.5", {"'scale-min' of 1.5", "'scale-max' of 1:", "between"});
  assert_told(found + "angle-step=90 angle-extent=50",
              {"'angle-step' of 90", "'angle-extent' of 50:", "first and the last"});
  for (const char* fine :
       {"scale-min=1.5 scale-max=1.5", "angle-step=50 angle-extent=50", "angle-step=5"})
    assert_equals_int(messages_of(found + fine).size(), 0);
}

ELEMENT_TEST(region_outside_the_frames) {
  for (const char* region : {"<64,0,20,20>", "<0,500,20,20>", "<-30,0,20,20>"})
    assert_told(patch() + "search-region=" + region,
                {"its search region begins at", "outside of the frames of 64x48"});
}

ELEMENT_TEST(small_template_under_a_wide_prefilter) {
  assert_told(patch() + "prefilter-sigma=10",
              {"9x9 pixels is flat after smoothing", "of 10, so nothing is smoothed"});
}

ELEMENT_TEST(almost_flat_templates) {
  Gray faint(16, 12, 90);
  faint.at(5, 6) = 91;
  const std::string settings = "template=" + save(faint, "faint.png") + " ";
  assert_told(settings, {"faint.png' is almost flat", "contrast of 0.072 gray levels"});
  fail_unless(messages_of(settings + "method=sqdiff-normed").empty());
}

ELEMENT_TEST(debug_names_the_file_that_failed) {
  const auto assert_from = [](const std::string& properties, const char* file) {
    const std::vector<Message> messages = messages_of(properties);
    fail_unless(messages.size() == 1);
    fail_unless(has(messages[0].debug, file), "%s: not of %s", messages[0].debug.c_str(), file);
  };
  assert_from("template=/no/such.png", "matching/templates.cpp");
  assert_from("kernel=none", "cudaxcorr/gstcudaxcorr.cpp");
  assert_from("", "cudaxcorr/process.cpp");
}

}  // namespace
