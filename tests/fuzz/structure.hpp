// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A result as another program might attach it: structures of any depth with fields of any types.
#pragma once

#include "gst.hpp"

inline GstStructure* take_structure(Bytes& bytes, int depth);

/// They are of one type, also in lists inside of lists; 0: there are none.
inline GType type_of_items(const GValue* value) {
  const GValue* first = nullptr;
  if (GST_VALUE_HOLDS_ARRAY(value) && gst_value_array_get_size(value) > 0)
    first = gst_value_array_get_value(value, 0);
  if (GST_VALUE_HOLDS_LIST(value) && gst_value_list_get_size(value) > 0)
    first = gst_value_list_get_value(value, 0);
  return first ? G_VALUE_TYPE(first) : 0;
}

/// A value of one of the types that results have, or of another.
inline void take_value(Bytes& bytes, int depth, GValue* value) {
  switch (bytes.between(0, depth > 0 ? 14 : 10)) {
    case 0:
      g_value_init(value, G_TYPE_STRING);
      break;
    case 1:
      g_value_init(value, G_TYPE_BOOLEAN);
      g_value_set_boolean(value, bytes.flag());
      break;
    case 2:
      g_value_init(value, G_TYPE_INT);
      g_value_set_int(value, bytes.number<gint>());
      break;
    case 3:
      g_value_init(value, G_TYPE_UINT);
      g_value_set_uint(value, bytes.number<guint>());
      break;
    case 4:
      g_value_init(value, G_TYPE_INT64);
      g_value_set_int64(value, bytes.number<gint64>());
      break;
    case 5:
      g_value_init(value, G_TYPE_UINT64);
      g_value_set_uint64(value, bytes.number<guint64>());
      break;
    case 6:
      g_value_init(value, G_TYPE_DOUBLE);
      g_value_set_double(value, bytes.number<double>());
      break;
    case 7:
      g_value_init(value, G_TYPE_FLOAT);
      g_value_set_float(value, bytes.number<float>());
      break;
    case 8:
      g_value_init(value, GST_TYPE_FRACTION);
      gst_value_set_fraction(value, bytes.between(-9, 9), bytes.between(1, 9));
      break;
    case 9:
      g_value_init(value, G_TYPE_POINTER);
      break;
    case 10:
      g_value_init(value, G_TYPE_STRING);
      g_value_set_string(value, bytes.text().c_str());
      break;
    case 11:
    case 12:
      g_value_init(value, GST_TYPE_STRUCTURE);
      if (bytes.flag()) g_value_take_boxed(value, take_structure(bytes, depth - 1));
      break;
    default: {
      const bool array = bytes.flag();
      g_value_init(value, array ? GST_TYPE_ARRAY : GST_TYPE_LIST);
      for (int left = bytes.between(0, 4); left > 0; --left) {
        GValue item = G_VALUE_INIT;
        take_value(bytes, depth - 1, &item);
        const GType first = type_of_items(value), type = G_VALUE_TYPE(&item);
        if (first && (type != first || type == GST_TYPE_ARRAY || type == GST_TYPE_LIST))
          g_value_unset(&item);
        else if (array)
          gst_value_array_append_and_take_value(value, &item);
        else
          gst_value_list_append_and_take_value(value, &item);
      }
    }
  }
}

inline GstStructure* take_structure(Bytes& bytes, int depth) {
  static constexpr const char* names[] = {
      "analysed", "peaks", "label", "sample", "template", "template-id", "id", "x", "y", "width",
      "height", "nx", "ny", "nwidth", "nheight", "center-x", "center-y", "angle", "scale",
      "corners", "score", "state", "inverted", "lost",
      // GLib keeps every name for ever, so they are not made of the input.
      "\"", "\\", "\x1f", "caf\xe9", "\xc3\xa4", "a b", ""};
  GstStructure* structure = gst_structure_new_empty("result");
  for (int left = bytes.between(0, 12); left > 0; --left) {
    const char* name = bytes.one_of(names);
    GValue value = G_VALUE_INIT;
    take_value(bytes, depth, &value);
    gst_structure_take_value(structure, name, &value);
  }
  return structure;
}
