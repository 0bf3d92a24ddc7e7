// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element `cudaxcorr`: finds templates in the frames that pass through it.
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_TYPE_CUDA_XCORR (gst_cuda_xcorr_get_type())
G_DECLARE_FINAL_TYPE(GstCudaXCorr, gst_cuda_xcorr, GST, CUDA_XCORR, GstBaseTransform)

GST_ELEMENT_REGISTER_DECLARE(cudaxcorr)

G_END_DECLS
