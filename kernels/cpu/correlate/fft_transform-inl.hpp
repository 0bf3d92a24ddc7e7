// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A Fourier transform of vectors of numbers: as many transforms side by side as a vector has lanes,
// so that nothing is ever shuffled. Decimation in time by radices of 3 to 10, depth first: what a
// part of the result needs is still in the nearest cache when it is combined. The twiddle factors
// are single numbers that are broadcast, a ninth of the memory of whole vectors. Included once for
// each of Highway's targets.
#if defined(XCORR_CPU_FFT_TRANSFORM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef XCORR_CPU_FFT_TRANSFORM_INL
#undef XCORR_CPU_FFT_TRANSFORM_INL
#else
#define XCORR_CPU_FFT_TRANSFORM_INL
#endif

#include <cmath>
#include <numbers>
#include <vector>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::fft::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The real and the imaginary parts of `radix` complex vectors.
template <class V, int radix>
struct Points {
  V re[radix], im[radix];
};

// ---- transforms of a few points, forward ----------------------------------------------------

template <class V>
HWY_INLINE void transform_points(Points<V, 3>& p) {
  const hn::DFromV<V> d;
  const auto half = hn::Set(d, 0.5), sine = hn::Set(d, std::numbers::sqrt3 / 2);
  const V sum_re = hn::Add(p.re[1], p.re[2]), sum_im = hn::Add(p.im[1], p.im[2]);
  const V turn_re = hn::Mul(sine, hn::Sub(p.im[1], p.im[2]));
  const V turn_im = hn::Mul(sine, hn::Sub(p.re[2], p.re[1]));
  const V middle_re = hn::NegMulAdd(half, sum_re, p.re[0]);
  const V middle_im = hn::NegMulAdd(half, sum_im, p.im[0]);
  p = {{hn::Add(p.re[0], sum_re), hn::Add(middle_re, turn_re), hn::Sub(middle_re, turn_re)},
       {hn::Add(p.im[0], sum_im), hn::Add(middle_im, turn_im), hn::Sub(middle_im, turn_im)}};
}

template <class V>
HWY_INLINE void transform_points(Points<V, 4>& p) {
  const V even_re = hn::Add(p.re[0], p.re[2]), even_im = hn::Add(p.im[0], p.im[2]);
  const V odd_re = hn::Add(p.re[1], p.re[3]), odd_im = hn::Add(p.im[1], p.im[3]);
  const V first_re = hn::Sub(p.re[0], p.re[2]), first_im = hn::Sub(p.im[0], p.im[2]);
  const V turn_re = hn::Sub(p.im[1], p.im[3]), turn_im = hn::Sub(p.re[3], p.re[1]);
  p = {{hn::Add(even_re, odd_re), hn::Add(first_re, turn_re), hn::Sub(even_re, odd_re),
        hn::Sub(first_re, turn_re)},
       {hn::Add(even_im, odd_im), hn::Add(first_im, turn_im), hn::Sub(even_im, odd_im),
        hn::Sub(first_im, turn_im)}};
}

template <class V>
HWY_INLINE void transform_points(Points<V, 5>& p) {
  const hn::DFromV<V> d;
  // The cosines and sines of a fifth and two fifths of a turn.
  const auto cos1 = hn::Set(d, 0.30901699437494742410), cos2 = hn::Set(d, -0.80901699437494742410);
  const auto sin1 = hn::Set(d, 0.95105651629515357212), sin2 = hn::Set(d, 0.58778525229247312917);
  const V a_re = hn::Add(p.re[1], p.re[4]), a_im = hn::Add(p.im[1], p.im[4]);
  const V b_re = hn::Add(p.re[2], p.re[3]), b_im = hn::Add(p.im[2], p.im[3]);
  const V c_re = hn::Sub(p.re[1], p.re[4]), c_im = hn::Sub(p.im[1], p.im[4]);
  const V e_re = hn::Sub(p.re[2], p.re[3]), e_im = hn::Sub(p.im[2], p.im[3]);
  const V m1_re = hn::MulAdd(cos2, b_re, hn::MulAdd(cos1, a_re, p.re[0]));
  const V m1_im = hn::MulAdd(cos2, b_im, hn::MulAdd(cos1, a_im, p.im[0]));
  const V m2_re = hn::MulAdd(cos1, b_re, hn::MulAdd(cos2, a_re, p.re[0]));
  const V m2_im = hn::MulAdd(cos1, b_im, hn::MulAdd(cos2, a_im, p.im[0]));
  const V n1_re = hn::MulAdd(sin1, c_re, hn::Mul(sin2, e_re));
  const V n1_im = hn::MulAdd(sin1, c_im, hn::Mul(sin2, e_im));
  const V n2_re = hn::MulSub(sin2, c_re, hn::Mul(sin1, e_re));
  const V n2_im = hn::MulSub(sin2, c_im, hn::Mul(sin1, e_im));
  p = {{hn::Add(p.re[0], hn::Add(a_re, b_re)), hn::Add(m1_re, n1_im), hn::Add(m2_re, n2_im),
        hn::Sub(m2_re, n2_im), hn::Sub(m1_re, n1_im)},
       {hn::Add(p.im[0], hn::Add(a_im, b_im)), hn::Sub(m1_im, n1_re), hn::Sub(m2_im, n2_re),
        hn::Add(m2_im, n2_re), hn::Add(m1_im, n1_re)}};
}

template <class V>
HWY_INLINE void transform_points(Points<V, 8>& p) {
  const hn::DFromV<V> d;
  Points<V, 4> even{{p.re[0], p.re[2], p.re[4], p.re[6]}, {p.im[0], p.im[2], p.im[4], p.im[6]}};
  Points<V, 4> odd{{p.re[1], p.re[3], p.re[5], p.re[7]}, {p.im[1], p.im[3], p.im[5], p.im[7]}};
  transform_points(even);
  transform_points(odd);
  // The odd ones by no, an eighth, two and three eighths of a turn.
  const auto root = hn::Set(d, std::numbers::sqrt2 / 2);
  const V sum1 = hn::Add(odd.re[1], odd.im[1]), difference1 = hn::Sub(odd.im[1], odd.re[1]);
  const V sum3 = hn::Add(odd.re[3], odd.im[3]), difference3 = hn::Sub(odd.im[3], odd.re[3]);
  p = {{hn::Add(even.re[0], odd.re[0]), hn::MulAdd(root, sum1, even.re[1]),
        hn::Add(even.re[2], odd.im[2]), hn::MulAdd(root, difference3, even.re[3]),
        hn::Sub(even.re[0], odd.re[0]), hn::NegMulAdd(root, sum1, even.re[1]),
        hn::Sub(even.re[2], odd.im[2]), hn::NegMulAdd(root, difference3, even.re[3])},
       {hn::Add(even.im[0], odd.im[0]), hn::MulAdd(root, difference1, even.im[1]),
        hn::Sub(even.im[2], odd.re[2]), hn::NegMulAdd(root, sum3, even.im[3]),
        hn::Sub(even.im[0], odd.im[0]), hn::NegMulAdd(root, difference1, even.im[1]),
        hn::Add(even.im[2], odd.re[2]), hn::MulAdd(root, sum3, even.im[3])}};
}

/// Twice an odd number: the points are dealt to two transforms, whose results need no factors.
template <class V, int radix>
HWY_INLINE void transform_points(Points<V, radix>& p) {
  constexpr int half = radix / 2;
  static_assert(half % 2 == 1);
  Points<V, half> a, b;
  for (int k = 0; k < half; ++k) {
    a.re[k] = p.re[2 * k];
    a.im[k] = p.im[2 * k];
    b.re[k] = p.re[(2 * k + half) % radix];
    b.im[k] = p.im[(2 * k + half) % radix];
  }
  transform_points(a);
  transform_points(b);
  for (int k = 0; k < half; ++k) {
    const int sum = k * (half + 1) % radix, difference = (sum + half) % radix;
    p.re[sum] = hn::Add(a.re[k], b.re[k]);
    p.im[sum] = hn::Add(a.im[k], b.im[k]);
    p.re[difference] = hn::Sub(a.re[k], b.re[k]);
    p.im[difference] = hn::Sub(a.im[k], b.im[k]);
  }
}

// ---- transforms of any size -----------------------------------------------------------------

/// D: the vectors' tag. A point of the data is a vector of real parts and one of imaginary parts,
/// aligned to their size.
template <class D>
class Transform {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  static constexpr int lanes = hn::MaxLanes(D()), step = 2 * lanes;

 public:
  /// `size`: of factors 2, 3 and 5, at least two of the radices.
  explicit Transform(int size) {
    for (const int radix : radices_of(size)) {
      size /= radix;
      stages_.push_back({radix, size, {}});
    }
    for (Stage& stage : stages_) add_twiddles(stage);
  }

  /// `source(i, re, im)` loads point i.
  template <class Source>
  void forward(const Source& source, T* out) const {
    run<0>(0, source, 0, 1, out);
  }
  /// Not divided by the size. It is a transform with the real and the imaginary parts exchanged.
  template <class Source>
  void inverse(const Source& source, T* out) const {
    run<lanes>(0, source, 0, 1, out);
  }

 private:
  struct Stage {
    int radix, part;          ///< `radix` parts of so many points become a transform of all of them
    std::vector<T> twiddles;  ///< of each point of a part but those of the first part
  };

  static void add_twiddles(Stage& stage) {
    const double turn = 2 * std::numbers::pi / (double(stage.radix) * stage.part);
    for (int k = 0; k < stage.part; ++k)
      for (int j = 1; j < stage.radix; ++j)
        for (const double number : {std::cos(turn * j * k), -std::sin(turn * j * k)})
          stage.twiddles.push_back(static_cast<T>(number));
  }

  /// Of every `stride`th point from `first` on. real: where the real parts are in a point of `out`.
  template <int real, class Source>
  void run(std::size_t number, const Source& source, int first, int stride, T* out) const {
    const Stage& stage = stages_[number];
    if (number + 2 == stages_.size()) {
      leaves<real>(stages_[number + 1].radix, stage.radix, source, first, stride, out);
    } else {
      for (int i = 0; i < stage.radix; ++i)
        run<real>(number + 1, source, first + i * stride, stride * stage.radix,
                  out + std::ptrdiff_t{i} * stage.part * step);
    }
    switch (stage.radix) {
      case 10:
        return combine<10, real>(stage, out);
      case 8:
        return combine<8, real>(stage, out);
      case 6:
        return combine<6, real>(stage, out);
      case 5:
        return combine<5, real>(stage, out);
      case 4:
        return combine<4, real>(stage, out);
      default:
        return combine<3, real>(stage, out);
    }
  }

  template <int real, class Source>
  void leaves(int radix, int count, const Source& source, int first, int stride, T* out) const {
    switch (radix) {
      case 10:
        return leaves<10, real>(count, source, first, stride, out);
      case 8:
        return leaves<8, real>(count, source, first, stride, out);
      case 6:
        return leaves<6, real>(count, source, first, stride, out);
      case 5:
        return leaves<5, real>(count, source, first, stride, out);
      case 4:
        return leaves<4, real>(count, source, first, stride, out);
      default:
        return leaves<3, real>(count, source, first, stride, out);
    }
  }

  /// Of `count` parts, whose points alternate, as the points of each do.
  template <int radix, int real, class Source>
  void leaves(int count, const Source& source, int first, int stride, T* out) const {
    for (int i = 0; i < count; ++i, first += stride, out += radix * step) {
      Points<V, radix> p;
      for (int j = 0; j < radix; ++j) {
        V &re = real ? p.im[j] : p.re[j], &im = real ? p.re[j] : p.im[j];
        source(first + j * count * stride, re, im);
      }
      transform_points(p);
      store<real>(p, out, step);
    }
  }

  template <int radix, int real>
  void combine(const Stage& stage, T* out) const {
    const D d;
    const std::ptrdiff_t next = std::ptrdiff_t{stage.part} * step;
    const T* twiddle = stage.twiddles.data();
    for (int k = 0; k < stage.part; ++k, out += step) {
      Points<V, radix> p;
      p.re[0] = hn::Load(d, out + real);
      p.im[0] = hn::Load(d, out + (lanes - real));
      for (int j = 1; j < radix; ++j, twiddle += 2) {
        const V re = hn::Load(d, out + j * next + real);
        const V im = hn::Load(d, out + j * next + (lanes - real));
        const V w_re = hn::Set(d, twiddle[0]), w_im = hn::Set(d, twiddle[1]);
        p.re[j] = hn::NegMulAdd(im, w_im, hn::Mul(re, w_re));
        p.im[j] = hn::MulAdd(re, w_im, hn::Mul(im, w_re));
      }
      transform_points(p);
      store<real>(p, out, next);
    }
  }

  template <int real, int radix>
  HWY_INLINE static void store(const Points<V, radix>& p, T* out, std::ptrdiff_t next) {
    const D d;
    for (int j = 0; j < radix; ++j) {
      hn::Store(p.re[j], d, out + j * next + real);
      hn::Store(p.im[j], d, out + j * next + (lanes - real));
    }
  }

  std::vector<Stage> stages_;
};

}  // namespace xcorr::cpu::fft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
