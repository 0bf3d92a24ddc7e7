// SPDX-License-Identifier: LGPL-2.1-or-later
#include "json/json_text.h"

#include <cmath>
#include <memory>

#include <json-glib/json-glib.h>

namespace cudaxcorr {
namespace {

void add(JsonBuilder* builder, const GValue* value);

gboolean add_field(GQuark name, const GValue* value, gpointer builder) {
  json_builder_set_member_name(JSON_BUILDER(builder), g_quark_to_string(name));
  add(JSON_BUILDER(builder), value);
  return TRUE;
}

void add_structure(JsonBuilder* builder, const GstStructure* structure) {
  json_builder_begin_object(builder);
  gst_structure_foreach(structure, add_field, builder);
  json_builder_end_object(builder);
}

void add_array(JsonBuilder* builder, const GValue* array) {
  json_builder_begin_array(builder);
  for (guint i = 0; i < gst_value_array_get_size(array); ++i)
    add(builder, gst_value_array_get_value(array, i));
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

/// A type without a counterpart in JSON: written as in a launch line.
void add_serialized(JsonBuilder* builder, const GValue* value) {
  gchar* text = gst_value_serialize(value);
  json_builder_add_string_value(builder, text);
  g_free(text);
}

void add(JsonBuilder* builder, const GValue* value) {
  if (GST_VALUE_HOLDS_STRUCTURE(value))
    add_structure(builder, gst_value_get_structure(value));
  else if (GST_VALUE_HOLDS_ARRAY(value))
    add_array(builder, value);
  else if (G_VALUE_HOLDS_STRING(value))
    json_builder_add_string_value(builder, g_value_get_string(value));
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
  else
    add_serialized(builder, value);
}

struct Free {
  void operator()(gpointer object) const { g_object_unref(object); }
  void operator()(JsonNode* node) const { json_node_unref(node); }
};

}  // namespace

std::string json_text(std::initializer_list<const GstStructure*> structures) {
  const std::unique_ptr<JsonBuilder, Free> builder(json_builder_new_immutable());
  json_builder_begin_object(builder.get());
  for (const GstStructure* structure : structures)
    if (structure) gst_structure_foreach(structure, add_field, builder.get());
  json_builder_end_object(builder.get());

  const std::unique_ptr<JsonNode, Free> root(json_builder_get_root(builder.get()));
  const std::unique_ptr<gchar, decltype(&g_free)> text(json_to_string(root.get(), FALSE), g_free);
  return text.get();
}

}  // namespace cudaxcorr
