// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Displacement fields on the emulated GPU: what the CPU finds, but for the last part of a pixel,
// which floating point decides.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <xcorr/field.hpp>

#include "simt/faults.hpp"

namespace {

using namespace xcorr;

constexpr Size image_size{76, 68};

/// A smooth image in which every place is different.
double gray_at(double x, double y) {
  return 128 + 50 * std::sin(0.31 * x + 0.11 * y) + 40 * std::cos(0.43 * y - 0.17 * x) +
         30 * std::sin(0.05 * x * y / 9);
}

std::vector<std::uint8_t> draw(bool moved) {
  std::vector<std::uint8_t> pixels;
  for (int y = 0; y < image_size.height; ++y)
    for (int x = 0; x < image_size.width; ++x) {
      const double by_x = moved ? 2.3 + 0.02 * x : 0, by_y = moved ? -1.4 + 0.01 * y : 0;
      pixels.push_back(static_cast<std::uint8_t>(std::lround(gray_at(x - by_x, y - by_y))));
    }
  return pixels;
}

Status match(Backend backend, const FieldSettings& settings, bool masked,
             std::vector<FieldVector>& vectors) {
  const std::vector<std::uint8_t> first = draw(false), second = draw(true);
  std::vector<std::uint8_t> mask(first.size(), 1);
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (i % image_size.width < 20 || i % 37 == 5) mask[i] = 0;
  const auto view = [](const std::vector<std::uint8_t>& pixels) {
    return MatrixView{pixels.data(), ElementType::u8, image_size, image_size.width};
  };
  auto device = open_device(backend);
  if (!device.ok()) return device.status();
  if (Status s = make_current(device.value()); !s.ok()) return s;
  auto matcher =
      FieldMatcher::make(device.value(), image_size, settings, masked ? view(mask) : MatrixView());
  if (!matcher.ok()) return matcher.status();
  return matcher.value().match(view(first), view(second), vectors);
}

std::vector<FieldVector> match(Backend backend, const FieldSettings& settings, bool masked) {
  std::vector<FieldVector> vectors;
  const Status status = match(backend, settings, masked, vectors);
  EXPECT_TRUE(status.ok()) << status.message();
  return vectors;
}

void expect_same(const FieldSettings& settings, bool masked = false) {
  const auto cpu = match(Backend::cpu, settings, masked),
             gpu = match(Backend::cuda, settings, masked);
  ASSERT_FALSE(cpu.empty());
  ASSERT_EQ(cpu.size(), gpu.size());
  int right = 0;
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    EXPECT_EQ(cpu[i].status, gpu[i].status);
    EXPECT_NEAR(cpu[i].dx, gpu[i].dx, 2e-3);
    EXPECT_NEAR(cpu[i].dy, gpu[i].dy, 2e-3);
    EXPECT_NEAR(cpu[i].dx_by_x, gpu[i].dx_by_x, 1e-3);
    EXPECT_NEAR(cpu[i].score, gpu[i].score, 1e-4);
    EXPECT_NEAR(cpu[i].sigma, gpu[i].sigma, 1e-3);
    right += std::abs(gpu[i].dx - (2.3 + 0.02 * gpu[i].x)) < 0.5 &&
             std::abs(gpu[i].dy - (-1.4 + 0.01 * gpu[i].y)) < 0.5;
  }
  EXPECT_GT(2 * right, static_cast<int>(cpu.size()));
}

FieldSettings quick() {
  FieldSettings settings;
  settings.windows = {16};
  settings.spacing = 10;
  settings.search_range = 6;
  settings.later_range = 2;
  return settings;
}

TEST(Fields, OnePass) { expect_same(quick()); }

TEST(Fields, OnePassUnderAMask) { expect_same(quick(), true); }

TEST(Fields, OfSmoothedImages) {
  FieldSettings settings = quick();
  settings.prefilter_sigma = 0.8;
  expect_same(settings);
}

TEST(Fields, LeastSquaresAfterTwoPasses) {
  FieldSettings settings = quick();
  settings.windows = {24, 15};
  settings.subpixel = FieldSubpixel::least_squares;
  expect_same(settings);
}

TEST(Fields, SymmetricWeightedBentUnderAMask) {
  FieldSettings settings = quick();
  settings.subpixel = FieldSubpixel::least_squares;
  settings.spline_degree = 3;
  settings.weight_sigma = 5;
  settings.symmetric = true;
  settings.order = 2;
  expect_same(settings, true);
}

/// Windows that matrix instructions do not take.
TEST(Fields, WideRange) {
  FieldSettings settings = quick();
  settings.search_range = 24;
  expect_same(settings);
}

TEST(Fields, EveryCallFailsOnce) {
  FieldSettings settings = quick();
  settings.prefilter_sigma = 0.8;
  settings.windows = {24, 15};
  settings.spacing = 20;
  settings.subpixel = FieldSubpixel::least_squares;
  const std::vector<FieldVector> truth = match(Backend::cuda, settings, true);
  for (long n = 1;; ++n) {
    const std::size_t before = simt::allocated_bytes();
    std::vector<FieldVector> vectors;
    simt::break_call(n, simt::Fault::passing);
    const Status status = match(Backend::cuda, settings, true, vectors);
    const long calls = simt::mend();
    EXPECT_EQ(simt::allocated_bytes(), before) << "leaked after call " << n;
    if (status.ok()) {
      ASSERT_EQ(vectors.size(), truth.size());
      for (std::size_t i = 0; i < truth.size(); ++i) EXPECT_EQ(vectors[i].dx, truth[i].dx);
    } else {
      EXPECT_FALSE(status.message().empty());
    }
    if (calls < n) break;
    ASSERT_LT(n, 1000);
  }
}

}  // namespace
