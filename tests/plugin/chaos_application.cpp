// SPDX-License-Identifier: LGPL-2.1-or-later
#include "chaos_application.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace {

GstSample* sample_of(const Gray& image) {
  GstBuffer* buffer = make_frame(GST_VIDEO_FORMAT_GRAY8, image);
  GstCaps* caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "GRAY8", "width",
                                      G_TYPE_INT, image.width, "height", G_TYPE_INT, image.height,
                                      "framerate", GST_TYPE_FRACTION, 0, 1, nullptr);
  GstSample* sample = gst_sample_new(buffer, caps, nullptr, nullptr);
  gst_caps_unref(caps);
  gst_buffer_unref(buffer);
  return sample;
}

/// One of the ends, the default, small or anything in between.
template <class Spec>
auto number_of(const Spec* spec, Random& random) {
  using Number = decltype(spec->minimum);
  switch (random.below(5)) {
    case 0:
      return spec->minimum;
    case 1:
      return spec->maximum;
    case 2:
      return spec->default_value;
    case 3:
      return std::clamp(static_cast<Number>(random.below(12)), spec->minimum, spec->maximum);
    default: {
      const double share = random.fraction();
      return static_cast<Number>(static_cast<double>(spec->minimum) * (1 - share) +
                                 static_cast<double>(spec->maximum) * share * 0.99);
    }
  }
}

void append(GValue* array, const std::string& text) {
  GValue item = G_VALUE_INIT;
  g_value_init(&item, G_TYPE_STRING);
  g_value_set_string(&item, text.c_str());
  gst_value_array_append_and_take_value(array, &item);
}

void append(GValue* array, int number) {
  GValue item = G_VALUE_INIT;
  g_value_init(&item, G_TYPE_INT);
  g_value_set_int(&item, number);
  gst_value_array_append_and_take_value(array, &item);
}

GstFlowReturn drop(GstPad*, GstObject*, GstBuffer* buffer) {
  gst_buffer_unref(buffer);
  return GST_FLOW_OK;
}

/// Of the bus, in the thread that posts.
GstBusSyncReply keep_error(GstBus*, GstMessage* message, gpointer) {
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    g_autoptr(GError) error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    ChaosRun::error = error->message;
  }
  return GST_BUS_PASS;
}

}  // namespace

ChaosApplication::ChaosApplication(GstElement* element, ChaosStream& stream)
    : element_(element), stream_(stream) {
  gst_bus_set_sync_handler(bus_, keep_error, nullptr, nullptr);
  gst_element_set_bus(element, bus_);
  guint count = 0;
  GParamSpec** specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
  for (guint i = 0; i < count; ++i)
    if (specs[i]->owner_type == G_OBJECT_TYPE(element)) properties_.push_back(specs[i]);
  g_free(specs);

  const Gray patch = texture(patch_size, patch_size, 50), other = texture(24, 9, 51);
  const std::string text = temporary("text.png");
  write_file(text, "this is no image");
  const std::filesystem::path folder = temporary("chaos of templates");
  std::filesystem::create_directories(folder);
  std::filesystem::copy(save(patch, "patch.png"), folder,
                        std::filesystem::copy_options::overwrite_existing);
  std::filesystem::copy(save(other, "other.png"), folder,
                        std::filesystem::copy_options::overwrite_existing);
  write_file((folder / "templates.yaml").string(), "other: {region: [9, 3, 60, 50], label: chaos}");
  files_ = {folder.string(),
            save(patch, "chaos.png"),
            save(other, "other.png"),
            save(Gray(8, 8, 90), "flat.png"),
            save(texture(200, 150, 52), "large.bmp"),
            save(patch, texture(patch_size, patch_size, 53), "alpha.png"),
            text,
            temporary("missing.png"),
            ""};
  samples_ = {sample_of(patch), sample_of(other), sample_of(Gray(5, 4, 7)),
              gst_sample_new(nullptr, nullptr, nullptr, nullptr), nullptr};
}

ChaosApplication::~ChaosApplication() {
  release_pad();
  gst_element_set_bus(element_, nullptr);
  gst_object_unref(bus_);
  for (GstSample* sample : samples_)
    if (sample) gst_sample_unref(sample);
}

// ---- properties -----------------------------------------------------------------------------

void ChaosApplication::set_property(Random& random, GParamSpec* spec) {
  if (!(spec->flags & G_PARAM_WRITABLE)) return;
  random.step(spec->name);
  GValue value = G_VALUE_INIT;
  g_value_init(&value, spec->value_type);
  if (std::string_view(spec->name) == "exhaustive") {
    g_value_set_boolean(&value, FALSE);  // most steps make too many poses for it
  } else if (G_IS_PARAM_SPEC_BOOLEAN(spec)) {
    g_value_set_boolean(&value, random.once_in(2));
  } else if (G_IS_PARAM_SPEC_ENUM(spec)) {
    const GEnumClass* values = G_PARAM_SPEC_ENUM(spec)->enum_class;
    g_value_set_enum(&value,
                     values->values[random.below(static_cast<int>(values->n_values))].value);
  } else if (G_IS_PARAM_SPEC_UINT(spec)) {
    g_value_set_uint(&value, number_of(G_PARAM_SPEC_UINT(spec), random));
  } else if (G_IS_PARAM_SPEC_INT(spec)) {
    g_value_set_int(&value, number_of(G_PARAM_SPEC_INT(spec), random));
  } else if (G_IS_PARAM_SPEC_INT64(spec)) {
    g_value_set_int64(&value, number_of(G_PARAM_SPEC_INT64(spec), random));
  } else if (G_IS_PARAM_SPEC_UINT64(spec)) {
    g_value_set_uint64(&value, number_of(G_PARAM_SPEC_UINT64(spec), random));
  } else if (std::string_view(spec->name).starts_with("scale-m")) {
    g_value_set_double(&value, 0.5 + 0.1 * random.below(16));  // larger ones only take longer
  } else if (G_IS_PARAM_SPEC_DOUBLE(spec)) {
    g_value_set_double(&value, number_of(G_PARAM_SPEC_DOUBLE(spec), random));
  } else if (std::string_view(spec->name) == "kernel") {
    constexpr const char* kernels[] = {"auto", "direct", "fft", "none-such", "", nullptr};
    g_value_set_string(&value, random.of(kernels));
  } else if (G_IS_PARAM_SPEC_STRING(spec)) {
    g_value_set_string(&value, files_[random.below(static_cast<int>(files_.size()))].c_str());
  } else if (std::string_view(spec->name) == "templates") {
    for (int i = random.below(4); i > 0; --i)
      append(&value, files_[random.below(static_cast<int>(files_.size()))]);
  } else if (GST_IS_PARAM_SPEC_ARRAY_LIST(spec)) {
    for (int i = random.once_in(4) ? random.below(6) : 4; i > 0; --i)
      append(&value, random.once_in(9) ? -1 - random.below(99) : random.below(90));
  } else if (spec->value_type == GST_TYPE_SAMPLE) {
    g_value_set_boxed(&value, samples_[random.below(static_cast<int>(samples_.size()))]);
  } else {
    chaos_unless(false, "no random value for %s", spec->name);
  }
  g_object_set_property(G_OBJECT(element_), spec->name, &value);
  g_value_unset(&value);
}

void ChaosApplication::read_properties() {
  for (GParamSpec* spec : properties_) {
    GValue value = G_VALUE_INIT;
    g_object_get_property(G_OBJECT(element_), spec->name, &value);
    g_value_unset(&value);
  }
}

// ---- templates ------------------------------------------------------------------------------

void ChaosApplication::change_templates(Random& random) {
  constexpr const char* labels[] = {"chaos", "other", "", nullptr};
  guint id = 0;
  switch (random.below(5)) {
    case 0:
      random.step("add-template");
      g_signal_emit_by_name(element_, "add-template",
                            samples_[random.below(static_cast<int>(samples_.size()))],
                            random.of(labels), &id);
      break;
    case 1:
      random.step("add-template-file");
      g_signal_emit_by_name(element_, "add-template-file",
                            files_[random.below(static_cast<int>(files_.size()))].c_str(),
                            random.of(labels), &id);
      break;
    case 2:
      random.step("capture-template");
      g_signal_emit_by_name(element_, "capture-template", random.below(70) - 5,
                            random.below(50) - 5, random.below(40) - 2, random.below(40) - 2, &id);
      break;
    default: {
      random.step("remove-template");
      {
        const std::lock_guard lock(ids_);
        if (!added_.empty() && !random.once_in(9)) {
          id = added_.back();
          added_.pop_back();
        } else {
          id = static_cast<guint>(random.below(50));
        }
      }
      gboolean removed = FALSE;
      g_signal_emit_by_name(element_, "remove-template", id, &removed);
      return;
    }
  }
  if (id == 0) return;
  const std::lock_guard lock(ids_);
  added_.push_back(id);
}

void ChaosApplication::set_back(const std::string& file) {
  release_pad();
  for (const guint id : std::exchange(added_, {})) {
    gboolean removed = FALSE;
    g_signal_emit_by_name(element_, "remove-template", id, &removed);
  }
  for (GParamSpec* spec : properties_) {
    if (!(spec->flags & G_PARAM_WRITABLE)) continue;
    GValue value = G_VALUE_INIT;
    g_value_init(&value, spec->value_type);
    g_param_value_set_default(spec, &value);
    g_object_set_property(G_OBJECT(element_), spec->name, &value);
    g_value_unset(&value);
  }
  gst_util_set_object_arg(G_OBJECT(element_), "backend", backend());
  if (!file.empty()) g_object_set(element_, "template", file.c_str(), nullptr);
  empty_bus();
}

// ---- pads, queries, events ------------------------------------------------------------------

void ChaosApplication::change_pad(Random& random) {
  const std::lock_guard lock(pads_);
  if (response_) {
    random.step("release the pad response");
    return release_pad();
  }
  random.step("request the pad response");
  response_ = gst_element_request_pad_simple(element_, "response");
  if (!response_) return;
  if (random.once_in(4)) return;  // not linked
  response_sink_ = new_chaos_sink();
  gst_pad_set_chain_function(response_sink_, drop);
  gst_pad_set_active(response_sink_, TRUE);
  gst_pad_link(response_, response_sink_);
}

void ChaosApplication::release_pad() {
  if (!response_) return;
  gst_element_release_request_pad(element_, response_);
  gst_clear_object(&response_);
  if (!response_sink_) return;
  gst_pad_set_active(response_sink_, FALSE);
  gst_clear_object(&response_sink_);
}

/// Not of the position: GstBaseTransform answers that from a segment that may be changing.
void ChaosApplication::query(Random& random) {
  random.step("query");
  GstQuery* queries[] = {gst_query_new_latency(), gst_query_new_context("gst.cuda.context"),
                         gst_query_new_context("chaos"), gst_query_new_caps(nullptr),
                         gst_query_new_duration(GST_FORMAT_TIME)};
  GstQuery* asked = random.of(queries);
  if (random.once_in(2))
    gst_pad_peer_query(stream_.sink(), asked);
  else
    gst_element_query(element_, asked);
  for (GstQuery* query : queries) gst_query_unref(query);
}

void ChaosApplication::send_upstream(Random& random) {
  random.step("event upstream");
  GstEvent* event = nullptr;
  switch (random.below(4)) {
    case 0:
      event = gst_event_new_reconfigure();
      break;
    case 1:
      event = gst_event_new_latency(20 * GST_MSECOND);
      break;
    case 2:
      event = gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2, GST_SECOND, 0);
      break;
    default:
      event = gst_event_new_seek(1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET, 0,
                                 GST_SEEK_TYPE_NONE, 0);
  }
  gst_pad_push_event(stream_.sink(), event);
}

// ---- stops and flushes ----------------------------------------------------------------------

bool ChaosApplication::start() {
  if (gst_element_set_state(element_, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE) return true;
  gst_element_set_state(element_, GST_STATE_NULL);
  return false;
}

void ChaosApplication::stop_and_start(Random& random) {
  const std::lock_guard lock(state_);
  if (random.once_in(2)) {
    random.step("pause and play");
    gst_element_set_state(element_, GST_STATE_PAUSED);
    gst_element_set_state(element_, GST_STATE_PLAYING);
    return;
  }
  random.step("stop and start");
  stream_.interrupt();
  gst_element_set_state(element_, random.once_in(2) ? GST_STATE_READY : GST_STATE_NULL);
  stream_.wait_for_source();
  // Other threads may set again what does not start.
  for (int i = 0; !start(); ++i) {
    chaos_unless(i < 1000, "the element does not start again");
    gst_util_set_object_arg(G_OBJECT(element_), "backend", backend());
    g_object_set(element_, "cuda-device-id", -1, "kernel", "auto", "template", nullptr, nullptr);
    gst_util_set_object_arg(G_OBJECT(element_), "templates", "<>");
    g_object_set(element_, "template-sample", nullptr, "templates-dir", nullptr, "mask-file",
                 nullptr, "max-memory", guint64{0}, "max-work", 0.0, nullptr);
    gst_util_set_object_arg(G_OBJECT(element_), "mask", "none");
    gst_util_set_object_arg(G_OBJECT(element_), "polarity", "same");
  }
  stream_.go_on(ChaosStream::Next::start);
}

void ChaosApplication::flush() {
  const std::lock_guard lock(state_);
  stream_.interrupt();
  gst_pad_push_event(stream_.source(), gst_event_new_flush_start());
  stream_.wait_for_source();
  stream_.go_on(ChaosStream::Next::stop_flushing);
}

// ---- a step ---------------------------------------------------------------------------------

void ChaosApplication::empty_bus() {
  while (GstMessage* message = gst_bus_pop(bus_)) gst_message_unref(message);
}

void ChaosApplication::step(Random& random) {
  switch (random.below(16)) {
    case 0:
    case 1:
    case 2:
      change_templates(random);
      break;
    case 3:
      change_pad(random);
      break;
    case 4:
      query(random);
      break;
    case 5:
      send_upstream(random);
      break;
    case 6:
      random.step("read all properties");
      read_properties();
      break;
    case 7:
      if (random.once_in(4)) stop_and_start(random);
      break;
    case 8:
      random.step("flush");
      if (random.once_in(4)) flush();
      break;
    case 9:
      random.step("empty the bus");
      empty_bus();
      break;
    default:
      set_property(random, properties_[random.below(static_cast<int>(properties_.size()))]);
  }
}
