// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The choice of the device that an element computes on, and what a failure to open one means.
#pragma once

#include <gst/gst.h>

#include <xcorr/device.hpp>

#include "matching/pipeline_context.h"

namespace cudaxcorr {

enum class BackendChoice { automatic, cuda, cpu };

/// Of a property of that type.
GType backend_type();

struct DeviceSettings {
  BackendChoice backend = BackendChoice::automatic;
  int cuda_device_id = -1;  ///< CUDA's number of the GPU; -1: any
};

/// The context's GPU or, without one, that of the number.
xcorr::Result<xcorr::Device> find_gpu(const PipelineContext& context, int cuda_device_id);

/// A device that is not there: no driver, no GPU, a build without CUDA.
bool is_absent(const xcorr::Status& status);

/// Errors that may pass, or that another device need not have.
bool is_failure_of_device(const xcorr::Status& status);

}  // namespace cudaxcorr
