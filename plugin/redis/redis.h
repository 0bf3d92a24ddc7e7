// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element `xcorrredis`: hands what `cudaxcorr` found to a stream of a Redis server.
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_TYPE_XCORR_REDIS (gst_xcorr_redis_get_type())
G_DECLARE_FINAL_TYPE(GstXCorrRedis, gst_xcorr_redis, GST, XCORR_REDIS, GstBaseTransform)

GST_ELEMENT_REGISTER_DECLARE(xcorrredis)

G_END_DECLS
