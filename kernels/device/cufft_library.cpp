// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device/cufft_library.hpp"

#include <dlfcn.h>

#include <string>
#include <utility>

#include "device/check.hpp"

namespace xcorr::cuda {
namespace {

/// The part of the interface in use is the same in all of these; the toolkit's own version comes
/// first.
constexpr const char* names[] = {
#if CUFFT_VERSION >= 12000
    "libcufft.so.12",
    "libcufft.so.11",
    "libcufft.so.10",
    "libcufft.so",
#else
    "libcufft.so.11",
    "libcufft.so.10",
    "libcufft.so.12",
    "libcufft.so",
#endif
};

Result<const CufftLibrary*> open() {
  void* handle = nullptr;
  std::string tried;
  for (const char* name : names) {
    if ((handle = dlopen(name, RTLD_NOW | RTLD_LOCAL))) break;
    tried += std::string(tried.empty() ? "" : ", ") + name;
  }
  if (!handle) return Status(Code::unsupported, "cuFFT is not installed (tried " + tried + ")");

  static CufftLibrary library;
  bool complete = true;
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    complete &= function != nullptr;
  };
  load(library.create, "cufftCreate");
  load(library.destroy, "cufftDestroy");
  load(library.set_auto_allocation, "cufftSetAutoAllocation");
  load(library.make_plan_many, "cufftMakePlanMany64");
  load(library.set_work_area, "cufftSetWorkArea");
  load(library.set_stream, "cufftSetStream");
  load(library.exec_r2c, "cufftExecR2C");
  load(library.exec_c2r, "cufftExecC2R");
  load(library.exec_d2z, "cufftExecD2Z");
  load(library.exec_z2d, "cufftExecZ2D");
  if (!complete) return Status(Code::unsupported, "this cuFFT lacks a function");
  return &library;
}

}  // namespace

Result<const CufftLibrary*> cufft_library() {
  static const Result<const CufftLibrary*> library = open();
  return library;
}

Status check(cufftResult result, std::string_view what) {
  if (result == CUFFT_SUCCESS) return {};
  const Code code = result == CUFFT_ALLOC_FAILED ? Code::out_of_memory : Code::device_error;
  return {code, std::string(what) + ": cuFFT error " + std::to_string(result)};
}

CufftPlan& CufftPlan::operator=(CufftPlan&& other) noexcept {
  std::swap(library_, other.library_);
  std::swap(handle_, other.handle_);
  std::swap(work_bytes_, other.work_bytes_);
  return *this;
}

CufftPlan::~CufftPlan() {
  if (library_) library_->destroy(handle_);
}

Result<CufftPlan> CufftPlan::make(Size size, cufftType type, int batch) {
  auto library = cufft_library();
  if (!library.ok()) return library.status();
  CufftPlan plan;
  const CufftLibrary& f = *library.value();
  if (Status s = check(f.create(&plan.handle_), "create a plan"); !s.ok()) return s;
  plan.library_ = &f;
  const std::string what =
      "plan a transform of " + std::to_string(size.width) + "x" + std::to_string(size.height);
  if (Status s = check(f.set_auto_allocation(plan.handle_, 0), what); !s.ok()) return s;
  long long extents[] = {size.height, size.width};
  if (Status s = check(f.make_plan_many(plan.handle_, 2, extents, nullptr, 1, 0, nullptr, 1, 0,
                                        type, batch, &plan.work_bytes_),
                       what);
      !s.ok())
    return s;
  return plan;
}

Status CufftPlan::set_work_area(void* area) const {
  return check(library_->set_work_area(handle_, area), "work area");
}

template <class In, class Out>
Status CufftPlan::execute(cufftResult (*transform)(cufftHandle, In*, Out*), In* in, Out* out,
                          const char* what, Stream stream) const {
  if (Status s = check(library_->set_stream(handle_, native(stream)), "stream"); !s.ok()) return s;
  return check(transform(handle_, in, out), what);
}

Status CufftPlan::forward(const float* in, cufftComplex* out, Stream stream) const {
  return execute(library_->exec_r2c, const_cast<float*>(in), out, "forward transform", stream);
}

Status CufftPlan::forward(const double* in, cufftDoubleComplex* out, Stream stream) const {
  return execute(library_->exec_d2z, const_cast<double*>(in), out, "forward transform", stream);
}

Status CufftPlan::inverse(cufftComplex* in, float* out, Stream stream) const {
  return execute(library_->exec_c2r, in, out, "inverse transform", stream);
}

Status CufftPlan::inverse(cufftDoubleComplex* in, double* out, Stream stream) const {
  return execute(library_->exec_z2d, in, out, "inverse transform", stream);
}

}  // namespace xcorr::cuda
