// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Custom metas of the elements: bound to no size or memory, so that other elements pass them on.
#pragma once

#include <gst/gst.h>

namespace cudaxcorr {

/// More than once is allowed.
inline void register_custom_meta(const gchar* name) {
  static const gchar* no_tags[] = {nullptr};
  if (!gst_meta_get_info(name)) gst_meta_register_custom(name, no_tags, nullptr, nullptr, nullptr);
}

}  // namespace cudaxcorr
