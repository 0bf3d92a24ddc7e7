// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Products by four warps: where the parts of the matrices are, and when they are done.
#include "cuda/tensor/wgmma.cuh"

#include "cuda/tensor/mma.cuh"
#include "support.hpp"

namespace xcorr::cuda {
namespace {

/// Twice that of a 64x32 matrix and the columns, as core matrices, of a 32x32 one. `spoil`: what is
/// written to the left's registers before the wait.
__global__ void multiply(const std::uint8_t* a, const std::uint8_t* b, std::uint32_t* out,
                         int spoil) {
  alignas(128) __shared__ std::uint8_t rows[64 * 32], columns[8 * 128];
  for (int i = threadIdx.x; i < 64 * 32; i += 128) rows[i] = a[i];
  for (int i = threadIdx.x; i < 8 * 128; i += 128) columns[i] = b[i];
  show_to_products();
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  std::uint32_t left[4], sums[16];
  load_matrices(left, rows + (16 * warp + lane % 16) * 32 + lane / 16 * 16);
  begin_products();
  multiply_async<false>(sums, left, RightMatrix(columns, 4 * 128, 128));
  multiply_async<true>(sums, left, RightMatrix(columns, 4 * 128, 128));
  commit_products();
  if (spoil) left[0] = 0;
  wait_products<0>();
  for (int i = 0; i < 16; ++i)
    out[(16 * warp + lane / 4 + i / 2 % 2 * 8) * 32 + 8 * (i / 4) + lane % 4 * 2 + i % 2] = sums[i];
}

/// Byte k of a column, in two rows of four core matrices.
std::size_t place(int k, int column) {
  return static_cast<std::size_t>((k / 16 * 4 + column / 8) * 128 + column % 8 * 16 + k % 16);
}

std::vector<std::uint32_t> product(const std::vector<std::uint8_t>& a,
                                   const std::vector<std::uint8_t>& b, int spoil = 0) {
  const Array<std::uint8_t> left(a), right(b);
  const Array<std::uint32_t> out(64 * 32);
  run(multiply, 1, 128, 0, left.data(), right.data(), out.data(), spoil);
  return out.values();
}

TEST(AsyncProduct, OfBytes) {
  std::vector<std::uint8_t> a(64 * 32), b(8 * 128);
  for (int i = 0; i < 64 * 32; ++i) a[i] = static_cast<std::uint8_t>(i % 251);
  for (int column = 0; column < 32; ++column) b[place(column, column)] = 1;
  b[place(3, 20)] = 100;  // so that it is not symmetric
  const auto sums = product(a, b);
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < 32; ++column)
      ASSERT_EQ(sums[row * 32 + column],
                2 * (a[row * 32 + column] + (column == 20 ? 100u * a[row * 32 + 3] : 0u)))
          << row << ", " << column;
}

TEST(AsyncProduct, IsDoneByTheWait) {
  const std::vector<std::uint8_t> ones_left(64 * 32, 1), ones_right(8 * 128, 1);
  EXPECT_EQ(product(ones_left, ones_right)[0], 64u);
  EXPECT_EQ(product(ones_left, ones_right, 1)[0], 32u);  // without bytes 0 to 15 of the first rows
}

/// A 64x64 matrix of which two of every four neighbours are stored, times 64x64, as core matrices.
__global__ void multiply_sparse(const std::uint8_t* stored, const std::uint32_t* places,
                                const std::uint8_t* b, std::uint32_t* out) {
  alignas(128) __shared__ std::uint8_t rows[64 * 32], columns[64 * 64];
  for (int i = threadIdx.x; i < 64 * 32; i += 128) rows[i] = stored[i];
  for (int i = threadIdx.x; i < 64 * 64; i += 128) columns[i] = b[i];
  show_to_products();
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  std::uint32_t left[4], sums[32] = {};
  load_matrices(left, rows + (16 * warp + lane % 16) * 32 + lane / 16 * 16);
  hold_registers(left);
  begin_products();
  multiply_sparse_async(sums, left, RightMatrix(columns, 8 * 128, 128), places[threadIdx.x]);
  commit_products();
  wait_products<0>();
  for (int i = 0; i < 32; ++i)
    out[(16 * warp + lane / 4 + i / 2 % 2 * 8) * 64 + 8 * (i / 4) + lane % 4 * 2 + i % 2] = sums[i];
}

TEST(AsyncProduct, OfSparseBytes) {
  // Each of the six pairs of places in turn, and by the manual the lane that tells of them.
  constexpr int pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  std::vector<std::uint8_t> stored(64 * 32), whole(64 * 64), b(64 * 64);
  std::vector<std::uint32_t> places(128);
  for (int row = 0; row < 64; ++row)
    for (int four = 0; four < 16; ++four) {
      const auto& pair = pairs[(row + 5 * four) % 6];
      for (int i = 0; i < 2; ++i)
        stored[row * 32 + 2 * four + i] = whole[row * 64 + 4 * four + pair[i]] =
            static_cast<std::uint8_t>(1 + (row * 37 + four * 11 + i * 101) % 251);
      const int thread = row / 16 * 32 + row % 8 * 4 + four / 8 * 2 + row / 8 % 2;
      places[thread] |= static_cast<std::uint32_t>(pair[0] | pair[1] << 2) << 4 * (four % 8);
    }
  const auto place = [](int k, int column) {
    return static_cast<std::size_t>((k / 16 * 8 + column / 8) * 128 + column % 8 * 16 + k % 16);
  };
  for (int column = 0; column < 64; ++column)
    for (int k = 0; k < 64; ++k)
      b[place(k, column)] = static_cast<std::uint8_t>((k * 7 + column * 13) % 256);
  const Array<std::uint8_t> left(stored), right(b);
  const Array<std::uint32_t> lanes(places), out(64 * 64);
  run(multiply_sparse, 1, 128, 0, left.data(), lanes.data(), right.data(), out.data());
  const auto found = out.values();
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < 64; ++column) {
      std::uint32_t sum = 0;
      for (int k = 0; k < 64; ++k) sum += whole[row * 64 + k] * std::uint32_t{b[place(k, column)]};
      ASSERT_EQ(found[row * 64 + column], sum) << row << ", " << column;
    }
}

}  // namespace
}  // namespace xcorr::cuda
