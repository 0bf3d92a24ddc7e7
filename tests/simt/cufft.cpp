// SPDX-License-Identifier: LGPL-2.1-or-later
//
// cuFFT on KissFFT, in double precision: plans of one to three dimensions and any batch and layout.
// Where the real one may overwrite something (its work area, the input of C2R) this one does.
#include <cufft.h>
#include <dlfcn.h>

#include <array>
#include <complex>
#include <cstring>
#include <kissfft.hh>
#include <map>
#include <mutex>
#include <numeric>
#include <string_view>
#include <type_traits>
#include <vector>

#include "simt/faults.hpp"
#include "simt/sanitizer.hpp"

namespace {

using Complex = std::complex<double>;
using Index = std::int64_t;

/// How the elements of one side lie; extents are those of that side.
struct Layout {
  std::array<Index, 3> extents{1, 1, 1}, embed{1, 1, 1};
  Index stride = 1, distance = 0;

  Index size() const { return extents[0] * extents[1] * extents[2]; }
  /// The place of element `i` in dense order.
  Index place(Index i) const {
    const Index x = i % extents[2], y = i / extents[2] % extents[1],
                z = i / extents[2] / extents[1];
    return ((z * embed[1] + y) * embed[2] + x) * stride;
  }
  Index end(Index batch) const { return (batch - 1) * distance + place(size() - 1) + 1; }
};

struct Plan {
  cufftType type{};
  std::array<Index, 3> extents{1, 1, 1};
  Index batch = 0;
  Layout in, out;
  std::size_t work_bytes = 0;
  void* work = nullptr;
  bool allocates = true;
};

std::mutex mutex;
std::map<cufftHandle, Plan>& plans() {
  static std::map<cufftHandle, Plan> all;
  return all;
}

Plan* find(cufftHandle handle) {
  const auto found = plans().find(handle);
  return found == plans().end() ? nullptr : &found->second;
}

const kissfft<double>& transformer(Index length, bool inverse) {
  static std::map<std::pair<Index, bool>, kissfft<double>> all;
  const std::pair key(length, inverse);
  auto found = all.find(key);
  if (found == all.end())
    found = all.emplace(key, kissfft<double>(static_cast<std::size_t>(length), inverse)).first;
  return found->second;
}

/// Transforms dense data along one axis.
void transform_axis(std::vector<Complex>& data, const std::array<Index, 3>& extents, int axis,
                    bool inverse) {
  const Index length = extents[axis];
  if (length == 1) return;
  Index step = 1;
  for (int a = axis + 1; a < 3; ++a) step *= extents[a];
  const auto& fft = transformer(length, inverse);
  std::vector<Complex> line(length), result(length);
  for (Index i = 0; i < std::ssize(data); ++i) {
    if (i / step % length) continue;  // not the beginning of a line
    for (Index k = 0; k < length; ++k) line[k] = data[i + k * step];
    fft.transform(line.data(), result.data());
    for (Index k = 0; k < length; ++k) data[i + k * step] = result[k];
  }
}

/// The other half of each row of a real signal's spectrum.
std::vector<Complex> whole_rows(const std::vector<Complex>& half, Index columns) {
  const Index kept = columns / 2 + 1, rows = std::ssize(half) / kept;
  std::vector<Complex> whole(rows * columns);
  for (Index y = 0; y < rows; ++y)
    for (Index x = 0; x < columns; ++x)
      whole[y * columns + x] =
          x < kept ? half[y * kept + x] : std::conj(half[y * kept + columns - x]);
  return whole;
}

std::vector<Complex> half_rows(const std::vector<Complex>& whole, Index columns) {
  const Index kept = columns / 2 + 1, rows = std::ssize(whole) / columns;
  std::vector<Complex> half(rows * kept);
  for (Index y = 0; y < rows; ++y)
    for (Index x = 0; x < kept; ++x) half[y * kept + x] = whole[y * columns + x];
  return half;
}

template <class T>
Complex load(const T& v) {
  if constexpr (std::is_floating_point_v<T>)
    return v;
  else
    return {v.x, v.y};
}

template <class T>
void store(T& to, Complex v) {
  if constexpr (std::is_floating_point_v<T>)
    to = static_cast<T>(v.real());
  else
    to = {static_cast<decltype(to.x)>(v.real()), static_cast<decltype(to.y)>(v.imag())};
}

template <class In, class Out>
void transform_one(const Plan& plan, const In* in, Out* out, bool inverse) {
  const Index columns = plan.extents[2];
  std::vector<Complex> data(plan.in.size());
  for (Index i = 0; i < std::ssize(data); ++i) data[i] = load(in[plan.in.place(i)]);
  if constexpr (std::is_floating_point_v<In>) {
    transform_axis(data, plan.extents, 2, false);
    data = half_rows(data, columns);
  }
  for (int axis = 0; axis < 2; ++axis)
    transform_axis(data, std::is_floating_point_v<In> ? plan.out.extents : plan.in.extents, axis,
                   inverse);
  if constexpr (std::is_floating_point_v<Out>) data = whole_rows(data, columns);
  if constexpr (!std::is_floating_point_v<In>) transform_axis(data, plan.extents, 2, inverse);
  for (Index i = 0; i < std::ssize(data); ++i) store(out[plan.out.place(i)], data[i]);
}

template <class In, class Out>
cufftResult execute(cufftHandle handle, cufftType type, In* in, Out* out, bool inverse) {
  if (simt::call()) return CUFFT_INTERNAL_ERROR;
  const std::lock_guard lock(mutex);
  Plan* plan = find(handle);
  if (!plan || plan->type != type) return CUFFT_INVALID_PLAN;
  if (!plan->allocates && !plan->work) return CUFFT_INVALID_PLAN;
  const auto in_bytes = static_cast<std::size_t>(plan->in.end(plan->batch)) * sizeof(In);
  simt::check_range(in, in_bytes, "cuFFT's input");
  simt::check_range(out, static_cast<std::size_t>(plan->out.end(plan->batch)) * sizeof(Out),
                    "cuFFT's output");
  if (!plan->allocates) {
    simt::check_range(plan->work, plan->work_bytes, "cuFFT's work area");
    std::memset(plan->work, 0xcd, plan->work_bytes);
  }
  for (Index b = 0; b < plan->batch; ++b)
    transform_one(*plan, in + b * plan->in.distance, out + b * plan->out.distance, inverse);
  const bool in_place = static_cast<void*>(in) == static_cast<void*>(out);
  if (std::is_floating_point_v<Out> && !in_place) std::memset(in, 0xcd, in_bytes);
  return CUFFT_SUCCESS;
}

}  // namespace

cufftResult cufftCreate(cufftHandle* handle) {
  if (simt::call()) return CUFFT_INTERNAL_ERROR;
  const std::lock_guard lock(mutex);
  static int last = 0;
  *handle = ++last;
  plans()[*handle] = {};
  return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle handle) {
  const std::lock_guard lock(mutex);
  return plans().erase(handle) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

cufftResult cufftSetAutoAllocation(cufftHandle handle, int allocate) {
  if (simt::call()) return CUFFT_INTERNAL_ERROR;
  const std::lock_guard lock(mutex);
  Plan* plan = find(handle);
  if (!plan) return CUFFT_INVALID_PLAN;
  plan->allocates = allocate;
  return CUFFT_SUCCESS;
}

cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long* extents,
                                long long* in_embed, long long in_stride, long long in_distance,
                                long long* out_embed, long long out_stride, long long out_distance,
                                cufftType type, long long batch, std::size_t* work_bytes) {
  if (simt::call()) return CUFFT_INTERNAL_ERROR;
  const std::lock_guard lock(mutex);
  Plan* plan = find(handle);
  if (!plan || rank < 1 || rank > 3) return CUFFT_INVALID_PLAN;
  if (batch < 1) return CUFFT_INVALID_VALUE;
  const int first = 3 - rank;
  for (int i = 0; i < rank; ++i) {
    if (extents[i] < 1) return CUFFT_INVALID_SIZE;
    plan->extents[first + i] = extents[i];
  }
  const auto lay_out = [&](Layout& layout, bool half, const long long* embed, Index stride,
                           Index distance) {
    layout.extents = plan->extents;
    if (half) layout.extents[2] = plan->extents[2] / 2 + 1;
    layout.embed = layout.extents;
    layout.stride = 1;
    layout.distance = layout.size();
    if (!embed) return;
    for (int i = 0; i < rank; ++i) layout.embed[first + i] = embed[i];
    layout.stride = stride;
    layout.distance = distance;
  };
  lay_out(plan->in, type == CUFFT_C2R || type == CUFFT_Z2D, in_embed, in_stride, in_distance);
  lay_out(plan->out, type == CUFFT_R2C || type == CUFFT_D2Z, out_embed, out_stride, out_distance);
  plan->type = type;
  plan->batch = batch;
  const bool wide = type == CUFFT_D2Z || type == CUFFT_Z2D || type == CUFFT_Z2Z;
  plan->work_bytes = static_cast<std::size_t>(std::max(plan->in.size(), plan->out.size()) * batch) *
                     (wide ? sizeof(double) : sizeof(float));
  *work_bytes = plan->work_bytes;
  return CUFFT_SUCCESS;
}

cufftResult cufftSetWorkArea(cufftHandle handle, void* area) {
  if (simt::call()) return CUFFT_INTERNAL_ERROR;
  const std::lock_guard lock(mutex);
  Plan* plan = find(handle);
  if (!plan) return CUFFT_INVALID_PLAN;
  plan->work = area;
  return CUFFT_SUCCESS;
}

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t) {
  if (simt::call()) return CUFFT_INTERNAL_ERROR;
  const std::lock_guard lock(mutex);
  return find(handle) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

cufftResult cufftExecR2C(cufftHandle plan, cufftReal* in, cufftComplex* out) {
  return execute(plan, CUFFT_R2C, in, out, false);
}
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex* in, cufftReal* out) {
  return execute(plan, CUFFT_C2R, in, out, true);
}
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal* in, cufftDoubleComplex* out) {
  return execute(plan, CUFFT_D2Z, in, out, false);
}
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex* in, cufftDoubleReal* out) {
  return execute(plan, CUFFT_Z2D, in, out, true);
}
cufftResult cufftExecC2C(cufftHandle plan, cufftComplex* in, cufftComplex* out, int direction) {
  return execute(plan, CUFFT_C2C, in, out, direction == CUFFT_INVERSE);
}
cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex* in, cufftDoubleComplex* out,
                         int direction) {
  return execute(plan, CUFFT_Z2Z, in, out, direction == CUFFT_INVERSE);
}
