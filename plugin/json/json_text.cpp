// SPDX-License-Identifier: LGPL-2.1-or-later
#include "json/json_text.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include <json-glib/json-glib.h>

#include "common/times.h"
#include "gstcudaxcorrfieldmeta.h"
#include "gstcudaxcorrmeta.h"

namespace cudaxcorr {
namespace {

using Text = std::unique_ptr<gchar, decltype(&g_free)>;

void add(JsonBuilder* builder, const GValue* value);

/// A copy in which what is not UTF-8 is replaced by U+FFFD.
Text valid(const gchar* text) { return Text(g_utf8_make_valid(text, -1), g_free); }

gboolean add_field(GQuark name, const GValue* value, gpointer builder) {
  json_builder_set_member_name(JSON_BUILDER(builder), valid(g_quark_to_string(name)).get());
  add(JSON_BUILDER(builder), value);
  return TRUE;
}

void add_structure(JsonBuilder* builder, const GstStructure* structure) {
  if (!structure) {
    json_builder_add_null_value(builder);
    return;
  }
  json_builder_begin_object(builder);
  gst_structure_foreach(structure, add_field, builder);
  json_builder_end_object(builder);
}

/// A GstValueArray or a GstValueList, by the functions of its type.
void add_items(JsonBuilder* builder, const GValue* items, guint (*size)(const GValue*),
               const GValue* (*item)(const GValue*, guint)) {
  json_builder_begin_array(builder);
  for (guint i = 0; i < size(items); ++i) add(builder, item(items, i));
  json_builder_end_array(builder);
}

/// JSON-GLib has integers up to G_MAXINT64; only GST_CLOCK_TIME_NONE is beyond.
void add_unsigned(JsonBuilder* builder, guint64 number) {
  if (number <= G_MAXINT64)
    json_builder_add_int_value(builder, static_cast<gint64>(number));
  else
    json_builder_add_null_value(builder);
}

void add_double(JsonBuilder* builder, double number) {
  if (std::isfinite(number))
    json_builder_add_double_value(builder, number);
  else
    json_builder_add_null_value(builder);
}

void add_text(JsonBuilder* builder, const gchar* text) {
  if (text)
    json_builder_add_string_value(builder, valid(text).get());
  else
    json_builder_add_null_value(builder);
}

/// An array of 32-bit floats: each as the shortest number that means it.
void add_floats(JsonBuilder* builder, GBytes* bytes) {
  gsize size = 0;
  const gconstpointer data = bytes ? g_bytes_get_data(bytes, &size) : nullptr;
  json_builder_begin_array(builder);
  for (gsize at = 0; at + sizeof(float) <= size; at += sizeof(float)) {
    float number;
    std::memcpy(&number, static_cast<const char*>(data) + at, sizeof number);
    char text[32];
    *std::to_chars(text, text + sizeof text - 1, number).ptr = 0;
    add_double(builder, g_ascii_strtod(text, nullptr));
  }
  json_builder_end_array(builder);
}

/// A type without a counterpart in JSON: written as in a launch line, if it can be.
void add_serialized(JsonBuilder* builder, const GValue* value) {
  add_text(builder, Text(gst_value_serialize(value), g_free).get());
}

void add(JsonBuilder* builder, const GValue* value) {
  if (GST_VALUE_HOLDS_STRUCTURE(value))
    add_structure(builder, gst_value_get_structure(value));
  else if (GST_VALUE_HOLDS_ARRAY(value))
    add_items(builder, value, gst_value_array_get_size, gst_value_array_get_value);
  else if (GST_VALUE_HOLDS_LIST(value))
    add_items(builder, value, gst_value_list_get_size, gst_value_list_get_value);
  else if (G_VALUE_HOLDS_STRING(value))
    add_text(builder, g_value_get_string(value));
  else if (G_VALUE_HOLDS_BOOLEAN(value))
    json_builder_add_boolean_value(builder, g_value_get_boolean(value));
  else if (G_VALUE_HOLDS_INT(value))
    json_builder_add_int_value(builder, g_value_get_int(value));
  else if (G_VALUE_HOLDS_INT64(value))
    json_builder_add_int_value(builder, g_value_get_int64(value));
  else if (G_VALUE_HOLDS_UINT(value))
    add_unsigned(builder, g_value_get_uint(value));
  else if (G_VALUE_HOLDS_UINT64(value))
    add_unsigned(builder, g_value_get_uint64(value));
  else if (G_VALUE_HOLDS_DOUBLE(value))
    add_double(builder, g_value_get_double(value));
  else if (G_VALUE_HOLDS(value, G_TYPE_BYTES))
    add_floats(builder, static_cast<GBytes*>(g_value_get_boxed(value)));
  else
    add_serialized(builder, value);
}

struct Free {
  void operator()(gpointer object) const { g_object_unref(object); }
  void operator()(JsonNode* node) const { json_node_unref(node); }
};
using Node = std::unique_ptr<JsonNode, Free>;

Node object_of(std::initializer_list<const GstStructure*> structures) {
  const std::unique_ptr<JsonBuilder, Free> builder(json_builder_new_immutable());
  json_builder_begin_object(builder.get());
  for (const GstStructure* structure : structures)
    if (structure) gst_structure_foreach(structure, add_field, builder.get());
  json_builder_end_object(builder.get());

  return Node(json_builder_get_root(builder.get()));
}

std::string text_of(JsonNode* node) {
  std::string text = Text(json_to_string(node, FALSE), g_free).get();
  // The one control character that JSON-GLib 1.6 does not escape.
  for (std::size_t at = 0; (at = text.find('\x1f', at)) != text.npos;)
    text.replace(at, 1, "\\u001f");
  return text;
}

using Structure = std::unique_ptr<GstStructure, decltype(&gst_structure_free)>;

Structure take(GstStructure* structure) { return Structure(structure, gst_structure_free); }

Structure version() {
  return take(gst_structure_new("schema", "schema", G_TYPE_INT, schema_version, nullptr));
}

/// The frame's times, and what cudaxcorrfield measured as their member.
Structure times_and_field(const GstSegment& segment, GstBuffer* buffer) {
  Structure times = take(describe_times("times", segment, buffer));
  if (const GstStructure* field = gst_cuda_xcorr_get_field(buffer))
    gst_structure_set(times.get(), "field", GST_TYPE_STRUCTURE, field, nullptr);
  return times;
}

/// What cudaxcorr has attached or, where it has seen nothing of the frame, an empty list of peaks.
Structure result_of(GstBuffer* buffer) {
  if (const GstStructure* result = gst_cuda_xcorr_get_result(buffer))
    return take(gst_structure_copy(result));
  Structure none = take(gst_structure_new_empty("none"));
  GValue peaks = G_VALUE_INIT;
  gst_value_array_init(&peaks, 0);
  gst_structure_take_value(none.get(), "peaks", &peaks);
  return none;
}

Structure changed_result_of(GstBuffer* buffer, const LabelChange& change) {
  Structure changed = take(gst_structure_new_empty("changed"));
  if (const GstStructure* result = gst_cuda_xcorr_get_result(buffer))
    gst_structure_foreach(
        result,
        [](GQuark name, const GValue* value, gpointer to) -> gboolean {
          static const GQuark peaks = g_quark_from_static_string("peaks");
          if (name != peaks)
            gst_structure_id_set_value(static_cast<GstStructure*>(to), name, value);
          return TRUE;
        },
        changed.get());
  for (const auto& [name, labels] : {std::pair("came", &change.came), {"left", &change.left}}) {
    GValue array = G_VALUE_INIT;
    gst_value_array_init(&array, static_cast<guint>(labels->size()));
    for (const std::string& label : *labels) {
      GValue text = G_VALUE_INIT;
      g_value_init(&text, G_TYPE_STRING);
      g_value_set_string(&text, label.c_str());
      gst_value_array_append_and_take_value(&array, &text);
    }
    gst_structure_take_value(changed.get(), name, &array);
  }
  return changed;
}

}  // namespace

std::string valid_text(const gchar* text) { return valid(text).get(); }

std::string json_text(std::initializer_list<const GstStructure*> structures) {
  return text_of(object_of(structures).get());
}

std::vector<JsonMember> json_members(std::initializer_list<const GstStructure*> structures) {
  const Node root = object_of(structures);
  std::vector<JsonMember> members;
  json_object_foreach_member(
      json_node_get_object(root.get()),
      [](JsonObject*, const gchar* name, JsonNode* value, gpointer to) {
        static_cast<std::vector<JsonMember>*>(to)->push_back({name, text_of(value)});
      },
      &members);
  return members;
}

std::string frame_text(const GstSegment& segment, GstBuffer* buffer) {
  return json_text(
      {version().get(), times_and_field(segment, buffer).get(), result_of(buffer).get()});
}

std::string change_text(const GstSegment& segment, GstBuffer* buffer, const LabelChange& change) {
  return json_text({version().get(), times_and_field(segment, buffer).get(),
                    changed_result_of(buffer, change).get()});
}

FrameFields::FrameFields(const GstSegment& segment, GstBuffer* buffer)
    : times_(times_and_field(segment, buffer)), result_(result_of(buffer)) {}

std::vector<JsonMember> FrameFields::members() const {
  return json_members({version().get(), times_.get(), result_.get()});
}

}  // namespace cudaxcorr
