// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where fields are measured. With backend=auto a GPU that fails is no reason to end the stream: the
// CPU goes on in its place, until the element is started again.
#pragma once

#include "fields/gstcudaxcorrfield.h"
#include "fields/properties.h"

namespace cudaxcorr::fields {

/// At the start.
xcorr::Status open_backend(GstCudaXCorrField* self, const DeviceSettings& settings);
/// At the end.
void close_backend(GstCudaXCorrField* self);
/// Goes on in the CUDA context of frames, without what was prepared.
xcorr::Status work_in(GstCudaXCorrField* self, const GpuPlace& place);
/// After a failure: whether the CPU has taken over, so that the frame can be measured again.
bool fall_back_to_cpu(GstCudaXCorrField* self, const DeviceSettings& settings,
                      const xcorr::Status& failure);

}  // namespace cudaxcorr::fields
