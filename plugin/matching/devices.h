// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The choice of the devices that an element computes on, and what a failure to open one means.
#pragma once

#include <vector>

#include <gst/gst.h>

#include <xcorr/device.hpp>

#include "matching/device_load.h"
#include "matching/pipeline_context.h"

namespace cudaxcorr {

enum class BackendChoice { automatic, cuda, cpu };

/// Of a property of that type.
GType backend_type();

/// CUDA's numbers of GPUs, none of them twice; as a property a text with commas between them.
struct DeviceList {
  std::vector<int> ordinals;
};
bool assign(DeviceList& field, const GValue* value);
void put(const DeviceList& field, GValue* value);

struct DeviceSettings {
  BackendChoice backend = BackendChoice::automatic;
  int cuda_device_id = -1;  ///< CUDA's number of the GPU; -1: any
  DeviceList devices;       ///< several GPUs for one element, which then decide
};

/// CUDA's number of the first GPU; -1: any.
int first_of(const DeviceSettings& settings);

/// Devices that an element works on. The first is that of its CUDA context.
struct Devices {
  std::vector<xcorr::Device> all;
  DeviceClaim claim;

  explicit Devices(std::vector<xcorr::Device> devices);
  const xcorr::Device& first() const { return all.front(); }
};

/// The GPUs that are asked for. Without a number the pipeline's context decides or, without one,
/// which GPU this process asks the least of. The context is taken from neighbours or the
/// application, or else made.
xcorr::Result<Devices> find_gpus(GstElement* element, PipelineContext& context,
                                 const DeviceSettings& settings);

/// The same without asking the pipeline, in a new context, which nobody shares yet.
xcorr::Result<Devices> find_gpus_anew(PipelineContext& context, const DeviceSettings& settings);

/// A CUDA context that frames lie in: one of the pipeline or, if that is none, the primary one of
/// the GPU.
struct GpuPlace {
  PipelineContext context;
  int ordinal = -1;  ///< CUDA's number of the GPU; -1: they lie nowhere on a GPU

  bool exists() const { return ordinal >= 0; }
  /// Whether these devices, of which the first works in that context, are there.
  bool is_of(const std::vector<xcorr::Device>& devices, const PipelineContext& working_in) const {
    return context == working_in && devices.front().ordinal == ordinal;
  }
};

/// For frames in that place: its GPU instead of the one there was; of several the same, its GPU
/// first.
xcorr::Result<Devices> devices_for(const GpuPlace& place,
                                   const std::vector<xcorr::Device>& present);
/// Whether they read frames in that place where they are: not if several GPUs are named and none
/// of them is its.
bool can_read_in(const std::vector<xcorr::Device>& devices, const GpuPlace& place);

/// A device that is not there: no driver, no GPU, a build without CUDA.
bool is_absent(const xcorr::Status& status);

/// Errors that may pass, or that another device need not have.
bool is_failure_of_device(const xcorr::Status& status);

}  // namespace cudaxcorr
