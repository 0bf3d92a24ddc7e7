// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage fit: interrogation windows with expected displacements -> displacements, and with order
// 1 slopes, at which the frame fits the reference best in the sense of least squares, but for
// brightness and contrast: inverse compositional Gauss-Newton steps (Baker and Matthews 2004) on
// the zero-normalised sum of squared differences. The frame is a B-spline; the reference's slopes
// are differences of its pixels.
#pragma once

#include <cmath>

#include "stages/fields/field.hpp"
#include "stages/fields/fit_steps.hpp"
#include "stages/fields/spline.hpp"

namespace xcorr {

namespace stage {

struct Fit {
  static constexpr const char* name = "fit";

  struct Problem {
    Size frame;              ///< and the reference's
    std::int64_t pitch = 0;  ///< bytes, of the reference
    int window = 32;
    int order = 1, degree = 5;
    float weight_sigma = 0;  ///< pixels; 0: all weigh alike
    bool symmetric = false;
    bool masked = false;
    /// Only windows whose vector was replaced are fitted, and the fit is taken if it is likely and
    /// scores about as well as what there was; with order 2 those that are ok, too, if bending
    /// explains more than noise would.
    bool again = false;
    FieldPlausibility limits = {};
    int count = 1;  ///< of windows
    ElementType type = ElementType::u8;

    constexpr Features features() const { return feature_of(type).with(Feature::mask, masked); }
    /// The weight of pixels at a distance from the centre along one axis; both are multiplied.
    XCORR_HD float weight_at(float distance) const {
      return weight_sigma > 0 ? expf(-0.5F * distance * distance / (weight_sigma * weight_sigma))
                              : 1.F;
    }
  };

  struct Buffers : Launch {
    const std::uint8_t* reference = nullptr;  ///< its rows' bytes
    const std::uint8_t* mask = nullptr;       ///< see WindowSearch
    const float* coefficients = nullptr;      ///< of the frame, see Spline
    const InterrogationWindow* windows = nullptr;
    const FieldBend* bends = nullptr;       ///< of the windows, with order 2
    const FieldVector* measured = nullptr;  ///< the vectors of the windows so far
    FieldVector* vectors = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("reference", &Buffers::reference, matrices(p.type, p.frame, p.pitch, 0, 1));
    visit("reference_mask", &Buffers::mask,
          elements(ElementType::u8, p.masked ? p.frame.area() : 0));
    visit("coefficients", &Buffers::coefficients, elements(ElementType::f32, p.frame.area()));
    visit("windows", &Buffers::windows, records<InterrogationWindow>(p.count));
    visit("bends", &Buffers::bends, records<FieldBend>(p.order == 2 ? p.count : 0));
    visit("measured", &Buffers::measured, records<FieldVector>(p.count));
    visit("vectors", &Buffers::vectors, records<FieldVector>(p.count));
  }
};

}  // namespace stage

/// Whether a window is fitted at all, from its vector so far.
template <int order>
XCORR_HD bool is_to_fit(const stage::Fit::Problem& p, const InterrogationWindow& window,
                        const FieldVector& measured) {
  if (window.status != FieldStatus::ok) return false;
  if constexpr (order == 2)
    if (p.again && measured.status == FieldStatus::ok) return true;
  return p.again ? measured.status == FieldStatus::replaced : measured.status != FieldStatus::flat;
}

/// The vector of a window from its fit, or what it was.
template <int order>
XCORR_HD FieldVector fitted(const stage::Fit::Problem& p, const InterrogationWindow& window,
                            const FieldVector& measured, const FitSteps<order>& steps,
                            double sigma) {
  // About as well: of an outlier and the right place near the edge of noise either may score more.
  constexpr float slack = 0.05F;
  FieldVector vector = measured;
  if (steps.is_fitted()) {
    vector = steps.result(window, p.window, p.symmetric, sigma);
    vector.ratio = measured.ratio;
    float least = measured.score - slack;
    if constexpr (order == 2)
      // Six numbers that are noise explain six pixels' share of what was not explained before.
      if (measured.status == FieldStatus::ok)
        least =
            measured.score + 12 / static_cast<float>(p.window * p.window) * (1 - measured.score);
    if (p.again && !(vector.score > least && p.limits.is_likely(vector))) return measured;
  } else if (!p.again && vector.status == FieldStatus::ok) {
    vector.status = FieldStatus::replaced;
  }
  return vector;
}

}  // namespace xcorr
