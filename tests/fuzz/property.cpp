// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Lines of properties and their values as in a launch line, for the elements, with frames in
// between, which cudaxcorr and cudaxcorrfield analyse:
//
//   threshold=0.9
//   overlay.font-desc=Sans
//   field.spacing=8
//   frame
//   field
//   restart
#include <memory>
#include <sstream>

#include "gst.hpp"

namespace {

using Element = std::unique_ptr<GstElement, decltype(&gst_object_unref)>;

Element make(const char* name) {
  GstElement* element = gst_element_factory_make(name, nullptr);
  gst_object_ref_sink(element);
  return Element(element, gst_object_unref);
}

/// Sets it as a launch line does. The value that it then has can be set too, and stays.
void try_property(GstElement* element, const std::string& name, const std::string& value) {
  GObject* object = G_OBJECT(element);
  GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(object), name.c_str());
  if (!spec || !(spec->flags & G_PARAM_WRITABLE) || spec->owner_type != G_OBJECT_TYPE(element))
    return;
  GValue before = G_VALUE_INIT, after = G_VALUE_INIT;
  g_value_init(&before, spec->value_type);
  if (gst_value_deserialize_with_pspec(&before, value.c_str(), spec))
    g_object_set_property(object, name.c_str(), &before);
  g_object_get_property(object, name.c_str(), &before);
  g_object_set_property(object, name.c_str(), &before);
  g_object_get_property(object, name.c_str(), &after);
  require(gst_value_compare(&before, &after) == GST_VALUE_EQUAL || G_VALUE_HOLDS_BOXED(&before),
          "a property keeps its own value");
  g_value_unset(&before);
  g_value_unset(&after);
}

void send_caps(Tested& tested) {
  gst_harness_set_src_caps_str(tested.harness,
                               "video/x-raw,format=GRAY8,width=64,height=48,framerate=25/1");
}

void pass_frame(Tested& tested) {
  const GstFlowReturn flow = gst_harness_push(tested.harness, make_image(64, 48));
  require(flow == GST_FLOW_OK, "frames pass with any properties");
  while (GstBuffer* out = gst_harness_try_pull(tested.harness)) gst_buffer_unref(out);
  require(!tested.failed(), "no property leads to an error");
}

/// What settings cannot do together may be an error, which a start ends.
void measure(Tested& field) {
  gst_harness_push(field.harness, make_image(64, 48));
  while (GstBuffer* out = gst_harness_try_pull(field.harness)) gst_buffer_unref(out);
  if (!field.failed()) return;
  field.restart();
  send_caps(field);
}

/// Then what is refused leaves what worked.
void begin(Tested& tested) {
  send_caps(tested);
  pass_frame(tested);
}

bool has_limits(const Tested& tested) {
  double work = 0;
  guint64 memory = 0;
  g_object_get(tested.element, "max-work", &work, "max-memory", &memory, nullptr);
  return work > 0 || (memory > 0 && memory < 1000000000);
}

void run(std::istringstream lines) {
  Tested tested("cudaxcorr name=tested backend=cpu");
  GstSample* sample = make_sample(16, 12);
  guint id = 0;
  g_signal_emit_by_name(tested.element, "add-template", sample, "made", &id);
  gst_sample_unref(sample);
  begin(tested);
  const Element overlay = make("xcorroverlay"), json = make("xcorrjson");
  Tested field("cudaxcorrfield name=tested backend=cpu");
  send_caps(field);

  std::string line;
  for (int count = 0; count < 30 && std::getline(lines, line); ++count) {
    line = line.c_str();  // up to a zero
    const auto assigned = line.find('=');
    if (line == "frame") {
      pass_frame(tested);
    } else if (line == "field") {
      measure(field);
    } else if (line == "restart") {
      tested.restart();
      if (tested.failed()) return;     // such as a backend that is not there
      if (has_limits(tested)) return;  // there is nothing to go back to that is within them
      begin(tested);
    } else if (assigned != line.npos) {
      const std::string name = line.substr(0, assigned), value = line.substr(assigned + 1);
      if (name.starts_with("overlay."))
        try_property(overlay.get(), name.substr(8), value);
      else if (name.starts_with("json."))
        try_property(json.get(), name.substr(5), value);
      else if (name.starts_with("field."))
        try_property(field.element, name.substr(6), value);
      else
        try_property(tested.element, name, value);
    }
  }
  pass_frame(tested);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  start_gstreamer();
  run(std::istringstream(std::string(reinterpret_cast<const char*>(data), size)));
  return 0;
}
