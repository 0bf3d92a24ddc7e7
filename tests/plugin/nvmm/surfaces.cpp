// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A stand-in for NVIDIA's libnvbufsurface.so: surfaces of ordinary memory. It maps as little as
// that may: copies of exactly the size, with nothing in them before the first SyncForCpu; and it
// refuses what must not be, such as two mappings at once.
#include <cstdlib>
#include <cstring>

#include "stand_in.hpp"

namespace {

constexpr int done = 0, failed = -1;

bool is_of_jetson(const Surface* surface) {
  return surface->memory == cudaxcorr::nvmm::SurfaceMemory::surface_array;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int NvBufSurfaceMap(Surface* surface, int image, int plane, int) {
  SurfaceImage& mapped = surface->images[image];
  if (!is_of_jetson(surface) || plane != -1 || mapped.mapped.data[0]) return failed;
  Hardware& hardware = hardware_of(mapped);
  if (!hardware.maps) return failed;
  for (std::size_t i = 0; i < hardware.planes.size(); ++i)
    mapped.mapped.data[i] = std::calloc(hardware.planes[i].bytes, 1);
  ++hardware.open;
  ++hardware.mapped;
  return done;
}

int NvBufSurfaceUnMap(Surface* surface, int image, int plane) {
  SurfaceImage& mapped = surface->images[image];
  if (plane != -1 || !mapped.mapped.data[0]) return failed;
  Hardware& hardware = hardware_of(mapped);
  for (std::size_t i = 0; i < hardware.planes.size(); ++i) {
    std::free(mapped.mapped.data[i]);
    mapped.mapped.data[i] = nullptr;
  }
  --hardware.open;
  return done;
}

int NvBufSurfaceSyncForCpu(Surface* surface, int image, int plane) {
  const SurfaceImage& mapped = surface->images[image];
  if (plane != -1 || !mapped.mapped.data[0]) return failed;
  const Hardware& hardware = hardware_of(mapped);
  for (std::size_t i = 0; i < hardware.planes.size(); ++i)
    std::memcpy(mapped.mapped.data[i], hardware.planes[i].pixels, hardware.planes[i].bytes);
  return done;
}

int NvBufSurfaceMapEglImage(Surface* surface, int image) {
  SurfaceImage& mapped = surface->images[image];
  if (!is_of_jetson(surface) || mapped.mapped.egl_image) return failed;
  Hardware& hardware = hardware_of(mapped);
  if (!hardware.has_egl) return failed;
  mapped.mapped.egl_image = &mapped;
  ++hardware.open;
  ++hardware.mapped;
  return done;
}

int NvBufSurfaceUnMapEglImage(Surface* surface, int image) {
  SurfaceImage& mapped = surface->images[image];
  if (!mapped.mapped.egl_image) return failed;
  mapped.mapped.egl_image = nullptr;
  --hardware_of(mapped).open;
  return done;
}

}  // extern "C"
#pragma GCC visibility pop
