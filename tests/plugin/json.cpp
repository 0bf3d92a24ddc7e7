// SPDX-License-Identifier: LGPL-2.1-or-later
//
// xcorrjson: the contents of a line, that lines are complete and written at once, and what happens
// if the file cannot be written.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <json-glib/json-glib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "json_writer.hpp"
#include "synthetic_results.hpp"

namespace {

constexpr int frame_width = 96, frame_height = 64;

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::string text = read_file(path);
  fail_unless(text.empty() || text.back() == '\n', "the last line is not whole: %s", text.c_str());
  for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
    lines.push_back(text.substr(0, end));
  return lines;
}

struct FreeNode {
  void operator()(JsonNode* node) const { json_node_unref(node); }
};
using Node = std::unique_ptr<JsonNode, FreeNode>;

Node parse(const std::string& line) {
  GError* error = nullptr;
  Node node(json_from_string(line.c_str(), &error));
  fail_unless(node != nullptr, "%s: %s", line.c_str(), error ? error->message : "empty");
  fail_unless(JSON_NODE_HOLDS_OBJECT(node.get()), "no object: %s", line.c_str());
  return node;
}

/// The line of a single buffer.
std::string line_for(GstBuffer* buffer) {
  Writer writer;
  writer.pass(buffer);
  const auto lines = lines_of(writer.path);
  assert_equals_int(lines.size(), 1);
  return lines[0];
}

// ---- what a line says -----------------------------------------------------------------------

gboolean assert_same(GQuark name, const GValue* value, gpointer object);

void assert_fields(const GstStructure* structure, JsonObject* object) {
  gst_structure_foreach(structure, assert_same, object);
}

/// Each field of the meta is in the object under the same name with the same value.
gboolean assert_same(GQuark quark, const GValue* value, gpointer data) {
  JsonObject* object = static_cast<JsonObject*>(data);
  const gchar* name = g_quark_to_string(quark);
  fail_unless(json_object_has_member(object, name), "no %s", name);
  if (G_VALUE_HOLDS_STRING(value)) {
    assert_equals_string(json_object_get_string_member(object, name), g_value_get_string(value));
  } else if (G_VALUE_HOLDS_BOOLEAN(value)) {
    assert_equals_int(json_object_get_boolean_member(object, name), g_value_get_boolean(value));
  } else if (GST_VALUE_HOLDS_ARRAY(value)) {
    JsonArray* array = json_object_get_array_member(object, name);
    assert_equals_int(json_array_get_length(array), gst_value_array_get_size(value));
    for (guint i = 0; i < json_array_get_length(array); ++i) {
      const GValue* item = gst_value_array_get_value(value, i);
      if (GST_VALUE_HOLDS_STRUCTURE(item))
        assert_fields(gst_value_get_structure(item), json_array_get_object_element(array, i));
      else
        assert_equals_float(json_array_get_double_element(array, i), g_value_get_double(item));
    }
  } else {
    GValue number = G_VALUE_INIT;
    g_value_init(&number, G_TYPE_DOUBLE);
    fail_unless(g_value_transform(value, &number), "%s is no number", name);
    assert_equals_float(json_object_get_double_member(object, name), g_value_get_double(&number));
  }
  return TRUE;
}

/// Whatever fields cudaxcorr attaches.
ELEMENT_TEST(line_has_all_of_the_meta) {
  const Gray scene = texture(frame_width, frame_height);
  const std::string file = save(crop(scene, 41, 22, 16, 12), "patch.png");
  const std::string path = temporary("found.jsonl");
  Finder finder("max-peaks=2 threshold=-1 template=" + file + " ! xcorrjson location=" + path);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  GstBuffer* out = finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, scene));
  const auto lines = lines_of(path);
  assert_equals_int(lines.size(), 1);
  const Node node = parse(lines[0]);
  assert_equals_int(found_in(out).peaks.size(), 2);
  assert_fields(gst_cuda_xcorr_get_result(out), json_node_get_object(node.get()));
  gst_buffer_unref(out);
}

ELEMENT_TEST(new_fields_are_written_too) {
  GstBuffer* buffer = make_buffer();
  GstStructure* result =
      attach_result(buffer, frame_width, frame_height, {{1, 2, 3, 4, 7, true, "lost"}});
  gst_structure_set(result, "stage", G_TYPE_STRING, "second", "share", GST_TYPE_FRACTION, 1, 3,
                    "signed", G_TYPE_INT64, G_MININT64, nullptr);
  const Node node = parse(line_for(gst_buffer_ref(buffer)));
  JsonObject* object = json_node_get_object(node.get());
  assert_equals_string(json_object_get_string_member(object, "stage"), "second");
  assert_equals_string(json_object_get_string_member(object, "share"), "1/3");
  assert_equals_int64(json_object_get_int_member(object, "signed"), G_MININT64);
  JsonObject* peak =
      json_array_get_object_element(json_object_get_array_member(object, "peaks"), 0);
  assert_equals_string(json_object_get_string_member(peak, "state"), "lost");
  assert_equals_int(json_object_get_int_member(peak, "id"), 7);
  gst_buffer_unref(buffer);
}

ELEMENT_TEST(times) {
  Writer writer;
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.start = GST_SECOND;
  segment.time = 10 * GST_SECOND;
  segment.base = 5 * GST_SECOND;
  gst_harness_push_event(writer.harness, gst_event_new_segment(&segment));
  GstBuffer* buffer = make_buffer(3 * GST_SECOND);
  GST_BUFFER_DURATION(buffer) = 40 * GST_MSECOND;
  writer.pass(buffer);
  assert_text(read_file(writer.path),
              "{\"schema\":1,\"timestamp\":3000000000,\"stream-time\":12000000000,"
              "\"running-time\":7000000000,\"duration\":40000000,\"peaks\":[]}\n");
}

ELEMENT_TEST(frame_without_results_or_times) {
  assert_text(line_for(make_buffer(GST_CLOCK_TIME_NONE)),
              "{\"schema\":1,\"timestamp\":null,\"stream-time\":null,\"running-time\":null,"
              "\"duration\":null,\"peaks\":[]}");
}

ELEMENT_TEST(stream_that_has_no_times) {
  Writer writer;
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_BYTES);
  gst_harness_push_event(writer.harness, gst_event_new_segment(&segment));
  writer.pass(make_buffer());
  assert_text(read_file(writer.path),
              "{\"schema\":1,\"timestamp\":0,\"stream-time\":null,\"running-time\":null,"
              "\"duration\":null,\"peaks\":[]}\n");
}

ELEMENT_TEST(what_json_has_not) {
  GstBuffer* buffer = make_buffer();
  const char* label = "a \"quoted\" name,\nof two lines: \xc3\xa4\xe2\x82\xac\\";
  attach_result(buffer, frame_width, frame_height,
                {{NAN, INFINITY, 3, 4, 1, false, nullptr, label}});
  const Node node = parse(line_for(buffer));
  JsonObject* peak = json_array_get_object_element(
      json_object_get_array_member(json_node_get_object(node.get()), "peaks"), 0);
  assert_equals_string(json_object_get_string_member(peak, "label"), label);
  for (const char* name : {"x", "y"})
    fail_unless(json_object_get_null_member(peak, name), "%s is not null", name);
}

/// Whatever a string has in it, a line is UTF-8 without control characters, as readers of JSON
/// want.
ELEMENT_TEST(strings_of_any_bytes) {
  std::string control;
  for (char c = 1; c < ' '; ++c) control += c;
  control += "\x7f";
  GstBuffer* buffer = make_buffer();
  GstStructure* result = attach_result(buffer, frame_width, frame_height,
                                       {{1, 2, 3, 4, 1, false, nullptr, control.c_str()}});
  GValue array = G_VALUE_INIT, list = G_VALUE_INIT, item = G_VALUE_INIT;
  gst_value_array_init(&array, 0);
  gst_value_list_init(&list, 0);
  for (const char* text : {"caf\xe9", static_cast<const char*>(nullptr)}) {
    g_value_init(&item, G_TYPE_STRING);
    g_value_set_string(&item, text);
    gst_value_array_append_value(&array, &item);
    gst_value_list_append_and_take_value(&list, &item);
  }
  gst_structure_take_value(result, "array", &array);
  gst_structure_take_value(result, "list", &list);
  gst_structure_set(result, "nothing", GST_TYPE_STRUCTURE, nullptr, nullptr);

  const std::string line = line_for(buffer);
  fail_unless(g_utf8_validate(line.c_str(), -1, nullptr), "not UTF-8: %s", line.c_str());
  fail_if(std::ranges::any_of(line, [](char c) { return g_ascii_iscntrl(c); }),
          "control characters: %s", line.c_str());
  const Node node = parse(line);
  JsonObject* object = json_node_get_object(node.get());
  JsonObject* peak =
      json_array_get_object_element(json_object_get_array_member(object, "peaks"), 0);
  assert_equals_string(json_object_get_string_member(peak, "label"), control.c_str());
  for (const char* name : {"array", "list"}) {
    JsonArray* items = json_object_get_array_member(object, name);
    assert_equals_string(json_array_get_string_element(items, 0), "caf\xef\xbf\xbd");
    fail_unless(json_array_get_null_element(items, 1));
  }
  fail_unless(json_object_get_null_member(object, "nothing"));
}

// ---- changes --------------------------------------------------------------------------------

/// The labels of such a field, with spaces between.
std::string labels(JsonObject* object, const char* field) {
  std::string all;
  JsonArray* array = json_object_get_array_member(object, field);
  for (guint i = 0; i < json_array_get_length(array); ++i)
    all += (i ? " " : "") + std::string(json_array_get_string_element(array, i));
  return all;
}

/// A frame with these labels, of which that with a question mark is lost; the number is its time.
GstBuffer* frame_with(GstClockTime number, const std::vector<const char*>& labels,
                      bool analysed = true) {
  GstBuffer* buffer = make_buffer(number);
  std::vector<MadePeak> peaks;
  for (const char* label : labels)
    peaks.push_back({.lost = std::strchr(label, '?') != nullptr, .label = label});
  attach_result(buffer, frame_width, frame_height, peaks, analysed);
  return buffer;
}

ELEMENT_TEST(changes) {
  Writer writer(temporary("changes.jsonl"), "changes");
  const std::vector<GstBuffer*> frames = {
      frame_with(0, {}),        frame_with(1, {"b", "a", "a"}), frame_with(2, {"a", "b", "c?"}),
      frame_with(3, {}, false), frame_with(4, {"b"}),           frame_with(5, {"c"}),
      frame_with(6, {"c"}),     frame_with(7, {"d"}),           frame_with(8, {"d"})};
  for (GstBuffer* frame : frames)
    assert_equals_int(gst_harness_push(writer.harness, frame), GST_FLOW_OK);
  gst_harness_set_src_caps_str(writer.harness, "video/x-raw, width=9");
  gst_harness_push(writer.harness, frame_with(9, {}));
  gst_harness_push(writer.harness, frame_with(10, {"a"}));
  gst_harness_push(writer.harness, frame_with(11, {"a"}));
  gst_harness_push_event(writer.harness, gst_event_new_eos());

  std::string came_and_left;
  for (const std::string& line : lines_of(writer.path)) {
    const Node node = parse(line);
    JsonObject* object = json_node_get_object(node.get());
    fail_if(json_object_has_member(object, "peaks"));
    came_and_left += "+" + labels(object, "came") + " -" + labels(object, "left") + "\n";
  }
  assert_equals_string(came_and_left.c_str(),
                       "+ -\n+a b -\n+ -\n+ -\n+ -a\n+c -b\n+ -\n+d -c\n+ -\n+ -d\n+a -\n+ -\n");

  std::string passed_on;
  while (GstBuffer* out = gst_harness_try_pull(writer.harness)) {
    passed_on += std::to_string(GST_BUFFER_PTS(out)) + " ";
    gst_buffer_unref(out);
  }
  assert_equals_string(passed_on.c_str(), "0 1 2 4 5 6 7 8 10 11 ");
}

// ---- the file -------------------------------------------------------------------------------

ELEMENT_TEST(lines_are_written_at_once) {
  Writer writer;
  for (std::size_t frame = 0; frame < 3; ++frame) {
    assert_equals_int(lines_of(writer.path).size(), frame);
    writer.pass(make_buffer(frame * GST_SECOND));
  }
  assert_equals_int(lines_of(writer.path).size(), 3);
}

ELEMENT_TEST(each_start_empties_the_file) {
  Writer writer;
  writer.pass(make_buffer());
  writer.pass(make_buffer());
  gst_element_set_state(writer.harness->element, GST_STATE_NULL);
  assert_equals_int(lines_of(writer.path).size(), 2);
  gst_harness_play(writer.harness);
  gst_harness_set_src_caps_str(writer.harness, "video/x-raw");
  writer.pass(make_buffer());
  assert_equals_int(lines_of(writer.path).size(), 1);
}

ELEMENT_TEST(standard_output) {
  const std::string path = temporary("output");
  const int before = dup(STDOUT_FILENO);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  dup2(file, STDOUT_FILENO);
  {
    Writer writer("");
    writer.pass(make_buffer());
    writer.pass(make_buffer());
  }
  fail_unless(fcntl(STDOUT_FILENO, F_GETFD) >= 0, "standard output was closed");
  dup2(before, STDOUT_FILENO);
  close(before);
  close(file);
  assert_equals_int(lines_of(path).size(), 2);
}

ELEMENT_TEST(cannot_be_opened) {
  for (const std::string& path : {temporary("no such folder/results.jsonl"), temporary("")}) {
    GstElement* element = gst_element_factory_make("xcorrjson", nullptr);
    g_object_set(element, "location", path.c_str(), nullptr);
    const std::string text =
        refused_at_start(element, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE);
    fail_unless(text.find(path) != std::string::npos, "%s", text.c_str());
  }
}

ELEMENT_TEST(full_disk) {
  Writer writer("/dev/full");
  assert_equals_int(gst_harness_push(writer.harness, make_buffer()), GST_FLOW_ERROR);
  const std::string text = writer.error(GST_RESOURCE_ERROR_WRITE);
  fail_unless(text.find("/dev/full") != std::string::npos, "%s", text.c_str());
}

/// Room for several lines and part of another.
ELEMENT_TEST(disk_gets_full) {
  Writer writer;
  writer.pass(make_buffer());
  const std::size_t line = read_file(writer.path).size();
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit room = {4 * line + line / 2, RLIM_INFINITY};
  fail_unless(setrlimit(RLIMIT_FSIZE, &room) == 0);
  int written = 1;
  while (gst_harness_push(writer.harness, make_buffer()) == GST_FLOW_OK) ++written;
  const rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &all);
  const std::string text = writer.error(GST_RESOURCE_ERROR_WRITE);
  fail_unless(text.find(writer.path) != std::string::npos, "%s", text.c_str());
  assert_equals_int(written, 4);
  const auto lines = lines_of(writer.path);
  assert_equals_int(lines.size(), 4);
  for (const std::string& whole : lines) parse(whole);
}

}  // namespace
