// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Intrinsics of one thread, and cuFFT, against values written out.
#include <cufft.h>

#include <climits>
#include <cmath>
#include <complex>

#include "support.hpp"

namespace xcorr::cuda {
namespace {

TEST(Integers, BitsAndBytes) {
  EXPECT_EQ(__popc(0xf0f0u), 8);
  EXPECT_EQ(__clz(1), 31);
  EXPECT_EQ(__clz(0), 32);
  EXPECT_EQ(__ffs(0), 0);
  EXPECT_EQ(__ffs(8), 4);
  EXPECT_EQ(__brev(1u), 0x80000000u);
  EXPECT_EQ(__brev(0x12345678u), 0x1e6a2c48u);
  EXPECT_EQ(__byte_perm(0x33221100, 0x77665544, 0x7531), 0x77553311u);
  EXPECT_EQ(__byte_perm(0x000080, 0, 0x8888), 0xffffffffu);  // the sign of byte 0
  EXPECT_EQ(__funnelshift_r(0x33221100, 0x77665544, 8), 0x44332211u);
  EXPECT_EQ(__hiloint2double(0x43300000, -1) - 4503599627370496.0, 4294967295.0);
  EXPECT_EQ(__funnelshift_l(0x33221100, 0x77665544, 8), 0x66554433u);
}

TEST(Integers, Products) {
  EXPECT_EQ(__umulhi(0x80000000u, 6u), 3u);
  EXPECT_EQ(__mulhi(-0x40000000, 8), -2);
  EXPECT_EQ(__umul64hi(1ull << 63, 6), 3u);
  EXPECT_EQ(__mul24(-3, 5), -15);
  EXPECT_EQ(__dp4a(0x01020304u, 0x01010101u, 5u), 15u);
  EXPECT_EQ(__dp4a(0xffffffffu, 0xffffffffu, 0u), 4u * 255 * 255);
  EXPECT_EQ(__dp4a(-1, 0x01020304, 0), -10);
  EXPECT_EQ(__sad(-3, 4, 1u), 8u);
}

TEST(Integers, MinAndMaxOfMixedTypes) {
  EXPECT_EQ(min(-1, 2), -1);
  EXPECT_EQ(max(1u, 2), 2u);
  EXPECT_EQ(min(-1, 2u), 2u);  // as an unsigned -1 is the largest
  EXPECT_EQ(max(1.5f, 2), 2.0f);
}

TEST(Reals, Conversions) {
  EXPECT_EQ(__float2int_rn(2.5f), 2);
  EXPECT_EQ(__float2int_rn(3e9f), INT_MAX);
  EXPECT_EQ(__float2int_rz(-3e9f), INT_MIN);
  EXPECT_EQ(__float2int_rd(-1.5f), -2);
  EXPECT_EQ(__float2int_ru(-1.5f), -1);
  EXPECT_EQ(__float2int_rn(NAN), 0);
  EXPECT_EQ(__float2uint_rn(-1.0f), 0u);
  EXPECT_EQ(__float2uint_rz(5e9f), UINT_MAX);
  EXPECT_EQ(__float_as_uint(1.0f), 0x3f800000u);
  EXPECT_EQ(__int_as_float(0x40000000), 2.0f);
  EXPECT_EQ(__saturatef(NAN), 0.0f);
  EXPECT_EQ(rsqrtf(4.0f), 0.5f);
  EXPECT_DOUBLE_EQ(sinpi(0.5), 1);
  EXPECT_DOUBLE_EQ(cospi(-1.0), -1);
}

__global__ void atomics(int* out) {
  atomicAdd(&out[0], 2);
  atomicMax(&out[1], static_cast<int>(threadIdx.x));
  atomicMin(&out[2], -static_cast<int>(threadIdx.x));
  atomicCAS(&out[3], 0, static_cast<int>(threadIdx.x) + 7);
  atomicOr(&out[4], 1 << threadIdx.x % 8);
  atomicExch(&out[5], 9);
}

TEST(Atomics, OfAllThreads) {
  const Array<int> out(6);
  run(atomics, 2, 64, 0, out.data());
  EXPECT_EQ(out.values(), (std::vector<int>{256, 63, -63, 7, 255, 9}));
}

TEST(Atomics, WrapAround) {
  unsigned counter = 1;
  EXPECT_EQ(atomicInc(&counter, 1), 1u);
  EXPECT_EQ(counter, 0u);
  int most = INT_MAX;
  atomicAdd(&most, 1);
  EXPECT_EQ(most, INT_MIN);
}

// ---- cuFFT ----------------------------------------------------------------------------------

struct Plan {
  cufftHandle handle = 0;
  std::size_t work_bytes = 0;

  Plan(std::vector<long long> extents, cufftType type, long long batch,
       long long* in_embed = nullptr, long long in_stride = 1, long long in_distance = 0) {
    EXPECT_EQ(cufftCreate(&handle), CUFFT_SUCCESS);
    EXPECT_EQ(
        cufftMakePlanMany64(handle, static_cast<int>(extents.size()), extents.data(), in_embed,
                            in_stride, in_distance, nullptr, 1, 0, type, batch, &work_bytes),
        CUFFT_SUCCESS);
  }
  ~Plan() { cufftDestroy(handle); }
};

/// Bin (v, u) of a row-major rows x columns signal, from the definition.
std::complex<double> bin(const std::vector<float>& signal, int rows, int columns, int v, int u) {
  std::complex<double> sum = 0;
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x)
      sum += std::polar<double>(signal[y * columns + x],
                                -2 * M_PI * (double(u) * x / columns + double(v) * y / rows));
  return sum;
}

TEST(Cufft, TransformsByTheDefinitionAndBack) {
  constexpr int rows = 6, columns = 10, bins = columns / 2 + 1, batch = 2;
  std::vector<float> signal(rows * columns * batch);
  for (std::size_t i = 0; i < signal.size(); ++i) signal[i] = static_cast<float>(i * i % 17);
  const Array<float> in(signal);
  const Array<float2> spectrum(rows * bins * batch);
  const Plan forward({rows, columns}, CUFFT_R2C, batch);
  ASSERT_EQ(cufftExecR2C(forward.handle, in.data(), spectrum.data()), CUFFT_SUCCESS);
  EXPECT_EQ(in.values(), signal);
  const std::vector<float> second(signal.begin() + rows * columns, signal.end());
  for (int v = 0; v < rows; ++v)
    for (int u = 0; u < bins; ++u) {
      const auto expected = bin(second, rows, columns, v, u);
      const float2 got = spectrum.values()[(rows + v) * bins + u];
      EXPECT_NEAR(got.x, expected.real(), 1e-3);
      EXPECT_NEAR(got.y, expected.imag(), 1e-3);
    }

  const Array<float> back(signal.size());
  const Plan inverse({rows, columns}, CUFFT_C2R, batch);
  ASSERT_EQ(cufftExecC2R(inverse.handle, spectrum.data(), back.data()), CUFFT_SUCCESS);
  for (std::size_t i = 0; i < signal.size(); ++i)
    EXPECT_NEAR(back.values()[i], signal[i] * rows * columns, 1e-3);
}

TEST(Cufft, ReadsAPaddedLayout) {
  constexpr int n = 8, stride = 2, distance = 20;
  long long embed[] = {n};
  std::vector<double> in(2 * distance, 1e9);
  std::vector<float> second(n);
  for (int b = 0; b < 2; ++b)
    for (int i = 0; i < n; ++i) in[b * distance + i * stride] = second[i] = float(b * 3 + i % 3);
  const Array<double> device(in);
  const Array<double2> spectrum(2 * (n / 2 + 1));
  const Plan plan({n}, CUFFT_D2Z, 2, embed, stride, distance);
  ASSERT_EQ(cufftExecD2Z(plan.handle, device.data(), spectrum.data()), CUFFT_SUCCESS);
  for (int u = 0; u <= n / 2; ++u)
    EXPECT_NEAR(spectrum.values()[n / 2 + 1 + u].x, bin(second, 1, n, 0, u).real(), 1e-9);
}

TEST(Cufft, NeedsAWorkAreaWhereItMayNotAllocate) {
  const Plan plan({16}, CUFFT_R2C, 1);
  const Array<float> in(16);
  const Array<float2> out(9);
  cufftSetAutoAllocation(plan.handle, 0);
  EXPECT_EQ(cufftExecR2C(plan.handle, in.data(), out.data()), CUFFT_INVALID_PLAN);
  const Array<std::byte> work(plan.work_bytes);
  cufftSetWorkArea(plan.handle, work.data());
  EXPECT_EQ(cufftExecR2C(plan.handle, in.data(), out.data()), CUFFT_SUCCESS);
}

TEST(CufftDeathTest, BufferTooSmall) {
  const Plan plan({16}, CUFFT_R2C, 1);
  const Array<float> in(16);
  const Array<float2> out(8);
  EXPECT_DEATH(cufftExecR2C(plan.handle, in.data(), out.data()), "cuFFT's output");
}

}  // namespace
}  // namespace xcorr::cuda
