// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The three kernels of fft_shared. A transform of A * B points is done by max(A, B) threads in two
// steps: thread b takes points b, B + b, 2 B + b, ... through an A-point transform in registers and
// multiplies the results by roots of unity; they are exchanged through shared memory; thread k
// computes a B-point transform, whose results are points k, A + k, 2 A + k, ... Lengths are those
// of with_factors().
#pragma once

#include "cuda/common/shared_memory.cuh"
#include "cuda/fft/fft_kernels.cuh"
#include "cuda/fft/fft_registers.cuh"

namespace xcorr::cuda {

/// How kernels divide transforms of A * B points among threads.
template <class T, int A, int B>
struct FftShape {
  static constexpr int length = A * B;
  static constexpr int threads = A > B ? A : B;  ///< of a transform

  // Rows: a thread's points lie along the row. Lines of B + 1 avoid bank conflicts.
  static constexpr int row_block_size = sizeof(T) == 8 ? 128 : 256;
  static constexpr int row_blocks =
      length > 256 ? 2 : 4;  ///< per multiprocessor, at least, as registers allow
  static constexpr int rows = row_block_size / threads;  ///< per block
  static constexpr int row_line = B + 1;
  static constexpr std::size_t row_bytes = sizeof(Complex<T>) * rows * A * row_line;

  // Columns: neighbouring threads have neighbouring columns, 128 bytes of them where that leaves
  // room for several blocks; where it is less, lines are padded by as much.
  static constexpr int column_run = length > 256 ? 32 : 128;
  static constexpr int columns = column_run / sizeof(Complex<T>);
  static constexpr int column_block_size = columns * threads;
  static constexpr int column_line = B * columns + (column_run < 128 ? columns : 0);
  /// Per multiprocessor, at least, as registers allow; 0: no limit.
  static constexpr int column_blocks = length > 256
                                           ? 0
                                           : (sizeof(T) == 8 ? 256 : 768) / column_block_size;
  static constexpr int exchange_size = A * column_line;
  static constexpr std::size_t column_bytes =
      sizeof(Complex<T>) * (exchange_size + B * column_block_size);
};

/// Real matrices that are transformed in pairs: a complex unit is the first less i times the
/// second. Those of each left, `group` in number, are paired among themselves.
struct Pairs {
  Side side;
  int group;
  __host__ __device__ int units() const { return (group + 1) / 2; }
};

/// Powers of two near the norms of matrices, a block each: scaled to one size, the two of a pair
/// cannot cost each other precision. 0 for a matrix of zeros, NaN for one that is not finite.
template <class T>
__global__ void __launch_bounds__(1024) weigh(Side in, T* weights) {
  __shared__ double partial[32];
  const std::byte* matrix = in.data + blockIdx.x * in.stride;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  double squares = 0;
  for (int y = warp; y < in.size.height; y += 32) {
    const T* row = reinterpret_cast<const T*>(matrix + y * in.pitch);
    for (int x = lane; x < in.size.width; x += 32) {
      const double value = row[x];
      squares += value * value;
    }
  }
  squares = warp_sum(squares);
  if (lane == 0) partial[warp] = squares;
  __syncthreads();
  squares = warp_sum(partial[lane]);
  if (threadIdx.x) return;
  const double exponent = fmin(fmax(floor(log2(squares) / 2), -126.0), 127.0);
  const double weight = squares > 0 ? exp2(exponent) : squares;
  weights[blockIdx.x] = static_cast<T>(weight + 0 * squares);  // infinite squares make it NaN
}

/// Spectra of the rows of units: [unit][row][A * B]. Sums the squares if requested.
template <class T, int A, int B>
__global__ void __launch_bounds__(FftShape<T, A, B>::row_block_size, FftShape<T, A, B>::row_blocks)
    forward_rows(Pairs in, const T* weights, const Complex<T>* roots, Complex<T>* out,
                 float* energy) {
  using Shape = FftShape<T, A, B>;
  const int k = threadIdx.x % Shape::threads, slot = threadIdx.x / Shape::threads;
  const int row = static_cast<int>(blockIdx.x) * Shape::rows + slot;
  const int unit = row / in.side.size.height, y = row % in.side.size.height;
  const int member = unit % in.units() * 2;
  const std::int64_t first = std::int64_t{unit / in.units()} * in.group + member;
  const bool wanted = first < in.side.count, paired = member + 1 < in.group;
  Complex<T>* exchange = dynamic_shared<Complex<T>>() + slot * A * Shape::row_line;

  float squares = 0;
  if (k < B && wanted) {
    const auto* a =
        reinterpret_cast<const T*>(in.side.data + first * in.side.stride + y * in.side.pitch);
    const auto* b = reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(a) +
                                               (paired ? in.side.stride : 0));
    const T weight_a = weights ? weights[first] : 1, weight_b = paired ? weights[first + 1] : 0;
    const T scale_a = weight_a > 0 ? 1 / weight_a : 0, scale_b = weight_b > 0 ? 1 / weight_b : 0;
    Complex<T> x[A];
#pragma unroll
    for (int i = 0; i < A; ++i) {
      const int column = B * i + k;
      const bool inside = column < in.side.size.width;
      x[i].re = inside && scale_a > 0 ? a[column] * scale_a : 0;
      x[i].im = inside && scale_b > 0 ? b[column] * -scale_b : 0;
      squares += static_cast<float>(x[i].re * x[i].re);
    }
    dft<Direction::forward>(x);
#pragma unroll
    for (int i = 0; i < A; ++i) exchange[i * Shape::row_line + k] = x[i] * conj(roots[i * B + k]);
  }
  if (energy) {
    squares = warp_sum(squares);
    if (threadIdx.x % 32 == 0) atomicAdd(energy, squares);
  }
  __syncthreads();
  if (k < A && wanted) {
    Complex<T> x[B];
#pragma unroll
    for (int i = 0; i < B; ++i) x[i] = exchange[k * Shape::row_line + i];
    dft<Direction::forward>(x);
    Complex<T>* to = out + std::int64_t{row} * Shape::length + k;
#pragma unroll
    for (int i = 0; i < B; ++i) to[A * i] = x[i];
  }
}

/// The units of a launch: those of `lefts` lefts from first_left on, each with `units` units of
/// rights from first_unit on.
struct UnitTile {
  int first_left, lefts, first_unit, units;
};

/// What columns() works on.
struct ColumnsJob {
  int width;  ///< of the transform
  int left_height, right_height;
  int unit_step;     ///< from one left's first unit of rights to the next one's
  int origin, rows;  ///< where shift 0 lies among the requested ones, modulo the length; how many
  int chunk;         ///< units that a block processes one after the other
};

/// Reduces a value below twice `LENGTH` modulo `LENGTH`.
template <int LENGTH>
__device__ int wrapped(int i) {
  return i < LENGTH ? i : i - LENGTH;
}

/// Loads a column of A * B points from `height` rows that lie `width` apart and does the first step
/// of its transform.
template <class T, int A, int B>
__device__ void load_column(const Complex<T>* from, int width, int height, int k,
                            const Complex<T>* roots, Complex<T>* exchange) {
  using Shape = FftShape<T, A, B>;
  Complex<T> x[A];
#pragma unroll
  for (int i = 0; i < A; ++i) {
    const int y = B * i + k;
    x[i] = y < height ? from[std::int64_t{y} * width] : Complex<T>{0, 0};
  }
  dft<Direction::forward>(x);
#pragma unroll
  for (int i = 0; i < A; ++i)
    exchange[i * Shape::column_line + k * Shape::columns] = x[i] * conj(roots[i * B + k]);
}

/// For a few columns of the lefts' and the rights' spectra of rows: spectra, products, and the
/// inverse, whose requested rows go to out[unit of the tile][row][width]. The left's spectrum stays
/// in registers.
template <class T, int A, int B>
__global__ void __launch_bounds__(FftShape<T, A, B>::column_block_size,
                                  FftShape<T, A, B>::column_blocks)
    columns(ColumnsJob job, UnitTile tile, const Complex<T>* lefts, const Complex<T>* rights,
            T scale, const Complex<T>* roots, Complex<T>* out, const float* energy,
            float* product_error) {
  using Shape = FftShape<T, A, B>;
  const int column = blockIdx.x * Shape::columns + threadIdx.x % Shape::columns;
  const int k = threadIdx.x / Shape::columns;
  Complex<T>* exchange = dynamic_shared<Complex<T>>() + threadIdx.x % Shape::columns;
  if (energy && threadIdx.x + blockIdx.x + blockIdx.y + blockIdx.z == 0)
    *product_error = product_error_of(*energy);

  const std::int64_t left = tile.first_left + blockIdx.z;
  if (k < B)
    load_column<T, A, B>(lefts + left * job.left_height * job.width + column, job.width,
                         job.left_height, k, roots, exchange);
  __syncthreads();
  Complex<T>* line = exchange + k * Shape::column_line;
  Complex<T>* kept = dynamic_shared<Complex<T>>() + Shape::exchange_size + threadIdx.x;
  if (k < A) {
    Complex<T> x[B];
#pragma unroll
    for (int i = 0; i < B; ++i) x[i] = line[i * Shape::columns];
    dft<Direction::forward>(x);
#pragma unroll
    for (int i = 0; i < B; ++i) kept[i * Shape::column_block_size] = x[i] * scale;
  }
  __syncthreads();

  const int end = min(tile.units, static_cast<int>(blockIdx.y + 1) * job.chunk);
#pragma unroll 1
  for (int unit = blockIdx.y * job.chunk; unit < end; ++unit) {
    const std::int64_t right = left * job.unit_step + tile.first_unit + unit;
    if (k < B)
      load_column<T, A, B>(rights + right * job.right_height * job.width + column, job.width,
                           job.right_height, k, roots, exchange);
    __syncthreads();
    if (k < A) {
      Complex<T> x[B];
#pragma unroll
      for (int i = 0; i < B; ++i) x[i] = line[i * Shape::columns];
      dft<Direction::forward>(x);
#pragma unroll
      for (int i = 0; i < B; ++i) x[i] = kept[i * Shape::column_block_size] * conj(x[i]);
      dft<Direction::inverse>(x);
#pragma unroll
      for (int i = 0; i < B; ++i) line[i * Shape::columns] = x[i] * roots[k * B + i];
    }
    __syncthreads();
    if (k < B) {
      Complex<T> x[A];
#pragma unroll
      for (int i = 0; i < A; ++i) x[i] = exchange[i * Shape::column_line + k * Shape::columns];
      dft<Direction::inverse>(x);
      Complex<T>* to =
          out + (std::int64_t{blockIdx.z} * tile.units + unit) * job.rows * job.width + column;
#pragma unroll
      for (int i = 0; i < A; ++i) {
        const int y = wrapped<Shape::length>(k + B * i + job.origin);
        if (y < job.rows) to[std::int64_t{y} * job.width] = x[i];
      }
    }
    // The next unit's load_column() writes what this thread has read: no barrier.
  }
}

/// Where inverse_rows() writes: outputs of `rights` rights, from first_right on, for each left.
template <class T>
struct Outputs {
  T* data;
  Size shifts;
  int origin;  ///< as in ColumnsJob, along rows
  int rights, first_right;
  const T* weights;  ///< null: 1
  int weight_step;   ///< from one left's rights to the next one's
};

/// The rows of products of columns(), inverse: their real part is the first of a pair, the
/// imaginary part the second.
template <class T, int A, int B>
__global__ void __launch_bounds__(FftShape<T, A, B>::row_block_size, FftShape<T, A, B>::row_blocks)
    inverse_rows(const Complex<T>* in, UnitTile tile, const Complex<T>* roots, Outputs<T> out) {
  using Shape = FftShape<T, A, B>;
  const int k = threadIdx.x % Shape::threads, slot = threadIdx.x / Shape::threads;
  const int row = static_cast<int>(blockIdx.x) * Shape::rows + slot;
  const int unit = row / out.shifts.height, y = row % out.shifts.height;
  const bool wanted = unit < tile.lefts * tile.units;
  Complex<T>* exchange = dynamic_shared<Complex<T>>() + slot * A * Shape::row_line;
  if (k < B && wanted) {
    Complex<T> x[A];
    const Complex<T>* from = in + std::int64_t{row} * Shape::length + k;
#pragma unroll
    for (int i = 0; i < A; ++i) x[i] = from[B * i];
    dft<Direction::inverse>(x);
#pragma unroll
    for (int i = 0; i < A; ++i) exchange[i * Shape::row_line + k] = x[i] * roots[i * B + k];
  }
  __syncthreads();
  if (k >= A || !wanted) return;
  Complex<T> x[B];
#pragma unroll
  for (int i = 0; i < B; ++i) x[i] = exchange[k * Shape::row_line + i];
  dft<Direction::inverse>(x);

  const std::int64_t left = tile.first_left + unit / tile.units;
  const int first = (tile.first_unit + unit % tile.units) * 2;  // of the pair
  const int place = first - out.first_right;                    // of its output among the left's
  const bool has_first = place >= 0, has_second = place + 1 < out.rights;
  const T* weights = out.weights ? out.weights + left * out.weight_step + first : nullptr;
  const T weight_first = weights && has_first ? weights[0] : 1;
  const T weight_second = weights && has_second ? weights[1] : 1;
  const std::int64_t area = std::int64_t{out.shifts.width} * out.shifts.height;
  T* to = out.data + (left * out.rights + place) * area + std::int64_t{y} * out.shifts.width;
#pragma unroll
  for (int i = 0; i < B; ++i) {
    const int column = wrapped<Shape::length>(k + A * i + out.origin);
    if (has_first && column < out.shifts.width) to[column] = x[i].re * weight_first;
    if (has_second && column < out.shifts.width) to[area + column] = x[i].im * weight_second;
  }
}

}  // namespace xcorr::cuda
