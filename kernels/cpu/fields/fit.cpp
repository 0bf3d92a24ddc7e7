// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares of windows on the CPU, one task per window. What a window brings (weighted pixels
// and derivatives) is laid out once in rows of whole vectors; a step reads the frame for a row of
// vectors, where neighbouring pixels mostly have neighbouring coefficients, and adds up.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fields/fit.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_FIT_JOB
#define XCORR_CPU_FIT_JOB
#include "cpu/common/common.hpp"
#include "stages/fields/fit.hpp"

namespace xcorr::cpu::fit {

/// Rows end on whole vectors, of at most that many lanes.
constexpr int most_lanes = 16;

/// Scratch memory of one slot, in floats.
struct Scratch {
  std::int64_t row, plane;

  explicit Scratch(const stage::Fit::Problem& p)
      : row(ceil_div(p.window, most_lanes) * most_lanes), plane(row * p.window) {}

  /// weights along an axis; u; a row of the frame; weight, value, by_x, by_y
  static constexpr int rows = 3, planes = 4;
  std::size_t bytes() const {
    return static_cast<std::size_t>(rows * row + planes * plane) * sizeof(float);
  }
};

struct Job {
  const stage::Fit::Problem* problem;
  const stage::Fit::Buffers* buffers;
  std::int64_t index;
  float* memory;
};

}  // namespace xcorr::cpu::fit
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::fit::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, most_lanes>;
using V = hn::Vec<D>;

/// SplineTaps for a vector of places.
template <int degree>
struct Taps;

template <>
struct Taps<5> {
  V of[6];

  HWY_INLINE explicit Taps(V t) {
    const D d;
    const auto set = [&](float value) HWY_ATTR { return hn::Set(d, value / 120); };
    const V s = hn::Sub(hn::Set(d, 1), t), t2 = hn::Mul(t, t), s2 = hn::Mul(s, s);
    const auto ladder = [&](V x, V a, V b) HWY_ATTR { return hn::MulAdd(x, a, b); };
    of[0] = hn::Mul(hn::Mul(s2, s2), hn::Mul(s, set(1)));
    of[5] = hn::Mul(hn::Mul(t2, t2), hn::Mul(t, set(1)));
    of[1] = ladder(
        t, ladder(t, ladder(t, ladder(t, ladder(t, set(5), set(-20)), set(20)), set(20)), set(-50)),
        set(26));
    of[2] = ladder(t2, ladder(t2, ladder(t, set(-10), set(30)), set(-60)), set(66));
    of[4] = ladder(
        t, ladder(t, ladder(t, ladder(t, ladder(t, set(-5), set(5)), set(10)), set(10)), set(5)),
        set(1));
    of[3] = hn::Sub(hn::Sub(hn::Set(d, 1), hn::Add(of[0], of[1])),
                    hn::Add(of[2], hn::Add(of[4], of[5])));
  }
};

template <>
struct Taps<3> {
  V of[4];

  HWY_INLINE explicit Taps(V t) {
    const D d;
    const V sixth = hn::Set(d, 1.F / 6), s = hn::Sub(hn::Set(d, 1), t);
    of[0] = hn::Mul(hn::Mul(s, s), hn::Mul(s, sixth));
    of[3] = hn::Mul(hn::Mul(t, t), hn::Mul(t, sixth));
    of[1] = hn::MulAdd(hn::Mul(t, t), hn::MulAdd(t, hn::Set(d, 0.5F), hn::Set(d, -1)),
                       hn::Set(d, 4.F / 6));
    of[2] = hn::Sub(hn::Sub(hn::Set(d, 1), of[0]), hn::Add(of[1], of[3]));
  }
};

/// What a window brings, laid out, and its sums. \tparam order  0 or 1: of windows that are bent,
/// too, these are the same.
template <int order>
class Layout {
 protected:
  explicit Layout(const Job& job)
      : p_(*job.problem),
        b_(*job.buffers),
        window_(b_.windows[job.index]),
        s_(p_),
        axis_(job.memory),
        u_(axis_ + s_.row),
        frame_(u_ + s_.row),
        weight_(frame_ + s_.row),
        value_(weight_ + s_.plane),
        by_x_(value_ + s_.plane),
        by_y_(by_x_ + s_.plane) {}

  float v_of(int y) const {
    return static_cast<float>(y) - 0.5F * static_cast<float>(p_.window - 1);
  }

  /// False if it does not determine the unknowns.
  HWY_NOINLINE HWY_FLATTEN bool prepare(float half, FitWindow<order>& fit) {
    const bool bytes = p_.type == ElementType::u8;
    if (!fit.prepare(bytes ? lay_out<std::uint8_t>(half) : lay_out<U16F32Pixel>(half)))
      return false;
    for (int k = 0; k < fit_unknowns<order>; ++k) fit.invert(k);
    return true;
  }

  const stage::Fit::Problem& p_;
  const stage::Fit::Buffers& b_;
  const InterrogationWindow& window_;
  const Scratch s_;
  float *axis_, *u_, *frame_, *weight_, *value_, *by_x_, *by_y_;
  float origin_ = 0, half_ = 1;

 private:
  template <class Pixel>
  HWY_NOINLINE HWY_FLATTEN FitSums<order> lay_out(float half) {
    std::fill(axis_, weight_ + Scratch::planes * s_.plane, 0.F);
    for (int x = 0; x < s_.row; ++x) u_[x] = v_of(x);
    for (int x = 0; x < p_.window; ++x) axis_[x] = p_.weight_at(u_[x]);
    const int middle = p_.window / 2;
    const FieldPixels<Pixel> reference{b_.reference, p_.pitch, p_.frame, p_.type};
    const float origin = reference(window_.x + middle, window_.y + middle);
    FitSums<order> sums;
    sums.clear();
    for (int y = 0; y < p_.window; ++y)
      for (int x = 0; x < p_.window; ++x) {
        const int px = window_.x + x, py = window_.y + y;
        if (p_.masked && !b_.mask[std::int64_t{py} * p_.frame.width + px]) continue;
        const SlopedPixel pixel(reference, px, py, origin);
        const float weight = axis_[x] * axis_[y];
        sums.add(pixel, {pixel, u_[x] / half, v_of(y) / half}, weight);
        const std::int64_t at = y * s_.row + x;
        weight_[at] = weight;
        value_[at] = weight * pixel.value;
        by_x_[at] = weight * pixel.by_x;
        by_y_[at] = weight * pixel.by_y;
      }
    origin_ = origin;
    half_ = half;
    return sums;
  }
};

/// \tparam order  as in the problem
template <int order>
class Run : Layout<(order > 0)> {
  using Base = Layout<(order > 0)>;
  using Base::b_, Base::by_x_, Base::by_y_, Base::frame_, Base::half_, Base::origin_, Base::p_,
      Base::s_, Base::u_, Base::v_of, Base::value_, Base::weight_, Base::window_;
  using Sums = WarpedSums<(order > 0)>;

 public:
  explicit Run(const Job& job)
      : Base(job),
        bend_(order == 2 ? b_.bends + job.index : nullptr),
        measured_(b_.measured[job.index]) {}

  HWY_NOINLINE HWY_FLATTEN FieldVector run() {
    if (!is_to_fit<order>(p_, window_, measured_)) return measured_;
    auto steps = FitSteps<order>::begin(window_, bend_, p_.window);
    FitWindow<(order > 0)> fit;
    double sigma = 0;
    if (Base::prepare(steps.half(), fit))
      for (int i = 0; i < FitSteps<order>::most; ++i) {
        const Sums sums = add_up(steps.warp());
        double step[FitSteps<order>::unknowns];
        for (int k = 0; k < FitSteps<order>::unknowns; ++k) step[k] = fit.step_of(k, sums);
        const double score = fit.score_of(sums);
        sigma = fit.sigma(score);
        if (!steps.step(step, score)) break;
      }
    return fitted(p_, window_, measured_, steps, sigma);
  }

 private:
  HWY_INLINE Sums add_up(const FitWarp<order>& warp) {
    const D d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    V frame = hn::Zero(d), squares = frame, product = frame, by[6];
    for (V& sum : by) sum = hn::Zero(d);
    for (int y = 0; y < p_.window; ++y) {
      const float v = v_of(y);
      p_.degree == 5 ? read_row<5>(warp, y) : read_row<3>(warp, y);
      V row_x = hn::Zero(d), row_xu = row_x, row_y = row_x, row_yu = row_x;
      for (int x = 0; x < p_.window; x += lanes) {
        const std::int64_t at = y * s_.row + x;
        const V g = hn::LoadU(d, frame_ + x), u = hn::LoadU(d, u_ + x);
        const V weighted = hn::Mul(g, hn::LoadU(d, weight_ + at));
        frame = hn::Add(frame, weighted);
        squares = hn::MulAdd(weighted, g, squares);
        product = hn::MulAdd(g, hn::LoadU(d, value_ + at), product);
        const V by_x = hn::Mul(g, hn::LoadU(d, by_x_ + at));
        const V by_y = hn::Mul(g, hn::LoadU(d, by_y_ + at));
        row_x = hn::Add(row_x, by_x);
        row_y = hn::Add(row_y, by_y);
        if constexpr (order > 0) {
          row_xu = hn::MulAdd(by_x, u, row_xu);
          row_yu = hn::MulAdd(by_y, u, row_yu);
        }
      }
      by[0] = hn::Add(by[0], row_x);
      by[1] = hn::Add(by[1], row_y);
      if constexpr (order > 0) {
        const V down = hn::Set(d, v);
        by[2] = hn::Add(by[2], row_xu);
        by[3] = hn::MulAdd(down, row_x, by[3]);
        by[4] = hn::Add(by[4], row_yu);
        by[5] = hn::MulAdd(down, row_y, by[5]);
      }
    }
    const auto sum_of = [&](V lanes_of)
                            HWY_ATTR { return hn::GetLane(hn::SumOfLanes(d, lanes_of)); };
    Sums sums;
    sums.of[0] = sum_of(frame);
    sums.of[1] = sum_of(squares);
    sums.of[2] = sum_of(product);
    for (int i = 0; i < Sums::unknowns; ++i) sums.of[3 + i] = sum_of(by[i]) / (i < 2 ? 1 : half_);
    return sums;
  }

  /// The frame under the pixels of a row of the window.
  template <int degree>
  HWY_INLINE void read_row(const FitWarp<order>& warp, int y) {
    const D d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const float v = v_of(y);
    const V one_x = hn::Set(d, warp.across(0, v)), one_y = hn::Set(d, warp.down(0, v));
    V by_x = hn::Set(d, warp.dx_by_x), by_y = hn::Set(d, warp.dy_by_x);
    if constexpr (order == 2) {
      by_x = hn::Set(d, warp.dx_by_x + warp.bend.dx_by_xy * v);
      by_y = hn::Set(d, warp.dy_by_x + warp.bend.dy_by_xy * v);
    }
    for (int x = 0; x < p_.window; x += lanes) {
      const V u = hn::LoadU(d, u_ + x);
      V across = hn::MulAdd(by_x, u, one_x), down = hn::MulAdd(by_y, u, one_y);
      if constexpr (order == 2) {
        const V half_square = hn::Mul(hn::Mul(u, u), hn::Set(d, 0.5F));
        across = hn::MulAdd(hn::Set(d, warp.bend.dx_by_xx), half_square, across);
        down = hn::MulAdd(hn::Set(d, warp.bend.dy_by_xx), half_square, down);
      }
      const V whole_x = hn::Floor(across), whole_y = hn::Floor(down);
      const float first_x = hn::GetLane(whole_x), first_y = hn::GetLane(whole_y);
      const int px = window_.x + x + static_cast<int>(first_x);
      const int py = window_.y + y + static_cast<int>(first_y);
      const int before = SplineTaps<degree>::before, taps = SplineTaps<degree>::count;
      const bool together = hn::AllTrue(d, hn::Eq(whole_x, hn::Set(d, first_x))) &&
                            hn::AllTrue(d, hn::Eq(whole_y, hn::Set(d, first_y)));
      if (!together || px < before || py < before || px - before + taps + lanes > p_.frame.width ||
          py - before + taps > p_.frame.height) {
        read_singly<degree>(across, down, x, y);
        continue;
      }
      const Taps<degree> t(hn::Sub(across, whole_x)), s(hn::Sub(down, whole_y));
      const float* from =
          b_.coefficients + std::int64_t{py - before} * p_.frame.width + px - before;
      V value = hn::Zero(d);
      for (int j = 0; j < taps; ++j, from += p_.frame.width) {
        V in_row = hn::Mul(t.of[0], hn::LoadU(d, from));
        for (int i = 1; i < taps; ++i) in_row = hn::MulAdd(t.of[i], hn::LoadU(d, from + i), in_row);
        value = hn::MulAdd(s.of[j], in_row, value);
      }
      hn::StoreU(hn::Sub(value, hn::Set(d, origin_)), d, frame_ + x);
    }
  }

  /// The same of a vector's pixels one by one.
  template <int degree>
  HWY_NOINLINE HWY_FLATTEN void read_singly(V across, V down, int x, int y) {
    const D d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    alignas(64) float dx[most_lanes], dy[most_lanes];
    hn::Store(across, d, dx);
    hn::Store(down, d, dy);
    const SplineImage image{b_.coefficients, p_.frame};
    for (int k = 0; k < lanes && x + k < p_.window; ++k) {
      const float whole_x = std::floor(dx[k]), whole_y = std::floor(dy[k]);
      frame_[x + k] = image.at<degree>(window_.x + x + k + static_cast<int>(whole_x),
                                       window_.y + y + static_cast<int>(whole_y), dx[k] - whole_x,
                                       dy[k] - whole_y) -
                      origin_;
    }
  }

  const FieldBend* bend_;
  const FieldVector& measured_;
};

void run(const Job& job) {
  FieldVector& to = job.buffers->vectors[job.index];
  if (job.problem->order == 0)
    to = Run<0>(job).run();
  else if (job.problem->order == 1)
    to = Run<1>(job).run();
  else
    to = Run<2>(job).run();
}

}  // namespace xcorr::cpu::fit::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace fit {

HWY_EXPORT(run);

std::size_t workspace(const stage::Fit::Problem& p, const Device&) {
  return SlotMemory::total(Scratch(p).bytes());
}

Status launch(const stage::Fit::Problem& p, const Device&, const stage::Fit::Buffers& b,
              PlanState*) {
  const SlotMemory memory(b.workspace, Scratch(p).bytes());
  parallel_slots(slot_count(), p.count, [&](int slot, std::int64_t i) {
    HWY_DYNAMIC_DISPATCH(run)({&p, &b, i, reinterpret_cast<float*>(memory.of(slot))});
  });
  return {};
}

constexpr Variant<stage::Fit> table[] = {
    {{.name = "fit",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::mask}},
     {.launch = launch, .workspace = workspace}},
};

}  // namespace fit

Family fit_family() { return Family(fit::table); }

}  // namespace xcorr::cpu
#endif
