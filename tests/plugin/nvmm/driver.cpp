// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A stand-in for CUDA's driver, libcuda.so.1, over ordinary memory: what frames in `memory:NVMM`
// ask of it. An array is a plane of the hardware, so it lies in no rows that a pointer leads to.
#include <cstdlib>
#include <cstring>

#include <nvmm/cuda_driver.h>

#include "stand_in.hpp"

using namespace cudaxcorr::nvmm;

namespace {

constexpr int done = 0, failed = 1;

struct Rows {
  std::uint8_t* data;
  std::size_t pitch;
};

Rows rows_of(const CudaImageSide& side) {
  switch (side.kind) {
    case CudaImageSide::Kind::host:
      return {static_cast<std::uint8_t*>(const_cast<void*>(side.host)), side.pitch};
    case CudaImageSide::Kind::device:
      return {reinterpret_cast<std::uint8_t*>(side.device), side.pitch};
    case CudaImageSide::Kind::array:
      break;
  }
  const auto& plane = *reinterpret_cast<const Hardware::Plane*>(side.array);
  return {plane.pixels, plane.pitch};
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int cuMemcpy2D_v2(const CudaImageCopy* copy) {
  const Rows from = rows_of(copy->from), to = rows_of(copy->to);
  if (copy->row_bytes > from.pitch || copy->row_bytes > to.pitch) return failed;
  for (std::size_t row = 0; row < copy->rows; ++row)
    std::memcpy(to.data + row * to.pitch, from.data + row * from.pitch, copy->row_bytes);
  return done;
}

int cuMemAlloc_v2(DevicePointer* pointer, std::size_t bytes) {
  *pointer = reinterpret_cast<DevicePointer>(std::malloc(bytes));
  return *pointer ? done : failed;
}

int cuMemFree_v2(DevicePointer pointer) {
  std::free(reinterpret_cast<void*>(pointer));
  return done;
}

int cuStreamSynchronize(void*) { return done; }

int cuGraphicsEGLRegisterImage(void** resource, void* egl_image, unsigned) {
  *resource = egl_image;
  ++hardware_of(*static_cast<SurfaceImage*>(egl_image)).open;
  return done;
}

int cuGraphicsResourceGetMappedEglFrame(CudaEglFrame* frame, void* resource, unsigned, unsigned) {
  const auto& image = *static_cast<SurfaceImage*>(resource);
  Hardware& hardware = hardware_of(image);
  *frame = {};
  const bool in_rows = image.layout == SurfaceLayout::pitch;
  frame->kind = in_rows ? CudaEglFrame::Kind::pointers : CudaEglFrame::Kind::arrays;
  frame->planes = static_cast<unsigned>(hardware.planes.size());
  for (std::size_t i = 0; i < hardware.planes.size(); ++i) {
    if (in_rows)
      frame->data[i] = hardware.planes[i].pixels;
    else
      frame->array[i] = reinterpret_cast<CudaArray*>(&hardware.planes[i]);
  }
  return done;
}

int cuGraphicsUnregisterResource(void* resource) {
  --hardware_of(*static_cast<SurfaceImage*>(resource)).open;
  return done;
}

}  // extern "C"
#pragma GCC visibility pop
