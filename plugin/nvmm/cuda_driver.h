// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The few functions of CUDA's driver that frames in `memory:NVMM` need, by their names: copies of
// images between the memories that there are, and EGL images as memory of a GPU. All work in the
// context that is current. Declared after NVIDIA's public documentation of the driver.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cudaxcorr::nvmm {

struct CudaArray;
using DevicePointer = std::uint64_t;

/// CUDA_MEMCPY2D: which pointer counts is what the kind says.
struct CudaImageSide {
  enum class Kind : int { host = 1, device = 2, array = 3 };

  std::size_t x_bytes = 0, y = 0;
  Kind kind = Kind::host;
  const void* host = nullptr;
  DevicePointer device = 0;
  CudaArray* array = nullptr;
  std::size_t pitch = 0;
};
struct CudaImageCopy {
  CudaImageSide from, to;
  std::size_t row_bytes, rows;
};
static_assert(sizeof(CudaImageCopy) == 128);

/// CUeglFrame.
struct CudaEglFrame {
  enum class Kind : int { arrays = 0, pointers = 1 };

  union {
    CudaArray* array[3];
    void* data[3];
  };
  unsigned width, height, depth, pitch, planes, channels;
  Kind kind;
  int color_format, array_format;
};
static_assert(sizeof(CudaEglFrame) == 64);

/// All results are 0 for success.
struct CudaDriver {
  int (*copy_image)(const CudaImageCopy*);
  int (*allocate)(DevicePointer*, std::size_t);
  int (*release)(DevicePointer);
  int (*wait_for_stream)(void* stream);
  int (*register_egl)(void** resource, void* egl_image, unsigned flags);
  int (*frame_of_egl)(CudaEglFrame*, void* resource, unsigned index, unsigned level);
  int (*unregister)(void* resource);
  bool can_copy = false;
  bool has_egl = false;  ///< and can copy

  CudaDriver();
};

/// It is opened when it is asked for first.
const CudaDriver& cuda_driver();

}  // namespace cudaxcorr::nvmm
