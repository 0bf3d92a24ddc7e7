// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Matrix instructions: where each lane's part of a matrix is, and what tensor cores do with bits
// that they ignore.
#include "cuda/tensor/mma.cuh"

#include "cuda/tensor/mma_halves.cuh"
#include "support.hpp"

namespace xcorr::cuda {
namespace {

// ---- bytes ----------------------------------------------------------------------------------

/// The product of a 16x32 matrix and the columns, as rows, of a 32x8 one.
template <bool with_sign>
__global__ void multiply_bytes(const std::uint8_t* a, const std::uint8_t* b, std::uint32_t* out) {
  alignas(16) __shared__ std::uint8_t rows[16 * 32];
  const int lane = threadIdx.x;
  for (int i = lane; i < 16 * 32; i += 32) rows[i] = a[i];
  __syncwarp();
  std::uint32_t left[4], sums[4] = {};
  load_matrices(left, rows + lane % 16 * 32 + lane / 16 * 16);
  const auto* right = reinterpret_cast<const std::uint32_t*>(b) + lane / 4 * 8 + lane % 4;
  if constexpr (with_sign)
    multiply_add_signed(sums, left, right[0], right[4]);
  else
    multiply_add(sums, left, right[0], right[4]);
  for (int i = 0; i < 4; ++i) out[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sums[i];
}

TEST(MatrixProduct, OfBytes) {
  std::vector<std::uint8_t> a(16 * 32), b(8 * 32);
  for (int i = 0; i < 16 * 32; ++i) a[i] = static_cast<std::uint8_t>(i % 251);
  for (int column = 0; column < 8; ++column) b[column * 32 + 4 * column + 1] = 2;
  const Array<std::uint8_t> left(a), right(b);
  const Array<std::uint32_t> out(16 * 8);
  run(multiply_bytes<false>, 1, 32, 0, left.data(), right.data(), out.data());
  const auto sums = out.values();
  EXPECT_EQ(sums[0], 2u);                             // 2 a[0][1]
  EXPECT_EQ(sums[7], 2u * 29);                        // 2 a[0][29]
  EXPECT_EQ(sums[9 * 8 + 3], 2u * 50);                // 2 a[9][13], 301 modulo 251
  EXPECT_EQ(sums[15 * 8 + 6], 2u * (505 - 2 * 251));  // 2 a[15][25]
}

TEST(MatrixProduct, OfBytesWithASign) {
  std::vector<std::uint8_t> a(16 * 32), b(8 * 32);
  a[0] = 0x80;
  a[9 * 32 + 17] = 3;
  b[0] = 0xff;
  b[3 * 32 + 17] = 0x81;
  const Array<std::uint8_t> left(a), right(b);
  const Array<std::uint32_t> out(16 * 8);
  run(multiply_bytes<true>, 1, 32, 0, left.data(), right.data(), out.data());
  const auto sums = out.values();
  EXPECT_EQ(sums[0], 128u);  // -128 times -1
  EXPECT_EQ(static_cast<std::int32_t>(sums[9 * 8 + 3]), -3 * 127);
  EXPECT_EQ(sums[1], 0u);
}

// ---- TF32 -----------------------------------------------------------------------------------

/// c += a b, row by row, of 16x8 and 8x8.
__global__ void multiply_tf32(const float* a, const float* b, float* c, int wanted) {
  const int lane = threadIdx.x, row = lane / 4, k = lane % 4;
  const auto bits = [](float value) { return __float_as_uint(value); };
  const std::uint32_t left[4] = {bits(a[row * 8 + k]), bits(a[(row + 8) * 8 + k]),
                                 bits(a[row * 8 + k + 4]), bits(a[(row + 8) * 8 + k + 4])};
  const std::uint32_t right[2] = {bits(b[k * 8 + row]), bits(b[(k + 4) * 8 + row])};
  float sums[4];
  const auto at = [&](int i) -> float& { return c[(row + i / 2 * 8) * 8 + 2 * k + i % 2]; };
  for (int i = 0; i < 4; ++i) sums[i] = at(i);
  multiply_add_tf32(sums, left, right, wanted == 32 || lane < wanted);
  for (int i = 0; i < 4; ++i) at(i) = sums[i];
}

std::vector<float> product(const std::vector<float>& a, const std::vector<float>& b, float c,
                           int wanted = 32) {
  const Array<float> left(a), right(b), sums(16 * 8, c);
  run(multiply_tf32, 1, 32, 0, left.data(), right.data(), sums.data(), wanted);
  return sums.values();
}

TEST(MatrixProduct, OfTf32) {
  std::vector<float> a(16 * 8), b(8 * 8);
  for (int i = 0; i < 16 * 8; ++i) a[i] = static_cast<float>(i);
  for (int k = 0; k < 8; ++k) b[k * 8 + k] = 1;  // and one more, so that it is not symmetric
  b[2 * 8 + 5] = 10;
  const auto sums = product(a, b, 0.5f);
  EXPECT_EQ(sums[0], 0.5f);
  EXPECT_EQ(sums[3], 3.5f);
  EXPECT_EQ(sums[5], 25.5f);  // a[0][5] + 10 a[0][2]
  EXPECT_EQ(sums[9 * 8 + 6], 78.5f);
  EXPECT_EQ(sums[15 * 8 + 5], 125 + 10 * 122 + 0.5f);
}

TEST(MatrixProduct, OfTf32IgnoresWhatIsNotTf32) {
  const std::vector<float> ones(8 * 8, 1);
  // 1 + 2^-10 is a TF32, 1 + 2^-11 is not.
  EXPECT_EQ(product(std::vector<float>(16 * 8, 1 + 0x1p-10f), ones, 0)[0], 8 + 0x1p-7f);
  EXPECT_EQ(product(std::vector<float>(16 * 8, 1 + 0x1p-11f), ones, 0)[0], 8);
  EXPECT_EQ(product(std::vector<float>(16 * 8, 1), std::vector<float>(8 * 8, -1 - 0x1p-11f), 0)[0],
            -8);
}

TEST(MatrixProduct, OfTf32CutsSumsOff) {
  std::vector<float> a(16 * 8), b(8 * 8);
  a[0] = 0x1p-12f;
  b[0] = 1.5f * 0x1p-12f;  // three quarters of the last place of 1
  EXPECT_EQ(product(a, b, 1)[0], 1);
  EXPECT_EQ(product(a, b, -1)[0], -1 + 0x1p-23f);  // towards zero, not down
}

TEST(MatrixProduct, OfTf32NotWanted) {
  const std::vector<float> a(16 * 8, 1), b(8 * 8, 1);
  EXPECT_EQ(product(a, b, 7, 0), std::vector<float>(16 * 8, 7));
}

// ---- float64 --------------------------------------------------------------------------------

/// The product of a 16x4 matrix and a 4x8 one, added to 1.
__global__ void multiply_f64(const double* a, const double* b, double* out) {
  const int lane = threadIdx.x, row = lane / 4, k = lane % 4;
  const double left[2] = {a[row * 4 + k], a[(row + 8) * 4 + k]};
  double sums[4] = {1, 1, 1, 1};
  multiply_add_f64(sums, left, b[k * 8 + row]);
  for (int i = 0; i < 4; ++i) out[(row + i / 2 * 8) * 8 + 2 * k + i % 2] = sums[i];
}

TEST(MatrixProduct, OfF64) {
  std::vector<double> a(16 * 4), b(4 * 8);
  for (int i = 0; i < 16 * 4; ++i) a[i] = i;
  for (int k = 0; k < 4; ++k) b[k * 8 + 2 * k] = 1;
  b[1 * 8 + 5] = 0x1p-30;
  const Array<double> left(a), right(b), out(16 * 8);
  run(multiply_f64, 1, 32, 0, left.data(), right.data(), out.data());
  const auto sums = out.values();
  EXPECT_EQ(sums[0], 1);
  EXPECT_EQ(sums[4], 3);           // a[0][2]
  EXPECT_EQ(sums[9 * 8 + 6], 40);  // a[9][3]
  EXPECT_EQ(sums[15 * 8 + 5], 1 + 61 * 0x1p-30);
}

// ---- halves ---------------------------------------------------------------------------------

/// c += a b of a 16x16 matrix of bytes and the columns, as rows, of a 16x8 one.
__global__ void multiply_halves(const std::uint8_t* a, const std::uint8_t* b, float* c) {
  const int lane = threadIdx.x, row = lane / 4, k = 4 * (lane % 4);
  const auto word = [](const std::uint8_t* from) {
    return *reinterpret_cast<const std::uint32_t*>(from);
  };
  std::uint32_t left[4], right[2];
  halves_of(word(a + row * 16 + k), left[0], left[2]);
  halves_of(word(a + (row + 8) * 16 + k), left[1], left[3]);
  halves_of(word(b + row * 16 + k), right[0], right[1]);
  float sums[4];
  const auto at = [&](int i) -> float& { return c[(row + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2]; };
  for (int i = 0; i < 4; ++i) sums[i] = at(i);
  multiply_add_halves(sums, left, right);
  for (int i = 0; i < 4; ++i) at(i) = sums[i];
}

TEST(MatrixProduct, OfBytesAsHalves) {
  std::vector<std::uint8_t> a(16 * 16), b(8 * 16);
  for (int i = 0; i < 16 * 16; ++i) a[i] = static_cast<std::uint8_t>(i);
  for (int column = 0; column < 8; ++column) b[column * 16 + 2 * column + 1] = 255;
  b[3 * 16 + 15] = 1;
  const Array<std::uint8_t> left(a), right(b);
  const Array<float> out(16 * 8, 0x1p23f);
  run(multiply_halves, 1, 32, 0, left.data(), right.data(), out.data());
  const auto sums = out.values();
  EXPECT_EQ(sums[0], 0x1p23f + 255);
  EXPECT_EQ(sums[7], 0x1p23f + 255 * 15);
  EXPECT_EQ(sums[9 * 8 + 3], 0x1p23f + 255 * (9 * 16 + 7) + 9 * 16 + 15);
  EXPECT_EQ(sums[15 * 8 + 7], 0x1p23f + 255 * 255);
}

TEST(Half, IsTheNearestOne) {
  EXPECT_EQ(half_of(0), 0);
  EXPECT_EQ(half_of(-0.5f), 0xb800);
  EXPECT_EQ(half_of(1 + 0x1p-11f), 0x3c00);  // of two as near the even one
  EXPECT_EQ(half_of(1 + 0x1p-11f + 0x1p-20f), 0x3c01);
  EXPECT_EQ(half_of(1 + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(half_of(2 - 0x1p-12f), 0x4000);
  EXPECT_EQ(half_of(0x1p-14f), 0x400);
  EXPECT_EQ(half_of(0x1p-14f - 0x1p-26f), 0x400);  // a subnormal one, rounded up
  EXPECT_EQ(half_of(3 * 0x1p-24f), 3);
  EXPECT_EQ(half_of(0x1p-25f), 0);
  EXPECT_EQ(half_of(0x1.8p-25f), 1);
  EXPECT_EQ(half_of(65519.0f), 0x7bff);
  EXPECT_EQ(half_of(-65520.0f), 0xfc00);
  EXPECT_EQ(halves_of(1.0f, -2.0f), 0xc0003c00u);
}

TEST(MatrixProductDeathTest, WantedBySomeLanes) {
  const std::vector<float> a(16 * 8, 1), b(8 * 8, 1);
  EXPECT_DEATH(product(a, b, 0, 5), "wanted by some lanes and not by others");
}

}  // namespace
}  // namespace xcorr::cuda
