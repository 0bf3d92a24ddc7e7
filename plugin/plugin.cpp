// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The GStreamer plugin. The elements are registered always: whether there is a GPU is found out
// when one starts, so a driver installed later needs no new registry.
#include "cudaxcorr/gstcudaxcorr.h"
#include "fields/gstcudaxcorrfield.h"
#include "json/json.h"
#include "overlay/overlay.h"
#include "redis/redis.h"

static gboolean plugin_init(GstPlugin* plugin) {
  return GST_ELEMENT_REGISTER(cudaxcorr, plugin) && GST_ELEMENT_REGISTER(cudaxcorrfield, plugin) &&
         GST_ELEMENT_REGISTER(xcorrjson, plugin) && GST_ELEMENT_REGISTER(xcorroverlay, plugin) &&
         GST_ELEMENT_REGISTER(xcorrredis, plugin);
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, cudaxcorr,
                  "Template matching by 2-D cross-correlation on the GPU and the CPU", plugin_init,
                  PACKAGE_VERSION, "LGPL", PACKAGE, DOC_URL)
