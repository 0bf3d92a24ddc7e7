// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element `xcorrjson`: writes what `cudaxcorr` found, a line of JSON for each frame.
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_TYPE_XCORR_JSON (gst_xcorr_json_get_type())
G_DECLARE_FINAL_TYPE(GstXCorrJson, gst_xcorr_json, GST, XCORR_JSON, GstBaseTransform)

GST_ELEMENT_REGISTER_DECLARE(xcorrjson)

G_END_DECLS
