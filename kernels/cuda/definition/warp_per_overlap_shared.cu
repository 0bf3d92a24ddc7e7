// SPDX-License-Identifier: LGPL-2.1-or-later
//
// warp-per-overlap with shared memory: the warps of a block compute overlaps one below the other in
// a column of the output. These have the same columns and nearly the same left rows, so the block
// stages a group of columns from top to bottom: rows of the right in one buffer, the left rows that
// they meet at any of the block's shifts in a ring of two, where each warp starts one row below the
// last. Lanes are columns, so there are no bank conflicts. With several rights per block, a staged
// left value is used more than once. It beats warp_per_overlap where overlaps are large.
//
// warp_per_overlap_shared.cCnNwW[rR][g][l]: C columns per group, N rows per buffer, W overlaps
// (warps) per block, R rights per block (1); g: one column group per block, the blocks of an
// overlap add their sums; l: each warp loads one continuous part of a buffer, rather than every
// W-th piece of 32.
#include <algorithm>

#include "cuda/common/launch.cuh"
#include "cuda/common/overlap.cuh"
#include "cuda/common/shared_memory.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/definition/partial_sums.cuh"
#include "stages/common/variant_name.hpp"

namespace xcorr::cuda {
namespace {

/// So that no kernel here needs more registers per thread than a block of so many warps allows.
constexpr int max_overlaps = 16;

struct Tuning {
  int columns, rows, overlaps, rights = 1;
  bool one_group = false, continuous = false;

  constexpr int elements() const { return (2 + rights) * rows * columns; }
};

/// The tuning parameters that a kernel gets at run time.
struct Staging {
  int rows;
  int groups_apart;  ///< blocks that share the column groups of an overlap
  bool continuous;
};

/// A buffer's elements in the order a thread loads them.
struct Share {
  int begin, end, step;
};

__device__ Share share_of(int elements, bool continuous) {
  const int thread = threadIdx.x, threads = blockDim.x;
  if (!continuous) return {thread, elements, threads};
  const int warp = thread / 32, part = ceil_div(elements, threads) * 32;
  return {warp * part + thread % 32, min((warp + 1) * part, elements), 32};
}

/// Copies `width` elements from column x on of those rows [first, first + rows) of a matrix that
/// are in `valid`, to rows of `stride` elements.
template <int columns, class T>
__device__ void stage(T* buffer, int stride, const DeviceMatrix<T>& source, int x, int first,
                      Span valid, int width, const Share& share) {
#pragma unroll 4
  for (int e = share.begin; e < share.end; e += share.step) {
    const int row = e / columns, column = e % columns;
    if (column < width && first + row >= valid.begin && first + row < valid.end)
      buffer[row * stride + column] = source.row(first + row)[x + column];
  }
}

/// Adds `rows` rows of products. In `right`, the rows of the block's rights alternate.
template <class E, int columns, int rights>
__device__ void add_rows(typename E::Out (&sums)[rights], const typename E::In* left,
                         const typename E::In* right, int rows, int width) {
  using Row = typename E::Row;
  for (int column = threadIdx.x % 32; column < width; column += 32) {
    const auto *a = left + column, *b = right + column;
#pragma unroll 4
    for (int row = 0; row < rows; ++row, a += columns, b += rights * columns) {
      const Row value = Row(*a);
#pragma unroll
      for (int r = 0; r < rights; ++r) sums[r] += value * Row(b[r * columns]);
    }
  }
}

/// One block's work for a left, some rights and the overlaps of shifts (dx, first_dy + warp).
template <class E, int columns, int rights>
struct BlockWork {
  using In = typename E::In;
  DeviceMatrix<In> left, right;  ///< `right`: the first
  std::int64_t right_stride;
  int right_count;  ///< where fewer than `rights` are left, the last is staged again
  int left_height;
  int dx, first_dy;
  Span rows;      ///< of the right, in the overlap of any warp
  Span own_rows;  ///< in this warp's overlap
  Staging staging;

  /// Adds the columns [x, x + width) of the right to this warp's sums.
  __device__ void add_group(typename E::Out (&sums)[rights], int x, int width) const {
    const int size = staging.rows, ring = 2 * size;
    In* const lefts = dynamic_shared<In>();
    In* const staged_rights = lefts + ring * columns;
    const Share share = share_of(size * columns, staging.continuous);
    const int warp = threadIdx.x / 32;

    const auto stage_left = [&](int slot, int first) {
      stage<columns>(lefts + slot * columns, columns, left, x + dx, first, {0, left_height}, width,
                     share);
    };
    const auto stage_right = [&](int r, int first) {
      const DeviceMatrix<In> matrix{right.data + min(r, right_count - 1) * right_stride,
                                    right.pitch};
      stage<columns>(staged_rights + r * columns, rights * columns, matrix, x, first, rows, width,
                     share);
    };

    int top = 0;  // slot of the left row that warp 0 needs for row y
    stage_left(top, rows.begin + first_dy);
    for (int y = rows.begin; y < rows.end; y += size, top = size - top) {
      stage_left(size - top, y + first_dy + size);
      for (int r = 0; r < rights; ++r) stage_right(r, y);
      __syncthreads();

      const int end = min(y + size, own_rows.end);
      int row = max(y, own_rows.begin), slot = top + row - y + warp;
      if (slot >= ring) slot -= ring;
      while (row < end) {  // twice where the ring ends in between
        const int count = min(end - row, ring - slot);
        add_rows<E, columns, rights>(sums, lefts + slot * columns,
                                     staged_rights + (row - y) * rights * columns, count, width);
        row += count;
        slot = 0;
      }
      __syncthreads();
    }
  }
};

template <class E, int columns, int rights>
__global__ void warp_per_overlap_shared(Problem p, const std::byte* left_data,
                                        const std::byte* right_data, int first_right,
                                        int right_count, Staging staging, typename E::Out* out) {
  const int warps = blockDim.x / 32, warp = threadIdx.x / 32;
  const int x = blockIdx.x / staging.groups_apart, first_group = blockIdx.x % staging.groups_apart;
  const int dx = p.shifts.x + x;
  const Span span = overlap(dx, p.left.width, p.right.width);
  const int begin = span.begin + first_group * columns;
  if (first_group > 0 && begin >= span.end) return;

  const int batches = ceil_div(right_count, rights);
  for (int batch = blockIdx.z; batch < p.lefts * batches; batch += gridDim.z) {
    const int r = batch % batches * rights;
    const std::int64_t o = std::int64_t{batch / batches} * right_count + r;
    const Pair pair = pair_of(p, o, first_right, right_count);
    for (int top = blockIdx.y * warps; top < p.shifts.height; top += gridDim.y * warps) {
      const int y = top + warp, last = min(top + warps, p.shifts.height) - 1;
      const int dy = p.shifts.y + y;
      const Span of_last = overlap(p.shifts.y + last, p.left.height, p.right.height);
      const Span of_first = overlap(p.shifts.y + top, p.left.height, p.right.height);
      const BlockWork<E, columns, rights> work{
          matrix<E>(left_data, pair.left, p.left_stride, p.left_pitch),
          matrix<E>(right_data, pair.right, p.right_stride, p.right_pitch),
          p.right_stride,
          min(rights, right_count - r),
          p.left.height,
          dx,
          p.shifts.y + top,
          {of_last.begin, of_first.end},
          y <= last ? overlap(dy, p.left.height, p.right.height) : Span{0, 0},
          staging};

      typename E::Out sums[rights] = {};
      for (int c = begin; c < span.end; c += staging.groups_apart * columns)
        work.add_group(sums, c, min(columns, span.end - c));

#pragma unroll
      for (int i = 0; i < rights; ++i) {
        const auto sum = warp_sum(sums[i]);
        if (threadIdx.x % 32 > 0 || y > last || r + i >= right_count) continue;
        auto& element = out[((o + i) * p.shifts.height + y) * p.shifts.width + x];
        if (staging.groups_apart > 1)
          add_part(&element, sum);
        else
          element = sum;
      }
    }
  }
}

template <Tuning t>
Status launch(const stage::Correlate::Problem& problem, const Device&,
              const stage::Correlate::Buffers& b, PlanState*) {
  static_assert(t.rows >= t.overlaps - 1, "the ring holds every row that a warp needs");
  static_assert(t.overlaps <= max_overlaps);
  static_assert(t.elements() * sizeof(double) <= 48 * 1024);
  const Problem& p = problem.correlate;
  const int widest = std::min(p.left.width, p.right.width);
  const Staging staging{t.rows, t.one_group ? ceil_div(widest, t.columns) : 1, t.continuous};
  if (staging.groups_apart > 1)
    if (Status s = clear_products(p, b); !s.ok()) return s;

  return with_element(p, [&]<class E>() {
    const dim3 grid(p.shifts.width * staging.groups_apart,
                    grid_extent(ceil_div(p.shifts.height, t.overlaps)),
                    grid_extent(std::int64_t{p.lefts} * ceil_div(b.right_count, t.rights)));
    return enqueue("warp_per_overlap_shared", warp_per_overlap_shared<E, t.columns, t.rights>, grid,
                   dim3(32 * t.overlaps), t.elements() * sizeof(typename E::In), b.stream, p,
                   static_cast<const std::byte*>(b.lefts), static_cast<const std::byte*>(b.rights),
                   b.first_right, b.right_count, staging,
                   static_cast<typename E::Out*>(b.products));
  });
}

bool supports(const stage::Correlate::Problem& p, const Device&) { return supports_definition(p); }

/// Where a left has more than one right.
bool supports_rights(const stage::Correlate::Problem& p, const Device&) {
  return supports_definition(p) && p.correlate.rights > 1;
}

template <Tuning t>
constexpr VariantName name = [] {
  VariantName made =
      variant_name("warp_per_overlap_shared.c", t.columns, "n", t.rows, "w", t.overlaps);
  made.add_if(t.rights > 1, "r", t.rights);
  made.add(t.one_group ? "g" : "");
  made.add(t.continuous ? "l" : "");
  return made;
}();

template <Tuning t>
constexpr Variant<stage::Correlate> variant() {
  return {{.name = name<t>.text, .backend = Backend::cuda, .features = definition_features},
          {.supports = t.rights > 1 ? supports_rights : supports, .launch = launch<t>}};
}

constexpr Variant<stage::Correlate> table[] = {
    variant<Tuning{.columns = 128, .rows = 16, .overlaps = 16}>(),
    variant<Tuning{
        .columns = 128, .rows = 16, .overlaps = 16, .one_group = true, .continuous = true}>(),
    variant<Tuning{.columns = 32, .rows = 32, .overlaps = 16}>(),
    variant<Tuning{.columns = 32, .rows = 16, .overlaps = 16, .one_group = true}>(),
    variant<Tuning{.columns = 32, .rows = 16, .overlaps = 16, .rights = 8}>(),
    variant<Tuning{.columns = 32, .rows = 16, .overlaps = 16, .rights = 8, .one_group = true}>(),
};

}  // namespace

Family warp_per_overlap_shared_family() { return Family(table); }

}  // namespace xcorr::cuda
