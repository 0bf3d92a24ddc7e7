// SPDX-License-Identifier: LGPL-2.1-or-later
#include "nvmm/cuda_driver.h"

#include "common/shared_object.h"

namespace cudaxcorr::nvmm {

CudaDriver::CudaDriver() {
  const SharedObject library{"libcuda.so.1"};
  can_copy = library.find(copy_image, "cuMemcpy2D_v2");
  has_egl = can_copy;
  has_egl &= library.find(allocate, "cuMemAlloc_v2");
  has_egl &= library.find(release, "cuMemFree_v2");
  has_egl &= library.find(wait_for_stream, "cuStreamSynchronize");
  has_egl &= library.find(register_egl, "cuGraphicsEGLRegisterImage");
  has_egl &= library.find(frame_of_egl, "cuGraphicsResourceGetMappedEglFrame");
  has_egl &= library.find(unregister, "cuGraphicsUnregisterResource");
}

const CudaDriver& cuda_driver() {
  static const CudaDriver opened;
  return opened;
}

}  // namespace cudaxcorr::nvmm
