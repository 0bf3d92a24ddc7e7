// SPDX-License-Identifier: LGPL-2.1-or-later
#include "nvmm/surface_library.h"

#include <map>
#include <mutex>
#include <utility>

#include "common/shared_object.h"

namespace cudaxcorr::nvmm {
namespace {

constexpr int to_read = 0, first = 0, all_planes = -1;

struct SurfaceLibrary {
  int (*map)(Surface*, int image, int plane, int access);
  int (*unmap)(Surface*, int image, int plane);
  int (*sync_for_cpu)(Surface*, int image, int plane);
  // Only where there is EGL.
  int (*map_egl_image)(Surface*, int image);
  int (*unmap_egl_image)(Surface*, int image);
  bool is_complete;

  SurfaceLibrary() {
    // Jetson's by the name inside of it; DeepStream's may be in its own folder alone.
    const SharedObject library{"libnvbufsurface.so", "libnvbufsurface.so.1.0.0",
                               "/opt/nvidia/deepstream/deepstream/lib/libnvbufsurface.so"};
    is_complete = library.find(map, "NvBufSurfaceMap");
    is_complete &= library.find(unmap, "NvBufSurfaceUnMap");
    is_complete &= library.find(sync_for_cpu, "NvBufSurfaceSyncForCpu");
    library.find(map_egl_image, "NvBufSurfaceMapEglImage");
    library.find(unmap_egl_image, "NvBufSurfaceUnMapEglImage");
  }
};

const SurfaceLibrary& surface_library() {
  static const SurfaceLibrary opened;
  return opened;
}

bool map(Surface& surface, SurfaceAccess access) {
  const SurfaceLibrary& library = surface_library();
  if (!library.is_complete) return false;
  if (access == SurfaceAccess::cpu)
    return library.map(&surface, first, all_planes, to_read) == 0 &&
           surface.images->mapped.data[0] != nullptr;
  return library.map_egl_image && library.unmap_egl_image &&
         library.map_egl_image(&surface, first) == 0 && surface.images->mapped.egl_image;
}

void unmap(Surface& surface, SurfaceAccess access) {
  if (access == SurfaceAccess::cpu)
    surface_library().unmap(&surface, first, all_planes);
  else
    surface_library().unmap_egl_image(&surface, first);
}

/// Who reads a surface in that way.
struct Readers {
  std::mutex mutex;
  std::map<std::pair<Surface*, SurfaceAccess>, unsigned> counts;
};

Readers& readers() {
  static auto* const all = new Readers;  // frames may be freed after all that is static
  return *all;
}

}  // namespace

bool has_surface_library() { return surface_library().is_complete; }

MappedSurface::MappedSurface(Surface& surface, SurfaceAccess access)
    : surface_(surface), access_(access) {
  const std::lock_guard lock(readers().mutex);
  auto& counts = readers().counts;
  const std::pair key(&surface, access);
  is_mapped_ = counts.contains(key) || map(surface, access);
  if (is_mapped_) ++counts[key];
  if (is_mapped_ && access == SurfaceAccess::cpu)
    surface_library().sync_for_cpu(&surface, first, all_planes);
}

MappedSurface::~MappedSurface() {
  if (!is_mapped_) return;
  const std::lock_guard lock(readers().mutex);
  const auto known = readers().counts.find({&surface_, access_});
  if (--known->second > 0) return;
  readers().counts.erase(known);
  unmap(surface_, access_);
}

}  // namespace cudaxcorr::nvmm
