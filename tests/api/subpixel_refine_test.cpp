// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage subpixel_refine in floats that are not finite, as large as floats can be, or all nearly
// alike: it finds no place, or the right one. Matches do not ask for places where scores are NaN.
#include <cmath>
#include <limits>

#include "stages/match/subpixel_refine.hpp"
#include "support.hpp"

namespace api {
namespace {

using Floats = Image<float>;

class SubpixelRefineTest : public BackendTest {
 protected:
  /// From a candidate at the second place across and down.
  FittedPlace subpixel_refine(const Floats& frame, const Floats& pattern) {
    stage::SubpixelRefine::Problem p;
    p.correlate = dense_problem(ElementType::f32, Form::one_to_one, frame.size, pattern.size, 1, 1,
                                valid_shifts(frame.size, pattern.size));
    const auto variant = select_variant<stage::SubpixelRefine>(p, device);
    EXPECT_TRUE(variant.ok()) << variant.status().message();
    const auto up = [&](const auto* from, std::size_t count) {
      return upload(device, from, count * sizeof *from);
    };
    TemplateSums sums;
    for (const float value : pattern.data) sums.sum += value;
    const Candidate candidate{1, 1, 1};
    const std::uint32_t count = 1;
    FittedPlace fit{9, 9, 9};
    const Block left = up(frame.data.data(), frame.data.size()),
                right = up(pattern.data.data(), pattern.data.size()), sum = up(&sums, 1),
                candidates = up(&candidate, 1), counts = up(&count, 1), fits = up(&fit, 1);
    const Block workspace =
        std::move(Block::make(device.backend, variant.value()->workspace_bytes(p, device)).value());
    const auto state = std::move(variant.value()->make_plan(p, device).value());
    const stage::SubpixelRefine::Buffers buffers{
        {{workspace.data(), {}}, 0, 1}, left.as<std::uint8_t>(),
        right.as<std::uint8_t>(),       nullptr,
        sum.as<TemplateSums>(),         candidates.as<Candidate>(),
        counts.as<std::uint32_t>(),     fits.as<FittedPlace>()};
    EXPECT_TRUE(variant.value()->launch(p, device, buffers, state.get()).ok());
    const Runtime& run = runtime(device.backend);
    EXPECT_TRUE(
        run.copy(bytes_copy(&fit, fits.data(), sizeof fit), Memory::device, Memory::host, {}).ok());
    EXPECT_TRUE(run.wait({}).ok());
    return fit;
  }

  const Floats frame = random_image<float>({22, 19}, 1);
  const Floats pattern = crop(frame, {1, 1, 18, 15});
};
ON_EACH_BACKEND(SubpixelRefineTest);

constexpr float infinite = std::numeric_limits<float>::infinity();
const float not_finite[] = {std::numeric_limits<float>::quiet_NaN(), infinite, -infinite};

Floats converted(Floats image, float gain, float offset) {
  for (float& value : image.data) value = value * gain + offset;
  return image;
}

void expect_none(const FittedPlace& fit) {
  EXPECT_EQ(fit.is_fitted, 0);
  EXPECT_EQ(fit.dx, 0);
  EXPECT_EQ(fit.dy, 0);
}

TEST_P(SubpixelRefineTest, CopyIsFitted) {
  const FittedPlace fit = subpixel_refine(frame, pattern);
  EXPECT_EQ(fit.is_fitted, 1);
  EXPECT_NEAR(fit.dx, 0, 1e-9);
  EXPECT_NEAR(fit.dy, 0, 1e-9);
}

/// Of those that the splines at a copy's pixels read.
TEST_P(SubpixelRefineTest, NoneWherePixelsOfTheFrameAreNotFinite) {
  for (const float value : not_finite)
    for (const auto& [x, y] : {std::pair(2, 2), {9, 8}, {17, 14}}) {
      Floats spoilt = frame;
      spoilt.at(x, y) = value;
      expect_none(subpixel_refine(spoilt, pattern));
    }
  expect_none(subpixel_refine(Floats(frame.size, infinite), pattern));
}

TEST_P(SubpixelRefineTest, NoneWherePixelsOfTheTemplateAreNotFinite) {
  for (const float value : not_finite) {
    Floats spoilt = pattern;
    spoilt.at(9, 8) = value;
    expect_none(subpixel_refine(frame, spoilt));
  }
}

TEST_P(SubpixelRefineTest, LargestFloatsAndLeastContrast) {
  for (const auto& [gain, offset] : {std::pair(1e36F, 0.F), {1 / 512.F, 8192.F}}) {
    const FittedPlace fit =
        subpixel_refine(converted(frame, gain, offset), converted(pattern, gain, offset));
    EXPECT_EQ(fit.is_fitted, 1) << gain;
    EXPECT_NEAR(fit.dx, 0, 1e-6) << gain;
    EXPECT_NEAR(fit.dy, 0, 1e-6) << gain;
  }
}

/// A slanted edge and a dot at one side of it, from that place on.
Floats edge_with_a_dot(Size size, double x0, double y0) {
  Floats image(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      for (int i = 0; i < 36; ++i) {
        const double u = x + (i % 6 - 2.5) / 6 - x0, v = y + (i / 6 - 2.5) / 6 - y0;
        const bool in_dot = std::hypot(u - 24, v - 8) < 2.2;
        image.at(x, y) += in_dot ? 190.F / 36 : (0.95 * u + 0.3 * v < 15 ? 60.F : 150.F) / 36;
      }
  return image;
}

/// Along the edge scores hardly fall, so a candidate may lie farther away than steps may lead.
TEST_P(SubpixelRefineTest, PlacesJustPastTheReach) {
  const Floats pattern = edge_with_a_dot({32, 32}, 0, 0);
  const auto fit_from = [&](double dx, double dy) {
    return subpixel_refine(edge_with_a_dot({36, 36}, 1 + dx, 1 + dy), pattern);
  };
  const FittedPlace inside = fit_from(-0.3, 0.8);
  EXPECT_EQ(inside.is_fitted, 1);
  EXPECT_NEAR(inside.dx, -0.3, 0.05);
  EXPECT_NEAR(inside.dy, 0.8, 0.1);
  const FittedPlace past = fit_from(-0.4, 1.35);
  EXPECT_EQ(past.is_fitted, 1);
  EXPECT_NEAR(past.dx, -0.4, 0.2);
  EXPECT_EQ(past.dy, 1);
  expect_none(fit_from(-1.2, 3.8));
}

}  // namespace
}  // namespace api
