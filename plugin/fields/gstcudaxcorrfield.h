// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element `cudaxcorrfield`: measures displacement fields between frames.
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_TYPE_CUDA_XCORR_FIELD (gst_cuda_xcorr_field_get_type())
G_DECLARE_FINAL_TYPE(GstCudaXCorrField, gst_cuda_xcorr_field, GST, CUDA_XCORR_FIELD,
                     GstBaseTransform)

GST_ELEMENT_REGISTER_DECLARE(cudaxcorrfield)

G_END_DECLS
