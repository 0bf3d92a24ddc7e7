// SPDX-License-Identifier: LGPL-2.1-or-later
//
// NVIDIA's library of surfaces, which comes with Jetson Linux and with DeepStream. It is opened
// when it is asked for first; without it no frame is in `memory:NVMM`.
#pragma once

#include "nvmm/surface.h"

namespace cudaxcorr::nvmm {

/// Whether it is there, with what is needed of it.
bool has_surface_library();

enum class SurfaceAccess {
  cpu,  ///< in the host's memory: SurfaceImage::mapped.data
  egl,  ///< as an EGL image: SurfaceImage::mapped.egl_image
};

/// A surface's only image, mapped to be read. The places are in the surface itself, which several
/// elements may have at once, so it is mapped for the first of them and unmapped after the last.
class MappedSurface {
 public:
  MappedSurface(Surface& surface, SurfaceAccess access);
  ~MappedSurface();
  MappedSurface(const MappedSurface&) = delete;
  explicit operator bool() const { return is_mapped_; }

 private:
  Surface& surface_;
  const SurfaceAccess access_;
  bool is_mapped_;
};

}  // namespace cudaxcorr::nvmm
