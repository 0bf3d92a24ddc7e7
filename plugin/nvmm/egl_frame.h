// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A surface of Jetson in a GPU's address space, by way of an EGL image: where its rows lie one
// behind the other as it is, else as a copy in such rows.
#pragma once

#include <xcorr/device.hpp>

#include "common/mapped_frame.h"
#include "nvmm/cuda_driver.h"
#include "nvmm/surface_library.h"

namespace cudaxcorr::nvmm {

class EglFrame {
 public:
  EglFrame(const xcorr::Device& device, Surface& surface);
  ~EglFrame();
  EglFrame(const EglFrame&) = delete;

  /// The planes, for as long as this exists. False if they cannot be had.
  bool lend_to(LentPlanes& lent, const GstVideoFormatInfo& format);

 private:
  bool copy_to(LentPlanes& lent, const GstVideoFormatInfo& format);

  const xcorr::Device device_;
  Surface& surface_;
  const MappedSurface image_;
  void* resource_ = nullptr;
  CudaEglFrame frame_{};
  DevicePointer copy_ = 0;
};

}  // namespace cudaxcorr::nvmm
