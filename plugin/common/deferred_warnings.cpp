// SPDX-License-Identifier: LGPL-2.1-or-later
#include "common/deferred_warnings.h"

#include <utility>

#include "common/object_lock.h"

namespace cudaxcorr {

namespace {

/// Of an array with an item that is no text GStreamer writes nothing but a critical message.
bool can_be_serialized(const GValue* value) {
  if (!GST_VALUE_HOLDS_ARRAY(value)) return true;
  for (guint i = 0; i < gst_value_array_get_size(value); ++i) {
    const GValue* item = gst_value_array_get_value(value, i);
    if (G_VALUE_HOLDS_STRING(item) && !g_value_get_string(item)) return false;
  }
  return true;
}

}  // namespace

Fault malformed(GParamSpec* property, const GValue* value, Where where) {
  gchar* text =
      can_be_serialized(value) ? gst_value_serialize(value) : g_strdup_value_contents(value);
  const std::string given = text ? text : "";
  g_free(text);
  return {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
          std::string("'") + property->name + "' cannot be " + given +
              ", the old value stays. It is: " + g_param_spec_get_blurb(property),
          where};
}

void DeferredWarnings::warn(gpointer element, Fault fault) {
  {
    const ObjectLock lock(element);
    if (GST_STATE(element) == GST_STATE_NULL) {
      kept_.push_back(std::move(fault));
      return;
    }
  }
  post_warning(element, fault);
}

void DeferredWarnings::post(gpointer element) {
  std::vector<Fault> faults;
  {
    const ObjectLock lock(element);
    faults = std::exchange(kept_, {});
  }
  for (const Fault& fault : faults) post_warning(element, fault);
}

}  // namespace cudaxcorr
