// SPDX-License-Identifier: LGPL-2.1-or-later
//
// cuFFT, opened when first used: it is 286 MB and its soname changes with the toolkit, so nothing
// links against it.
#pragma once

#include <cufft.h>

#include <string_view>

#include <xcorr/device.hpp>

namespace xcorr::cuda {

/// The functions used here, with cuFFT's own names and types.
struct CufftLibrary {
  decltype(&::cufftCreate) create;
  decltype(&::cufftDestroy) destroy;
  decltype(&::cufftSetAutoAllocation) set_auto_allocation;
  decltype(&::cufftMakePlanMany64) make_plan_many;
  decltype(&::cufftSetWorkArea) set_work_area;
  decltype(&::cufftSetStream) set_stream;
  decltype(&::cufftExecR2C) exec_r2c;
  decltype(&::cufftExecC2R) exec_c2r;
  decltype(&::cufftExecD2Z) exec_d2z;
  decltype(&::cufftExecZ2D) exec_z2d;
};

/// Opens it once per process. Error: unsupported, naming what was tried.
Result<const CufftLibrary*> cufft_library();

Status check(cufftResult result, std::string_view what);

/// cuFFT's names for the transforms of a real type.
template <class T>
struct CufftTypes;
template <>
struct CufftTypes<float> {
  using Complex = cufftComplex;
  static constexpr cufftType forward = CUFFT_R2C, inverse = CUFFT_C2R;
};
template <>
struct CufftTypes<double> {
  using Complex = cufftDoubleComplex;
  static constexpr cufftType forward = CUFFT_D2Z, inverse = CUFFT_Z2D;
};

/// A batch of 2-D real-to-complex transforms and their inverses, with work areas provided by the
/// caller.
class CufftPlan {
 public:
  CufftPlan() = default;
  CufftPlan(CufftPlan&& other) noexcept { *this = static_cast<CufftPlan&&>(other); }
  CufftPlan& operator=(CufftPlan&& other) noexcept;
  ~CufftPlan();

  /// Out of place, dense, `batch` transforms per call: `type` is one of CufftTypes.
  static Result<CufftPlan> make(Size size, cufftType type, int batch = 1);

  std::size_t work_bytes() const { return work_bytes_; }
  Status set_work_area(void* area) const;
  Status forward(const float* in, cufftComplex* out, Stream stream) const;
  Status forward(const double* in, cufftDoubleComplex* out, Stream stream) const;
  /// Both overwrite their input.
  Status inverse(cufftComplex* in, float* out, Stream stream) const;
  Status inverse(cufftDoubleComplex* in, double* out, Stream stream) const;

 private:
  template <class In, class Out>
  Status execute(cufftResult (*transform)(cufftHandle, In*, Out*), In* in, Out* out,
                 const char* what, Stream stream) const;

  const CufftLibrary* library_ = nullptr;
  cufftHandle handle_ = 0;
  std::size_t work_bytes_ = 0;
};

}  // namespace xcorr::cuda
