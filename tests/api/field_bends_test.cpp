// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Motion that bends within a window, with deformation: shear and small vortices.
#include "field_test.hpp"

namespace api {
namespace {

using FieldBendsTest = FieldTest;
ON_EACH_BACKEND(FieldBendsTest);

/// From rest above to six pixels below, most of it within one window.
Pair shear(double per_pixel, unsigned seed) {
  const fields::Motion motion = [](fields::Point p) {
    return fields::Point{3 + 3 * std::tanh((p.y - 96) / 16), 0};
  };
  return fields::particles(size, motion, {.per_pixel = per_pixel}, seed);
}

FieldSettings deformed(FieldSubpixel subpixel = FieldSubpixel::gauss) {
  FieldSettings settings;
  settings.windows = {64, 32, 32};
  settings.spacing = 8;
  settings.deformation = true;
  settings.subpixel = subpixel;
  return settings;
}

/// The first pass has one side's motion or the other's, which the next one cannot see.
TEST_P(FieldBendsTest, AStepOfTheFirstPassDoesNotStay) {
  FieldSettings settings = deformed();
  settings.windows = {64, 32};
  EXPECT_LT(errors(shear(0.02, 1), settings).rms, 0.095);
}

TEST_P(FieldBendsTest, WhatWindowsFlattenIsRestored) {
  const Pair pair = fields::particles(size, fields::vortices(1, 48), {}, 3);
  EXPECT_LT(errors(pair, deformed()).rms, 0.085);
}

TEST_P(FieldBendsTest, LeastSquaresBendAsTheFieldDoes) {
  const FieldSettings fit = deformed(FieldSubpixel::least_squares);
  for (const double diameter : {64.0, 128.0}) {
    const Pair pair = fields::particles(size, fields::vortices(1, diameter), {}, 3);
    EXPECT_LT(errors(pair, fit).rms, 0.9 * errors(pair, deformed()).rms) << diameter;
  }
  const Pair pair = shear(0.02, 1);
  EXPECT_LT(errors(pair, fit).rms, errors(pair, deformed()).rms);
}

/// What bends by noise alone would be less exact.
TEST_P(FieldBendsTest, WhatDoesNotBendIsAsExact) {
  const Pair pair = fields::particles(size, fields::uniform(3.4, -1.7), {}, 2);
  EXPECT_LT(errors(pair, least_squares(2)).rms, 1.05 * errors(pair, least_squares(1)).rms);
}

}  // namespace
}  // namespace api
