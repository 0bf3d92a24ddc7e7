// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a mapped buffer of `memory:NVMM` holds: NVIDIA's NvBufSurface, as far as frames are read by
// it. Written from NVIDIA's public documentation of the interface, and without their names, since
// their header need not be there. Places and sizes are the same on Jetson and in DeepStream.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cudaxcorr::nvmm {

inline constexpr int most_planes = 4;

/// NvBufSurfaceMemType.
enum class SurfaceMemory : std::int32_t {
  cuda_pinned = 1,    ///< of the host, which a GPU reads too
  cuda_device = 2,    ///< of a GPU
  cuda_unified = 3,   ///< of both
  surface_array = 4,  ///< Jetson's, which has to be mapped
  system = 6,
};

/// NvBufSurfaceLayout.
enum class SurfaceLayout : std::int32_t { pitch = 0, block_linear = 1 };

/// NvBufSurfacePlaneParams: of each plane.
struct SurfacePlanes {
  std::uint32_t count;
  std::uint32_t width[most_planes], height[most_planes];
  std::uint32_t pitch[most_planes], offset[most_planes], bytes[most_planes];
  std::uint32_t bytes_per_pixel[most_planes];
  void* reserved[4 * most_planes];
};

/// NvBufSurfaceMappedAddr: where planes are while they are mapped.
struct MappedPlanes {
  void* data[most_planes];
  void* egl_image;
  void* reserved[4];
};

/// NvBufSurfaceParams: one image.
struct SurfaceImage {
  std::uint32_t width, height, pitch;
  std::int32_t color_format;
  SurfaceLayout layout;
  std::uint64_t descriptor;
  std::uint32_t bytes;
  void* data;  ///< not of a `surface_array`
  SurfacePlanes planes;
  MappedPlanes mapped;
  void* reserved[4];
};

/// NvBufSurface: a batch of images.
struct Surface {
  std::uint32_t gpu;
  std::uint32_t batch_size, filled;
  bool is_contiguous;
  SurfaceMemory memory;
  SurfaceImage* images;
};

static_assert(offsetof(Surface, images) == 24 && sizeof(Surface) == 32);
static_assert(offsetof(SurfaceImage, data) == 40 && offsetof(SurfaceImage, planes) == 48 &&
              offsetof(SurfaceImage, mapped) == 280 && sizeof(SurfaceImage) == 384);

}  // namespace cudaxcorr::nvmm
