// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage fit: windows and what is expected of them -> displacements, and with order 1 slopes, at
// which the frame fits the reference best in the sense of least squares, but for brightness and
// contrast: inverse compositional Gauss-Newton steps (Baker and Matthews 2004) on the
// zero-normalised sum of squared differences. The frame is a B-spline; the reference's slopes are
// differences of its pixels.
#pragma once

#include <cmath>
#include <type_traits>

#include "stages/field.hpp"
#include "stages/spline.hpp"

namespace xcorr {

/// Where the pixels of a window lie in the frame: that of (u, v) from its centre at (u + dx +
/// dx_by_x u + dx_by_y v, v + dy + ...).
struct FieldWarp {
  float dx, dy, dx_by_x, dx_by_y, dy_by_x, dy_by_y;

  XCORR_HD float across(float u, float v) const { return dx + dx_by_x * u + dx_by_y * v; }
  XCORR_HD float down(float u, float v) const { return dy + dy_by_x * u + dy_by_y * v; }

  /// This one after the inverse of a small one.
  XCORR_HD FieldWarp after_inverse(const FieldWarp& step) const {
    const float a = 1 + step.dx_by_x, b = step.dx_by_y, c = step.dy_by_x, d = 1 + step.dy_by_y;
    const float det = a * d - b * c;
    const float ia = d / det, ib = -b / det, ic = -c / det, id = a / det;
    const float tx = -(ia * step.dx + ib * step.dy), ty = -(ic * step.dx + id * step.dy);
    const float p = 1 + dx_by_x, q = dx_by_y, r = dy_by_x, s = 1 + dy_by_y;
    return {dx + p * tx + q * ty, dy + r * tx + s * ty, p * ia + q * ic - 1,
            p * ib + q * id,      r * ia + s * ic,      r * ib + s * id - 1};
  }
};

/// The same of a window that is bent, too, in a way that is known.
struct BentWarp : FieldWarp {
  FieldBend bend;

  XCORR_HD float across(float u, float v) const {
    return FieldWarp::across(u, v) + bend.across(u, v);
  }
  XCORR_HD float down(float u, float v) const { return FieldWarp::down(u, v) + bend.down(u, v); }
};

template <int order>
using FitWarp = std::conditional_t<order == 2, BentWarp, FieldWarp>;

/// A pixel of the reference with its slopes, less `origin`, which keeps sums small.
struct SlopedPixel {
  float value, by_x, by_y;

  XCORR_HD SlopedPixel(float value_, float by_x_, float by_y_)
      : value(value_), by_x(by_x_), by_y(by_y_) {}
  template <class Pixel>
  XCORR_HD SlopedPixel(const FieldPixels<Pixel>& picture, int x, int y, float origin) {
    const auto in_row = [&](int i) { return picture(kept(x + i, picture.size.width), y); };
    const auto in_column = [&](int i) { return picture(x, kept(y + i, picture.size.height)); };
    value = in_row(0) - origin;
    by_x = (8 * (in_row(1) - in_row(-1)) - (in_row(2) - in_row(-2))) / 12;
    by_y = (8 * (in_column(1) - in_column(-1)) - (in_column(2) - in_column(-2))) / 12;
  }

 private:
  XCORR_HD static int kept(int i, int length) { return i < 0 ? 0 : i < length ? i : length - 1; }
};

/// Slopes of a warp are measured by what they move the window's rim.
template <int order>
inline constexpr int fit_unknowns = order == 0 ? 2 : 6;

/// The sums over a window of the reference. \tparam order  0: windows move; 1: they are stretched
/// and sheared, too; 2: the same of windows that are bent
template <int order>
struct FitSums {
  static constexpr int unknowns = fit_unknowns<order>;
  /// weight, value, value^2, the products of derivatives, derivatives, their products with value
  static constexpr int count = 3 + unknowns * (unknowns + 1) / 2 + 2 * unknowns;
  float of[count];

  XCORR_HD void clear() {
    XCORR_UNROLL
    for (float& sum : of) sum = 0;
  }

  /// How the reference changes with each unknown.
  struct Derivatives {
    float of[unknowns];

    /// \param u, v  from the window's centre, by half its side
    XCORR_HD Derivatives(const SlopedPixel& pixel, float u, float v) {
      of[0] = pixel.by_x;
      of[1] = pixel.by_y;
      if constexpr (order > 0) {
        of[2] = pixel.by_x * u;
        of[3] = pixel.by_x * v;
        of[4] = pixel.by_y * u;
        of[5] = pixel.by_y * v;
      }
    }
  };

  XCORR_HD void add(const SlopedPixel& pixel, const Derivatives& by, float weight) {
    const float weighted = weight * pixel.value;
    of[0] += weight;
    of[1] += weighted;
    of[2] += weighted * pixel.value;
    int k = 3;
    XCORR_UNROLL
    for (int i = 0; i < unknowns; ++i) {
      const float derivative = weight * by.of[i];
      XCORR_UNROLL
      for (int j = 0; j <= i; ++j) of[k++] += derivative * by.of[j];
    }
    XCORR_UNROLL
    for (int i = 0; i < unknowns; ++i) {
      of[k] += weight * by.of[i];
      of[k + unknowns] += weighted * by.of[i];
      ++k;
    }
  }
};

/// The sums over a window of the reference and the frame under a warp.
template <int order>
struct WarpedSums {
  static constexpr int unknowns = fit_unknowns<order>;
  /// frame, frame^2, their product with the reference's value, with its derivatives
  static constexpr int count = 3 + unknowns;
  float of[count];

  XCORR_HD void clear() {
    XCORR_UNROLL
    for (float& sum : of) sum = 0;
  }
  XCORR_HD void add(const SlopedPixel& pixel, const typename FitSums<order>::Derivatives& by,
                    float weight, float frame) {
    const float weighted = weight * frame;
    of[0] += weighted;
    of[1] += weighted * frame;
    of[2] += weighted * pixel.value;
    XCORR_UNROLL
    for (int i = 0; i < unknowns; ++i) of[3 + i] += weighted * by.of[i];
  }
};

/// What is known of a window before the first step: arrays that a kernel must not keep in its
/// registers.
template <int order>
struct FitWindow {
  static constexpr int unknowns = fit_unknowns<order>;
  double inverse[unknowns][unknowns];  ///< of the matrix of the normal equations
  double lower[unknowns][unknowns];    ///< scratch
  double derivatives[unknowns], by_value[unknowns];
  double weight, mean, variance;

  /// False if the window does not determine the unknowns. invert() is to follow for each of them.
  XCORR_HD bool prepare(const FitSums<order>& sums) {
    weight = sums.of[0];
    mean = sums.of[1] / weight;
    variance = sums.of[2] - sums.of[1] * mean;
    int k = 3;
    for (int i = 0; i < unknowns; ++i)
      for (int j = 0; j <= i; ++j) lower[i][j] = sums.of[k++];
    for (int i = 0; i < unknowns; ++i) {
      derivatives[i] = sums.of[k];
      by_value[i] = sums.of[k + unknowns] - mean * sums.of[k];
      ++k;
    }
    // Of a window of one gray rounding leaves a share of the squares.
    return weight > 0 && variance > 1e-6 * sums.of[2] && decompose();
  }

  /// The k-th column of the inverse.
  XCORR_HD void invert(int k) {
    for (int i = 0; i < unknowns; ++i) {
      double value = i == k ? 1 : 0;
      for (int m = 0; m < i; ++m) value -= lower[i][m] * inverse[m][k];
      inverse[i][k] = value / lower[i][i];
    }
    for (int i = unknowns - 1; i >= 0; --i) {
      double value = inverse[i][k];
      for (int m = i + 1; m < unknowns; ++m) value -= lower[m][i] * inverse[m][k];
      inverse[i][k] = value / lower[i][i];
    }
  }

  /// Of one unknown in a step of the warp, by its number.
  XCORR_HD double step_of(int i, const WarpedSums<order>& sums) const {
    const double frame_mean = sums.of[0] / weight;
    const double gain = gain_of(sums);
    double step = 0;
    for (int j = 0; j < unknowns; ++j)
      step -= inverse[i][j] * (by_value[j] - gain * (sums.of[3 + j] - frame_mean * derivatives[j]));
    return step;
  }
  XCORR_HD double frame_variance(const WarpedSums<order>& sums) const {
    return sums.of[1] - double(sums.of[0]) * sums.of[0] / weight;
  }
  /// From the frame's contrast to the reference's.
  XCORR_HD double gain_of(const WarpedSums<order>& sums) const {
    return sqrt(variance / frame_variance(sums));
  }
  XCORR_HD double score_of(const WarpedSums<order>& sums) const {
    const double score = (sums.of[2] - mean * sums.of[0]) / sqrt(variance * frame_variance(sums));
    return score < -1 ? -1 : score > 1 ? 1 : score;
  }
  /// Of a component of the displacement: the squared differences that are left are 2 (1 - score)
  /// times the variance.
  XCORR_HD double sigma(double score) const {
    const double noise =
        2 * (1 - score) * variance / (weight > unknowns + 1 ? weight - unknowns : 1);
    return sqrt(noise * 0.5 * (inverse[0][0] + inverse[1][1]));
  }

 private:
  /// Cholesky's; a pivot that is lost in rounding leaves an unknown undetermined.
  XCORR_HD bool decompose() {
    for (int i = 0; i < unknowns; ++i)
      for (int j = 0; j <= i; ++j) {
        double rest = lower[i][j];
        for (int m = 0; m < j; ++m) rest -= lower[i][m] * lower[j][m];
        if (i != j) {
          lower[i][j] = rest / lower[j][j];
        } else if (rest > 1e-5 * lower[i][i]) {
          lower[i][i] = sqrt(rest);
        } else {
          return false;
        }
      }
    return true;
  }
};

/// The steps of one window.
template <int order>
class FitSteps {
 public:
  static constexpr int most = 10, unknowns = fit_unknowns<order>;

  /// Before the first step. Not a constructor, which what lies in shared memory cannot have.
  /// \param bend  the window's, with order 2
  XCORR_HD static FitSteps begin(const FieldWindow& window, const FieldBend* bend, int size) {
    FitSteps steps;
    steps.half_ = 0.5F * static_cast<float>(size);
    steps.start_x_ = window.dx;
    steps.start_y_ = window.dy;
    steps.affine() = {window.dx, window.dy, 0, 0, 0, 0};
    if constexpr (order > 0)
      steps.affine() = {window.dx,      window.dy,      window.dx_by_x,
                        window.dx_by_y, window.dy_by_x, window.dy_by_y};
    if constexpr (order == 2) steps.warp_.bend = *bend;
    steps.score_ = 0;
    steps.is_fitted_ = false;
    return steps;
  }

  XCORR_HD const FitWarp<order>& warp() const { return warp_; }
  /// Half the window's side.
  XCORR_HD float half() const { return half_; }

  /// Takes FitWindow::step_of() of all unknowns at warp(); false: that was the last step.
  XCORR_HD bool step(const double (&found)[unknowns], double score) {
    score_ = static_cast<float>(score);
    FieldWarp change{static_cast<float>(found[0]), static_cast<float>(found[1]), 0, 0, 0, 0};
    double length = found[0] * found[0] + found[1] * found[1];
    if constexpr (order > 0) {
      XCORR_UNROLL
      for (int i = 2; i < unknowns; ++i) length += found[i] * found[i];
      change.dx_by_x = static_cast<float>(found[2]) / half_;
      change.dx_by_y = static_cast<float>(found[3]) / half_;
      change.dy_by_x = static_cast<float>(found[4]) / half_;
      change.dy_by_y = static_cast<float>(found[5]) / half_;
    }
    // A step so long has left what it was made for; NaN, too, ends here.
    is_fitted_ = length < double(half_) * half_;
    if (!is_fitted_) return false;
    affine() = warp_.after_inverse(change);
    const float far_x = fabsf(warp_.dx - start_x_), far_y = fabsf(warp_.dy - start_y_);
    is_fitted_ = far_x <= reach() && far_y <= reach();
    // What is left after a step of so little, in pixels squared, is far below what noise does.
    return is_fitted_ && length > 1e-5;
  }

  XCORR_HD bool is_fitted() const { return is_fitted_ && score_ > 0; }

  /// What the fit gives; `window` as in the constructor.
  XCORR_HD FieldVector result(const FieldWindow& window, int size, bool symmetric,
                              double sigma) const {
    FieldVector vector;
    place_vector(window, size, vector);
    vector.dx = warp_.dx;
    vector.dy = warp_.dy;
    vector.dx_by_x = warp_.dx_by_x;
    vector.dx_by_y = warp_.dx_by_y;
    vector.dy_by_x = warp_.dy_by_x;
    vector.dy_by_y = warp_.dy_by_y;
    vector.score = score_;
    vector.sigma = static_cast<float>(sigma);
    if (symmetric)
      move_to_node(window,
                   order > 0
                       ? FieldSlopes{warp_.dx_by_x, warp_.dx_by_y, warp_.dy_by_x, warp_.dy_by_y}
                       : window.slopes(),
                   vector);
    if constexpr (order == 2)
      if (symmetric) {
        const float x = window.node_x - 0.5F * warp_.dx, y = window.node_y - 0.5F * warp_.dy;
        vector.dx += warp_.bend.across(x, y);
        vector.dy += warp_.bend.down(x, y);
      }
    return vector;
  }

 private:
  /// How far a window may move from where it is expected: it still overlaps what was seen there.
  XCORR_HD float reach() const { return half_ / 2 > 2 ? half_ / 2 : 2; }

  XCORR_HD FieldWarp& affine() { return warp_; }

  float half_, start_x_, start_y_;
  FitWarp<order> warp_;
  float score_;
  bool is_fitted_;
};

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
    /// Only windows whose vector was replaced are fitted, or with order 2 those that are ok, too,
    /// and the fit is taken if it is likely and scores about as well as what there was.
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
    const std::uint8_t* mask = nullptr;       ///< see Displace
    const float* coefficients = nullptr;      ///< of the frame, see Spline
    const FieldWindow* windows = nullptr;
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
    visit("windows", &Buffers::windows, records<FieldWindow>(p.count));
    visit("bends", &Buffers::bends, records<FieldBend>(p.order == 2 ? p.count : 0));
    visit("measured", &Buffers::measured, records<FieldVector>(p.count));
    visit("vectors", &Buffers::vectors, records<FieldVector>(p.count));
  }

  using Extra = NoExtra;
};

}  // namespace stage

/// Whether a window is fitted at all, from its vector so far.
template <int order>
XCORR_HD bool is_to_fit(const stage::Fit::Problem& p, const FieldWindow& window,
                        const FieldVector& measured) {
  if (window.status != FieldStatus::ok) return false;
  if constexpr (order == 2)
    if (p.again && measured.status == FieldStatus::ok) return true;
  return p.again ? measured.status == FieldStatus::replaced : measured.status != FieldStatus::flat;
}

/// The vector of a window from its fit, or what it was.
template <int order>
XCORR_HD FieldVector fitted(const stage::Fit::Problem& p, const FieldWindow& window,
                            const FieldVector& measured, const FitSteps<order>& steps,
                            double sigma) {
  // About as well: of an outlier and the right place near the edge of noise either may score more.
  constexpr float slack = 0.05F;
  FieldVector vector = measured;
  if (steps.is_fitted()) {
    vector = steps.result(window, p.window, p.symmetric, sigma);
    vector.ratio = measured.ratio;
    if (p.again && !(vector.score > measured.score - slack && p.limits.is_likely(vector)))
      return measured;
  } else if (!p.again && vector.status == FieldStatus::ok) {
    vector.status = FieldStatus::replaced;
  }
  return vector;
}

}  // namespace xcorr
