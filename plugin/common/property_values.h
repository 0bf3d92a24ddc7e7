// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Converts between a GValue and a field of Settings, by a pair of overloads for each type of field.
// assign() returns false if the value is malformed, and then changes nothing.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include <gst/gst.h>

#include <xcorr/types.hpp>

#include "common/sample.h"

namespace cudaxcorr {

template <class T>
requires std::is_enum_v<T>
bool assign(T& field, const GValue* value) {
  field = static_cast<T>(g_value_get_enum(value));
  return true;
}
template <class T>
requires std::is_enum_v<T>
void put(const T& field, GValue* value) { g_value_set_enum(value, static_cast<int>(field)); }

inline bool assign(bool& field, const GValue* value) {
  field = g_value_get_boolean(value);
  return true;
}
inline void put(const bool& field, GValue* value) { g_value_set_boolean(value, field); }

inline bool assign(double& field, const GValue* value) {
  field = g_value_get_double(value);
  return true;
}
inline void put(const double& field, GValue* value) { g_value_set_double(value, field); }

inline bool assign(unsigned& field, const GValue* value) {
  field = g_value_get_uint(value);
  return true;
}
inline void put(const unsigned& field, GValue* value) { g_value_set_uint(value, field); }

inline bool assign(std::int64_t& field, const GValue* value) {
  field = g_value_get_int64(value);
  return true;
}
inline void put(const std::int64_t& field, GValue* value) { g_value_set_int64(value, field); }

inline bool assign(std::uint64_t& field, const GValue* value) {
  field = g_value_get_uint64(value);
  return true;
}
inline void put(const std::uint64_t& field, GValue* value) { g_value_set_uint64(value, field); }

/// The library counts in int. The property may be uint, and then its maximum is INT_MAX.
inline bool assign(int& field, const GValue* value) {
  field = G_VALUE_HOLDS_UINT(value) ? static_cast<int>(g_value_get_uint(value))
                                    : g_value_get_int(value);
  return true;
}
inline void put(const int& field, GValue* value) {
  if (G_VALUE_HOLDS_UINT(value))
    g_value_set_uint(value, static_cast<guint>(field));
  else
    g_value_set_int(value, field);
}

inline bool assign(Sample& field, const GValue* value) {
  field = take_sample(static_cast<GstSample*>(g_value_dup_boxed(value)));
  return true;
}
inline void put(const Sample& field, GValue* value) { g_value_set_boxed(value, field.get()); }

/// A null string is the empty string, and vice versa.
inline bool assign(std::string& field, const GValue* value) {
  const gchar* text = g_value_get_string(value);
  field = text ? text : "";
  return true;
}
inline void put(const std::string& field, GValue* value) {
  g_value_set_string(value, field.empty() ? nullptr : field.c_str());
}

inline bool assign(std::vector<std::string>& field, const GValue* array) {
  std::vector<std::string> texts(gst_value_array_get_size(array));
  for (guint i = 0; i < texts.size(); ++i) {
    const GValue* item = gst_value_array_get_value(array, i);
    if (!G_VALUE_HOLDS_STRING(item) || !assign(texts[i], item) || texts[i].empty()) return false;
  }
  field = std::move(texts);
  return true;
}

inline bool assign(std::vector<int>& field, const GValue* array) {
  std::vector<int> numbers(gst_value_array_get_size(array));
  for (guint i = 0; i < numbers.size(); ++i) {
    const GValue* item = gst_value_array_get_value(array, i);
    if (!G_VALUE_HOLDS_INT(item)) return false;
    numbers[i] = g_value_get_int(item);
  }
  field = std::move(numbers);
  return true;
}

inline bool assign(xcorr::Rect& field, const GValue* array) {
  std::vector<int> numbers;
  if (!assign(numbers, array) || (!numbers.empty() && numbers.size() != 4)) return false;
  numbers.resize(4);
  if (numbers[2] < 0 || numbers[3] < 0) return false;
  field = {numbers[0], numbers[1], numbers[2], numbers[3]};
  return true;
}

template <class T>
void append(GValue* array, GType type, const T& item) {
  GValue value = G_VALUE_INIT;
  g_value_init(&value, type);
  put(item, &value);
  gst_value_array_append_and_take_value(array, &value);
}

inline void put(const std::vector<std::string>& field, GValue* array) {
  for (const std::string& text : field) append(array, G_TYPE_STRING, text);
}

inline void put(const std::vector<int>& field, GValue* array) {
  for (const int number : field) append(array, G_TYPE_INT, number);
}

inline void put(const xcorr::Rect& field, GValue* array) {
  if (!field.empty()) put(std::vector{field.x, field.y, field.width, field.height}, array);
}

}  // namespace cudaxcorr
