// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element `xcorroverlay`: draws what `cudaxcorr` found over the frames.
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_TYPE_XCORR_OVERLAY (gst_xcorr_overlay_get_type())
G_DECLARE_FINAL_TYPE(GstXCorrOverlay, gst_xcorr_overlay, GST, XCORR_OVERLAY, GstBin)

GST_ELEMENT_REGISTER_DECLARE(xcorroverlay)

G_END_DECLS
