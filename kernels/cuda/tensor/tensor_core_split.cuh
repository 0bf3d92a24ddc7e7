// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The two sides of a problem as tensor_core_split multiplies them: each value split into two TF32,
// in rows of whole blocks of eight columns. The lefts are split at each launch, in the workspace;
// the rights when they are set.
#pragma once

#include <memory>
#include <utility>

#include "cuda/common/launch.cuh"
#include "device/runtime.hpp"

namespace xcorr::cuda {

/// Columns of k of a matrix instruction, which is also its number of shifts in x.
constexpr int eight = 8;

/// One side, split: for each matrix the high parts of all rows and then the low ones, rows of
/// `columns` floats of which the first `margin` and those after the values are zero.
struct Split {
  Size size;
  int margin, columns;
  std::int64_t count;
  float* values;
  int* has_low;  ///< for each row of each matrix, whether a low part is not zero

  __host__ __device__ constexpr std::int64_t lines() const { return count * size.height; }
  __host__ __device__ constexpr std::int64_t plane() const {
    return std::int64_t{size.height} * columns;
  }
  __host__ __device__ const float* matrix(std::int64_t index) const {
    return values + 2 * plane() * index;
  }
  constexpr std::size_t bytes() const {
    return sizeof(float) * static_cast<std::size_t>(2 * plane() * count + lines());
  }
  Split in(void* memory) const {
    Split s = *this;
    s.values = static_cast<float*>(memory);
    s.has_low = reinterpret_cast<int*>(s.values + 2 * plane() * count);
    return s;
  }
};

constexpr Split left_side(const Problem& p) {
  return {p.left, 0, ceil_div(p.left.width, eight) * eight, p.lefts, nullptr, nullptr};
}

/// Blocks of eight columns of k that a right's row spans when shifted by 0 to 7.
__host__ __device__ constexpr int blocks_of_k(const Problem& p) {
  return ceil_div(p.right.width + eight - 1, eight);
}

constexpr Split right_side(const Problem& p) {
  return {p.right, eight, (blocks_of_k(p) + 1) * eight, p.total_rights(), nullptr, nullptr};
}

/// The nearest TF32, in the bits of a float32.
__device__ inline float to_tf32(float value) {
  return __uint_as_float((__float_as_uint(value) + 0x1000u) & 0xffffe000u);
}

/// One block per row.
__global__ void split_rows(Split to, const std::byte* from, std::int64_t stride,
                           std::int64_t pitch) {
  const std::int64_t matrix = blockIdx.x / to.size.height;
  const int row = blockIdx.x % to.size.height;
  const auto* source = reinterpret_cast<const float*>(from + matrix * stride + row * pitch);
  float* const high = to.values + 2 * to.plane() * matrix + std::int64_t{row} * to.columns;
  bool has_low = false;
  for (int i = threadIdx.x; i < to.columns; i += blockDim.x) {
    const int column = i - to.margin;
    const float value = unsigned(column) < unsigned(to.size.width) ? source[column] : 0;
    const float most = to_tf32(value), rest = to_tf32(value - most);
    high[i] = most;
    high[to.plane() + i] = rest;
    has_low |= rest != 0;
  }
  has_low = __syncthreads_or(has_low);
  if (threadIdx.x == 0) to.has_low[blockIdx.x] = has_low;
}

inline Status split(const Split& to, const void* from, std::int64_t stride, std::int64_t pitch,
                    Stream stream) {
  return enqueue("split_rows", split_rows, dim3(static_cast<unsigned>(to.lines())), dim3(128), 0,
                 stream, to, static_cast<const std::byte*>(from), stride, pitch);
}

/// The rights, split.
class SplitRights final : public PlanState {
 public:
  static Result<std::unique_ptr<PlanState>> make(const stage::Correlate::Problem& problem,
                                                 const Device&) {
    auto block = Block::make(Backend::cuda, right_side(problem.correlate).bytes());
    if (!block.ok()) return block.status();
    return std::unique_ptr<PlanState>(new SplitRights(problem.correlate, std::move(block.value())));
  }

  Status set_rights(const void* rights, Stream stream) override {
    return split(side(), rights, problem_.right_stride, problem_.right_pitch, stream);
  }
  Split side() const { return right_side(problem_).in(block_.data()); }

 private:
  SplitRights(const Problem& p, Block block) : problem_(p), block_(std::move(block)) {}

  Problem problem_;
  Block block_;
};

}  // namespace xcorr::cuda
