// SPDX-License-Identifier: LGPL-2.1-or-later
//
// KissFFT on vectors: its template transforms one column of numbers; with a vector of them as the
// number it transforms as many columns at a time as that has lanes. Included once for each of
// Highway's targets, and with it kissfft.hh, whose loops are thereby compiled for that target.
#if defined(XCORR_CPU_FFT_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef XCORR_CPU_FFT_LANES_INL
#undef XCORR_CPU_FFT_LANES_INL
#else
#define XCORR_CPU_FFT_LANES_INL
#endif

// Everything that kissfft.hh includes, so that it stays outside the namespaces below.
#include <cmath>
#include <complex>
#include <utility>
#include <vector>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::fft::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using TagOf = hn::CappedTag<T, 8>;
template <class T>
constexpr int lanes_of = hn::MaxLanes(TagOf<T>());

/// A vector of T in memory, not in a register: functions that are not inlined then pass it the same
/// way whatever target they are compiled for. The optimiser removes the loads and stores.
template <class T>
struct LanesOf {
  using D = TagOf<T>;
  using V = hn::Vec<D>;
  alignas(64 < sizeof(T) * lanes_of<T> ? 64 : sizeof(T) * lanes_of<T>) T v[lanes_of<T>];

  LanesOf() = default;
  LanesOf(T value) {
    for (T& lane : v) lane = value;
  }
  HWY_INLINE explicit LanesOf(V vector) { hn::Store(vector, D(), v); }
  HWY_INLINE V get() const { return hn::Load(D(), v); }

  HWY_INLINE LanesOf& operator+=(const LanesOf& b) { return *this = *this + b; }
  HWY_INLINE LanesOf& operator-=(const LanesOf& b) { return *this = *this - b; }
  HWY_INLINE LanesOf& operator*=(const LanesOf& b) { return *this = *this * b; }

  friend HWY_INLINE LanesOf operator+(const LanesOf& a, const LanesOf& b) {
    return LanesOf(hn::Add(a.get(), b.get()));
  }
  friend HWY_INLINE LanesOf operator-(const LanesOf& a, const LanesOf& b) {
    return LanesOf(hn::Sub(a.get(), b.get()));
  }
  friend HWY_INLINE LanesOf operator*(const LanesOf& a, const LanesOf& b) {
    return LanesOf(hn::Mul(a.get(), b.get()));
  }
  friend HWY_INLINE LanesOf operator/(const LanesOf& a, const LanesOf& b) {
    return LanesOf(hn::Div(a.get(), b.get()));
  }
  friend HWY_INLINE LanesOf operator-(const LanesOf& a) { return LanesOf(hn::Neg(a.get())); }
};

}  // namespace xcorr::cpu::fft::HWY_NAMESPACE

namespace std {

/// Complex vectors. KissFFT's operations on them, compiled for the target as well.
template <class T>
class complex<xcorr::cpu::fft::HWY_NAMESPACE::LanesOf<T>> {
  using Lanes = xcorr::cpu::fft::HWY_NAMESPACE::LanesOf<T>;

 public:
  using value_type = Lanes;

  complex() = default;
  complex(const Lanes& real, const Lanes& imag) : real_(real), imag_(imag) {}

  HWY_INLINE const Lanes& real() const { return real_; }
  HWY_INLINE const Lanes& imag() const { return imag_; }
  HWY_INLINE void imag(const Lanes& value) { imag_ = value; }

  HWY_INLINE complex& operator+=(const complex& b) {
    real_ += b.real_;
    imag_ += b.imag_;
    return *this;
  }
  HWY_INLINE complex& operator*=(const Lanes& b) {
    real_ *= b;
    imag_ *= b;
    return *this;
  }

  friend HWY_INLINE complex operator+(const complex& a, const complex& b) {
    return {a.real_ + b.real_, a.imag_ + b.imag_};
  }
  friend HWY_INLINE complex operator-(const complex& a, const complex& b) {
    return {a.real_ - b.real_, a.imag_ - b.imag_};
  }
  friend HWY_INLINE complex operator*(const complex& a, const complex& b) {
    namespace hn = xcorr::cpu::fft::HWY_NAMESPACE::hn;
    const auto ar = a.real_.get(), ai = a.imag_.get(), br = b.real_.get(), bi = b.imag_.get();
    return {Lanes(hn::NegMulAdd(ai, bi, hn::Mul(ar, br))),
            Lanes(hn::MulAdd(ai, br, hn::Mul(ar, bi)))};
  }
  friend HWY_INLINE complex operator*(const complex& a, const Lanes& b) {
    return {a.real_ * b, a.imag_ * b};
  }

 private:
  Lanes real_, imag_;
};

// KissFFT computes its twiddle factors with these; all lanes are equal.
template <class T>
xcorr::cpu::fft::HWY_NAMESPACE::LanesOf<T> acos(
    const xcorr::cpu::fft::HWY_NAMESPACE::LanesOf<T>& x) {
  return acos(x.v[0]);
}
template <class T>
complex<xcorr::cpu::fft::HWY_NAMESPACE::LanesOf<T>> exp(
    const complex<xcorr::cpu::fft::HWY_NAMESPACE::LanesOf<T>>& z) {
  const complex<double> value = exp(complex<double>(z.real().v[0], z.imag().v[0]));
  return {static_cast<T>(value.real()), static_cast<T>(value.imag())};
}

}  // namespace std

namespace xcorr::cpu::fft::HWY_NAMESPACE {

/// a times the conjugate of b.
template <class T>
HWY_INLINE std::complex<LanesOf<T>> times_conjugate(const std::complex<LanesOf<T>>& a,
                                                    const std::complex<LanesOf<T>>& b) {
  const auto ar = a.real().get(), ai = a.imag().get(), br = b.real().get(), bi = b.imag().get();
  return {LanesOf<T>(hn::MulAdd(ai, bi, hn::Mul(ar, br))),
          LanesOf<T>(hn::NegMulAdd(ar, bi, hn::Mul(ai, br)))};
}

#undef KISSFFT_CLASS_HH
#include <kissfft.hh>

// ---- transposition --------------------------------------------------------------------------

/// Exchanges bit `step` of row number and lane number between all rows: in turn for 1, 2 and 4, a
/// transposition.
template <int step, class T>
HWY_INLINE void exchange([[maybe_unused]] hn::Vec<TagOf<T>> (&rows)[lanes_of<T>]) {
#if HWY_TARGET != HWY_SCALAR  // which has one lane, and not these operations
  if constexpr (step < lanes_of<T>) {
    const TagOf<T> d;
    for (int r = 0; r < lanes_of<T>; ++r) {
      if (r & step) continue;
      const auto a = rows[r], b = rows[r + step];
      constexpr std::size_t bytes = step * sizeof(T);
      if constexpr (bytes == 4) {
        rows[r] = hn::OddEven(hn::DupEven(b), a);
        rows[r + step] = hn::OddEven(b, hn::DupOdd(a));
      } else if constexpr (bytes == 8) {
        const hn::Repartition<double, TagOf<T>> pairs;
        const auto c = hn::BitCast(pairs, a), e = hn::BitCast(pairs, b);
        rows[r] = hn::BitCast(d, hn::InterleaveLower(pairs, c, e));
        rows[r + step] = hn::BitCast(d, hn::InterleaveUpper(pairs, c, e));
      } else if constexpr (bytes == 16) {
        rows[r] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
        rows[r + step] = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
      } else {
        rows[r] = hn::ConcatLowerLower(d, b, a);
        rows[r + step] = hn::ConcatUpperUpper(d, b, a);
      }
    }
  }
#endif
}

/// Transposes a block of as many rows as a vector has lanes.
template <class T>
HWY_INLINE void transpose(hn::Vec<TagOf<T>> (&rows)[lanes_of<T>]) {
  exchange<1, T>(rows);
  exchange<2, T>(rows);
  exchange<4, T>(rows);
}

}  // namespace xcorr::cpu::fft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
