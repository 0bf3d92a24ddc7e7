// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A table of properties that are fields of a struct `Settings`: a new property is a row and a
// field. The object lock guards the struct.
#pragma once

#include <vector>

#include <gst/gst.h>

#include "common/element_class.h"
#include "common/object_lock.h"
#include "common/property_values.h"

namespace cudaxcorr {

template <class Settings>
struct FieldProperty {
  using Owner = Settings;

  GParamSpec* spec;
  /// Null if read-only. Returns false if the value is malformed, and then changes nothing.
  bool (*set)(Settings& settings, const GValue* value);
  void (*get)(const Settings& settings, GValue* value);

  /// Its value is the field that `Access` returns.
  template <class Access>
  static FieldProperty of(GParamSpec* spec, Access) {
    return {
        spec,
        [](Settings& settings, const GValue* value) { return assign(Access{}(settings), value); },
        [](const Settings& settings, GValue* value) { put(Access{}(settings), value); }};
  }
};

/// A property's id is its index plus one.
template <class Settings>
using FieldProperties = std::vector<FieldProperty<Settings>>;

/// Makes them properties of a class whose objects have their settings in `element->settings` and
/// need not react when one is set.
template <class Object, const auto& (*table)()>
void install_properties(GObjectClass* klass) {
  install_properties(
      klass, table(),
      [](GObject* object, guint id, const GValue* value, GParamSpec*) {
        const ObjectLock lock(object);
        table()[id - 1].set(reinterpret_cast<Object*>(object)->element->settings, value);
      },
      [](GObject* object, guint id, GValue* value, GParamSpec*) {
        const ObjectLock lock(object);
        table()[id - 1].get(reinterpret_cast<Object*>(object)->element->settings, value);
      });
}

}  // namespace cudaxcorr
