// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Shared by the tests of surfaces that a GPU reads: their kinds of memory, and a scene to find.
#pragma once

#include <span>

#include "nvmm/cuda_memory.hpp"
#include "nvmm_frames.hpp"

inline constexpr int width = 64, height = 48;
inline constexpr Place place{21, 17};
inline constexpr int size = 12;

inline Gray scene() {
  Gray image = texture(width, height, 1);
  paste(image, texture(size, size, 50), place.x, place.y);
  return image;
}

inline std::string patch() { return save(texture(size, size, 50), "patch.png"); }

struct Kind {
  SurfaceMemory memory;
  SurfaceLayout layout;
};

/// What a GPU reads; on any GPU the first two.
inline constexpr Kind kinds[] = {
    {SurfaceMemory::cuda_device, SurfaceLayout::pitch},
    {SurfaceMemory::cuda_unified, SurfaceLayout::pitch},
    {SurfaceMemory::surface_array, SurfaceLayout::pitch},
    {SurfaceMemory::surface_array, SurfaceLayout::block_linear},
};

inline const CudaMemory& cuda_memory() {
  static const CudaMemory memory;
  return memory;
}

inline std::span<const Kind> tested_kinds() {
  return std::span(kinds).first(cuda_memory().exists() ? 2 : std::size(kinds));
}

inline PixelMemory memory_of(const Kind& kind) {
  const CudaMemory& cuda = cuda_memory();
  return cuda.exists() ? cuda.pixels(kind.memory == SurfaceMemory::cuda_unified) : host_memory();
}

inline MadeSurface surface(const Kind& kind, GstVideoFormat format, const Gray& image = scene()) {
  MadeSurface made = surface_of(image, format, kind.memory, memory_of(kind));
  made->image.layout = kind.layout;
  made->hardware.has_egl = true;
  return made;
}

inline void assert_found(Finder& finder, const MadeSurface& made, bool in_gpu_memory) {
  const Found found = finder.find(buffer_of(made));
  fail_unless(found.analysed);
  assert_at(only(found), place.x, place.y);
  assert_equals_uint64(stat_of(finder.element, "in-gpu-memory"), in_gpu_memory);
  fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr);
}
