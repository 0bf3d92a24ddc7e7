// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Surfaces for tests of `memory:NVMM`, and what the stand-ins for NVIDIA's libraries know of them:
// libnvbufsurface (surfaces.cpp), and CUDA's driver (driver.cpp), for machines without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <nvmm/surface.h>

using cudaxcorr::nvmm::Surface;
using cudaxcorr::nvmm::SurfaceImage;

/// The memory that Jetson's hardware has: no pointer leads there until it is mapped. It is what a
/// surface's `descriptor` refers to.
struct Hardware {
  struct Plane {
    std::uint8_t* pixels;
    std::uint32_t pitch, bytes;
  };
  std::vector<Plane> planes;
  bool maps = true, has_egl = false;
  int open = 0;    ///< mappings of all kinds
  int mapped = 0;  ///< how often it was
};

inline Hardware& hardware_of(const SurfaceImage& image) {
  return *reinterpret_cast<Hardware*>(image.descriptor);
}
