// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Index arithmetic of overlaps and of pairs of matrices, shared by the families that compute the
// definition directly.
#pragma once

#include "cuda/common/element.cuh"
#include "stages/correlate/correlate.hpp"

namespace xcorr::cuda {

struct Span {
  int begin, end;  ///< empty when end <= begin
};

/// Elements of the right, along one axis, that meet the left at shift d.
__host__ __device__ constexpr Span overlap(int d, int left, int right) {
  return {d < 0 ? -d : 0, left - d < right ? left - d : right};
}

struct Pair {
  std::int64_t left, right;  ///< numbers of the matrices
};

/// The matrices of output `o` of a launch of rights [first_right, first_right + right_count).
__host__ __device__ constexpr Pair pair_of(const Problem& p, std::int64_t o, int first_right,
                                           int right_count) {
  const std::int64_t l = o / right_count, r = first_right + o % right_count;
  return {l, p.right_of(l * p.rights + r)};
}

template <class T>
struct DeviceMatrix {
  const std::byte* data;
  std::int64_t pitch;
  __device__ const T* row(int y) const { return reinterpret_cast<const T*>(data + y * pitch); }
};

/// Matrix number `index` of one side.
template <class E>
__device__ DeviceMatrix<typename E::In> matrix(const std::byte* all, std::int64_t index,
                                               std::int64_t stride, std::int64_t pitch) {
  return {all + index * stride, pitch};
}

/// Whether every 16 bytes of a row, counted from its first, can be copied at once.
inline bool is_aligned(const Problem& p, const stage::Correlate::Buffers& b) {
  const auto whole = [](std::int64_t bytes) { return bytes % 16 == 0; };
  return whole(p.left_pitch) && whole(p.right_pitch) && whole(p.left_stride) &&
         whole(p.right_stride) && whole(reinterpret_cast<std::intptr_t>(b.lefts)) &&
         whole(reinterpret_cast<std::intptr_t>(b.rights));
}

/// The features of every definition-based family that keeps sums in one type, see
/// with_narrow_element.
inline constexpr Features narrow_features{Feature::u8,
                                          Feature::i32,
                                          Feature::f32,
                                          Feature::f64,
                                          Feature::several_images,
                                          Feature::partial_overlap};
inline constexpr Features definition_features = narrow_features | Features(Feature::wide_sums);

/// Which of these problems it can do.
inline bool supports_definition(const stage::Correlate::Problem& p) {
  return p.correlate.right.width <= widest_u8_row;
}

}  // namespace xcorr::cuda
