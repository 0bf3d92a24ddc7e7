// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether a variant's outputs are right, given the reference's. Integers and everything made from
// them are compared bit for bit; floating point with bounds that follow from the arithmetic:
//   products, exact, f32:    16 eps sum |l r| + eps64 ||left|| ||right||; 1e-6 of small integers
//   products, exact, f64:    16 eps sum |l r|; none of small integers
//   products, not exact:     PlanState::product_error ||right||; where that is null, as of an
//                            FFT: 8 eps ||left|| ||right||
//   filtered floats:         eps |result|, and (weights + 4) eps max |f| (sum |w|) (sum |v|) with
//   the
//                            eps of the type of sums
//   window sums of f32:      (16 + sqrt n) eps64 sum |f|, over the whole left
//   scores from f32:         4 eps |score| and what the formula's cancellation makes of eps64
//   sub-pixel places:        what the errors of nine scores make of the quotient, place_bound()
#pragma once

#include <optional>
#include <string>

#include "values.hpp"

namespace checkcorr {

/// What a comparison knows: the problem, the inputs and the reference's outputs in one.
struct Truth {
  const Case& test;
  const MatchProblem& problem;
  const Values& values;
  const Values* magnitudes;  ///< products of absolute values, for the bound of f32 products
  float product_error;       ///< what the variant says of itself; 0: nothing
};

struct Verdict {
  std::optional<std::string> mismatch;  ///< first one: index, expected, got, bound; how many
  double worst = 0;                     ///< largest error as a share of its bound
};

Verdict compare(const xcorr::Variant& variant, const Truth& truth, const Values& got);

}  // namespace checkcorr
