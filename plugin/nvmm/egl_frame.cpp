// SPDX-License-Identifier: LGPL-2.1-or-later
#include "nvmm/egl_frame.h"

namespace cudaxcorr::nvmm {
namespace {

constexpr unsigned to_read = 1;  // CU_GRAPHICS_MAP_RESOURCE_FLAGS_READ_ONLY

/// Rows of a copy begin at multiples of this: a GPU reads them in pieces of that many bytes.
constexpr gint64 row_alignment = 256;

gint64 pitch_of(const PlaneRows& rows) {
  return (rows.bytes + row_alignment - 1) / row_alignment * row_alignment;
}

}  // namespace

EglFrame::EglFrame(const xcorr::Device& device, Surface& surface)
    : device_(device), surface_(surface), image_(surface, SurfaceAccess::egl) {
  const xcorr::CurrentDevice current(device_);
  if (!image_ || !current.status().ok()) return;
  const CudaDriver& cuda = cuda_driver();
  if (cuda.register_egl(&resource_, surface.images->mapped.egl_image, to_read) != 0)
    resource_ = nullptr;
  else if (cuda.frame_of_egl(&frame_, resource_, 0, 0) != 0)
    frame_.planes = 0;
}

EglFrame::~EglFrame() {
  const xcorr::CurrentDevice current(device_);
  if (copy_) cuda_driver().release(copy_);
  if (resource_) cuda_driver().unregister(resource_);
}

bool EglFrame::lend_to(LentPlanes& lent, const GstVideoFormatInfo& format) {
  if (frame_.planes < format.n_planes) return false;
  if (frame_.kind == CudaEglFrame::Kind::arrays) return copy_to(lent, format);
  for (guint i = 0; i < format.n_planes; ++i)
    lent.planes[i] = {frame_.data[i], static_cast<int>(surface_.images->planes.pitch[i]),
                      surface_.images->planes.bytes[i]};
  return true;
}

bool EglFrame::copy_to(LentPlanes& lent, const GstVideoFormatInfo& format) {
  const auto rows = [&](guint i) { return rows_of(format, i, lent.width, lent.height); };
  gint64 bytes = 0;
  for (guint i = 0; i < format.n_planes; ++i) bytes += rows(i).count * pitch_of(rows(i));
  const xcorr::CurrentDevice current(device_);
  const CudaDriver& cuda = cuda_driver();
  if (!current.status().ok() || cuda.allocate(&copy_, static_cast<std::size_t>(bytes)) != 0)
    return false;
  DevicePointer to = copy_;
  for (guint i = 0; i < format.n_planes; ++i) {
    CudaImageCopy copy{
        {}, {}, static_cast<std::size_t>(rows(i).bytes), static_cast<std::size_t>(rows(i).count)};
    copy.from.kind = CudaImageSide::Kind::array;
    copy.from.array = frame_.array[i];
    copy.to.kind = CudaImageSide::Kind::device;
    copy.to.device = to;
    copy.to.pitch = static_cast<std::size_t>(pitch_of(rows(i)));
    if (cuda.copy_image(&copy) != 0) return false;
    const std::size_t size = copy.rows * copy.to.pitch;
    lent.planes[i] = {reinterpret_cast<void*>(to), static_cast<int>(copy.to.pitch), size};
    to += size;
  }
  return cuda.wait_for_stream(nullptr) == 0;
}

}  // namespace cudaxcorr::nvmm
