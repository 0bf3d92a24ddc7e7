// SPDX-License-Identifier: LGPL-2.1-or-later
#include "nvmm/lend.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <xcorr/device.hpp>

#include "nvmm/color_formats.h"
#include "nvmm/cuda_driver.h"
#include "nvmm/egl_frame.h"
#include "nvmm/surface_library.h"

namespace cudaxcorr::nvmm {
namespace {

constexpr char unmapped[] = "its surface cannot be mapped";
constexpr char block_linear[] = "its surface is block-linear";

/// A buffer's surface, for as long as the buffer is mapped.
class MappedBuffer {
 public:
  explicit MappedBuffer(GstBuffer* buffer)
      : buffer_(gst_buffer_map(buffer, &map_, GST_MAP_READ) ? buffer : nullptr) {}
  ~MappedBuffer() {
    if (buffer_) gst_buffer_unmap(buffer_, &map_);
  }
  MappedBuffer(const MappedBuffer&) = delete;

  /// With one image at least; null if there is none.
  Surface* surface() const {
    if (!buffer_ || map_.size < sizeof(Surface)) return nullptr;
    auto* const surface = reinterpret_cast<Surface*>(map_.data);
    return surface->images ? surface : nullptr;
  }

 private:
  GstMapInfo map_;
  GstBuffer* buffer_;
};

/// The members are freed from the last to the first.
struct LentSurface : LentPlanes {
  explicit LentSurface(GstBuffer* frame) : buffer(frame) {}

  MappedBuffer buffer;
  std::optional<MappedSurface> mapped;
  std::unique_ptr<EglFrame> egl;
  std::vector<std::uint8_t> copies[GST_VIDEO_MAX_PLANES];
};

const char* fault_of(const Surface* surface, const GstVideoInfo& info) {
  if (!surface) return "it holds no NvBufSurface";
  if (surface->filled > 1) return "it is a batch of several surfaces";
  if (format_of(surface->images->color_format) != GST_VIDEO_INFO_FORMAT(&info))
    return "its surface is of another format than its caps";
  return nullptr;
}

/// The frame without its planes, which follow if there is no fault.
std::unique_ptr<LentSurface> lend(const GstVideoInfo& info, GstBuffer* frame) {
  auto lent = std::make_unique<LentSurface>(frame);
  const Surface* surface = lent->buffer.surface();
  if ((lent->fault = fault_of(surface, info))) return lent;
  lent->width = static_cast<int>(surface->images->width);
  lent->height = static_cast<int>(surface->images->height);
  return lent;
}

/// The planes lie one behind the other where `data` is.
void take_data(LentSurface& lent, guint planes) {
  const SurfaceImage& image = *lent.buffer.surface()->images;
  if (image.layout != SurfaceLayout::pitch) {
    lent.fault = block_linear;
    return;
  }
  auto* const data = static_cast<std::uint8_t*>(image.data);
  for (guint i = 0; i < planes; ++i) {
    const std::uint32_t offset = image.planes.offset[i];
    if (data && offset < image.bytes)
      lent.planes[i] = {data + offset, static_cast<int>(image.planes.pitch[i]),
                        image.bytes - offset};
  }
}

void take_mapped(LentSurface& lent, guint planes) {
  Surface& surface = *lent.buffer.surface();
  if (!lent.mapped.emplace(surface, SurfaceAccess::cpu)) {
    lent.fault = unmapped;
    return;
  }
  for (guint i = 0; i < planes; ++i)
    lent.planes[i] = {surface.images->mapped.data[i],
                      static_cast<int>(surface.images->planes.pitch[i]),
                      surface.images->planes.bytes[i]};
}

/// Opening a device takes milliseconds.
const xcorr::Result<xcorr::Device>& device_of(const Surface& surface) {
  static std::mutex mutex;
  static auto* const known = new std::map<std::uint32_t, xcorr::Result<xcorr::Device>>;
  const std::lock_guard lock(mutex);
  const auto found = known->find(surface.gpu);
  if (found != known->end()) return found->second;
  const std::uint32_t ordinal = std::min<std::uint32_t>(surface.gpu, INT_MAX);  // -1 would be any
  auto device = xcorr::open_device(xcorr::Backend::cuda, static_cast<int>(ordinal));
  return known->emplace(surface.gpu, std::move(device)).first->second;
}

CudaImageCopy to_host(const LentPlanes::Plane& plane, const PlaneRows& rows, std::uint8_t* to) {
  const auto row_bytes = static_cast<std::size_t>(rows.bytes);
  CudaImageCopy copy{{}, {}, row_bytes, static_cast<std::size_t>(rows.count)};
  copy.from.kind = CudaImageSide::Kind::device;
  copy.from.device = reinterpret_cast<DevicePointer>(plane.data);
  copy.from.pitch = static_cast<std::size_t>(plane.stride);
  copy.to.kind = CudaImageSide::Kind::host;
  copy.to.host = to;
  copy.to.pitch = row_bytes;
  return copy;
}

/// Replaces planes in a GPU's memory by a copy without what is between rows.
void download(LentSurface& lent, const GstVideoInfo& info) {
  if ((lent.fault = fault_of_planes(lent, *info.finfo))) return;
  const auto& device = device_of(*lent.buffer.surface());
  bool done = device.ok() && cuda_driver().can_copy;
  if (done) {
    const xcorr::CurrentDevice current(device.value());
    done = current.status().ok();
    for (guint i = 0; done && i < info.finfo->n_planes; ++i) {
      const PlaneRows rows = rows_of(*info.finfo, i, lent.width, lent.height);
      auto& copied = lent.copies[i];
      copied.resize(static_cast<std::size_t>(rows.count * rows.bytes));
      const CudaImageCopy copy = to_host(lent.planes[i], rows, copied.data());
      done = cuda_driver().copy_image(&copy) == 0;
      lent.planes[i] = {copied.data(), static_cast<int>(rows.bytes), copied.size()};
    }
  }
  if (!done) lent.fault = "its surface cannot be copied from the GPU";
}

/// By way of an EGL image, which a GPU reads, whatever the layout.
void take_egl(LentSurface& lent, const GstVideoInfo& info) {
  Surface& surface = *lent.buffer.surface();
  if (device_of(surface).ok() && cuda_driver().has_egl) {
    lent.egl = std::make_unique<EglFrame>(device_of(surface).value(), surface);
    if (lent.egl->lend_to(lent, *info.finfo)) return;
  }
  lent.fault = surface.images->layout == SurfaceLayout::pitch ? unmapped : block_linear;
}

}  // namespace

bool is_in_nvmm(const GstCaps* caps) {
  return gst_caps_features_contains(gst_caps_get_features(caps, 0), feature);
}

int gpu_of(GstBuffer* frame) {
  const MappedBuffer mapped(frame);
  const Surface* surface = mapped.surface();
  if (!surface) return -1;
  const bool may_read = surface->memory == SurfaceMemory::cuda_device ||
                        surface->memory == SurfaceMemory::cuda_unified ||
                        (surface->memory == SurfaceMemory::surface_array && cuda_driver().has_egl);
  return may_read && device_of(*surface).ok() ? device_of(*surface).value().ordinal : -1;
}

std::unique_ptr<LentPlanes> lend_to_gpu(const GstVideoInfo& info, GstBuffer* frame) {
  auto lent = lend(info, frame);
  if (lent->fault) return lent;
  if (lent->buffer.surface()->memory == SurfaceMemory::surface_array)
    take_egl(*lent, info);
  else
    take_data(*lent, info.finfo->n_planes);
  return lent;
}

std::unique_ptr<LentPlanes> lend_to_host(const GstVideoInfo& info, GstBuffer* frame) {
  auto lent = lend(info, frame);
  if (lent->fault) return lent;
  switch (lent->buffer.surface()->memory) {
    case SurfaceMemory::cuda_pinned:
    case SurfaceMemory::cuda_unified:
    case SurfaceMemory::system:
      take_data(*lent, info.finfo->n_planes);
      break;
    case SurfaceMemory::cuda_device:
      take_data(*lent, info.finfo->n_planes);
      if (!lent->fault) download(*lent, info);
      break;
    case SurfaceMemory::surface_array:
      if (lent->buffer.surface()->images->layout == SurfaceLayout::pitch)
        take_mapped(*lent, info.finfo->n_planes);
      else
        take_egl(*lent, info);  // only the GPU knows where pixels are
      if (lent->egl && !lent->fault) download(*lent, info);
      break;
    default:
      lent->fault = "its surface is in memory of another kind";
  }
  return lent;
}

}  // namespace cudaxcorr::nvmm
