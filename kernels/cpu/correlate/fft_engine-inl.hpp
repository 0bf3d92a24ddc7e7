// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The Engine of fft_engine.hpp on vectors of columns, once for each of Highway's targets.
#if defined(XCORR_CPU_FFT_ENGINE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef XCORR_CPU_FFT_ENGINE_INL
#undef XCORR_CPU_FFT_ENGINE_INL
#else
#define XCORR_CPU_FFT_ENGINE_INL
#endif

#include <type_traits>

#include "cpu/correlate/fft_engine.hpp"
#include "cpu/correlate/fft_lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::fft::HWY_NAMESPACE {

/// Pixels x .. x + lanes of row y of a source.
template <class Pixel, class T>
HWY_INLINE void load_pixels(const Source& source, int x, int y, T* to) {
  constexpr int lanes = lanes_of<T>;
  const T offset = static_cast<T>(source.offset);
  x += source.x;
  y += source.y;
  std::fill_n(to, lanes, T{0});
  if (y < 0 || y >= source.size.height) return;
  const auto* row = reinterpret_cast<const Pixel*>(source.data + y * source.pitch);
  if (x >= 0 && x + lanes <= source.size.width) {
    for (int k = 0; k < lanes; ++k) to[k] = static_cast<T>(row[x + k]) - offset;
  } else {
    for (int k = std::max(0, -x); k < std::min(lanes, source.size.width - x); ++k)
      to[k] = static_cast<T>(row[x + k]) - offset;
  }
}

/// Sums to outputs. Integers: adding 2^52 rounds to one and leaves it in the low bits.
template <class Out, class T>
HWY_INLINE void store_outputs(const LanesOf<T>& sums, Out* out, int count) {
  constexpr bool whole = std::is_integral_v<Out>;
  constexpr int lanes = lanes_of<T>;
  alignas(64) std::conditional_t<whole, std::uint64_t, T> values[lanes];
  if constexpr (whole) {
    const hn::RebindToUnsigned<TagOf<T>> bits;
    const auto rounded = hn::BitCast(bits, hn::Add(sums.get(), hn::Set(TagOf<T>(), 0x1p52)));
    hn::Store(hn::And(rounded, hn::Set(bits, (std::uint64_t{1} << 52) - 1)), bits, values);
  } else {
    hn::Store(sums.get(), TagOf<T>(), values);
  }
  if (count >= lanes)
    for (int k = 0; k < lanes; ++k) out[k] = static_cast<Out>(values[k]);
  else
    for (int k = 0; k < count; ++k) out[k] = static_cast<Out>(values[k]);
}

template <class T>
class LanesEngine final : public Engine<T> {
  using Lanes = LanesOf<T>;
  using ComplexLanes = std::complex<Lanes>;
  static constexpr int N = lanes_of<T>;

 public:
  using Complex = std::complex<T>;

  explicit LanesEngine(const Tiling& t)
      : rows_(t.rows),
        columns_(t.columns),
        spectrum_rows_(t.spectrum_rows(N)),
        column_forward_(t.rows, false),
        column_inverse_(t.rows, true),
        row_forward_(t.columns, false),
        row_inverse_(t.columns, true) {}

  int lanes() const override { return N; }

  void forward_columns(GroupPair groups, ElementType type, const Source& pixels, Complex* surface,
                       Complex* a, Complex* b) const override {
    if (type == ElementType::u8)
      load<std::uint8_t>(groups, pixels, cells(a));
    else if (type == ElementType::f64)
      load<double>(groups, pixels, cells(a));
    else
      load<float>(groups, pixels, cells(a));
    column_forward_.transform(cells(a), cells(b));
    separate(cells(b), cells(surface) + column(groups.real), cells(surface) + column(groups.imag));
  }

  void forward_rows(int group, const Complex* surface, Complex* spectrum,
                    Complex* a) const override {
    for (int x = 0; x < columns_; x += N)
      transpose(cells(surface) + column(x / N) + group * N, cells(a) + x);
    row_forward_.transform(cells(a), cells(spectrum));
  }

  void inverse_rows(int group, const Complex* spectrum, const Complex* right, Complex* surface,
                    Complex* a, Complex* b) const override {
    for (int x = 0; x < columns_; ++x)
      cells(a)[x] = times_conjugate(cells(spectrum)[x], cells(right)[x]);
    row_inverse_.transform(cells(a), cells(b));
    for (int x = 0; x < columns_; x += N)
      transpose(cells(b) + x, cells(surface) + column(x / N) + group * N);
  }

  void inverse_columns(GroupPair groups, const Complex* surface, ElementType type,
                       const Target& target, Complex* a, Complex* b) const override {
    combine(cells(surface) + column(groups.real), cells(surface) + column(groups.imag), cells(a));
    column_inverse_.transform(cells(a), cells(b));
    if constexpr (std::is_same_v<T, double>) {
      if (type == ElementType::u32) return store<std::uint32_t>(groups, cells(b), target);
      if (type == ElementType::u64) return store<std::uint64_t>(groups, cells(b), target);
      if (type == ElementType::f64) return store<double>(groups, cells(b), target);
    }
    store<float>(groups, cells(b), target);
  }

 private:
  static ComplexLanes* cells(Complex* p) { return reinterpret_cast<ComplexLanes*>(p); }
  static const ComplexLanes* cells(const Complex* p) {
    return reinterpret_cast<const ComplexLanes*>(p);
  }
  /// Where a group's columns begin in a surface. The gap between groups keeps a row's blocks in
  /// different sets of the cache.
  std::int64_t column(int group) const { return std::int64_t{group} * (spectrum_rows_ + N); }

  template <class Pixel>
  void load(GroupPair groups, const Source& pixels, ComplexLanes* to) const {
    for (int y = 0; y < rows_; ++y) {
      T* cell = reinterpret_cast<T*>(to + y);
      load_pixels<Pixel>(pixels, groups.real * N, y, cell);
      load_pixels<Pixel>(pixels, groups.imag * N, y, cell + N);
    }
  }

  /// From the transform of real + i imag, where each alone is even in its real part and odd in its
  /// imaginary one: both, times 2.
  void separate(const ComplexLanes* of_pair, ComplexLanes* real, ComplexLanes* imag) const {
    for (int y = 0; y < spectrum_rows_; ++y) {
      const ComplexLanes here = of_pair[y], there = of_pair[y ? rows_ - y : 0];
      real[y] = {here.real() + there.real(), here.imag() - there.imag()};
      imag[y] = {here.imag() + there.imag(), there.real() - here.real()};
    }
  }

  /// The way back, without the factor.
  void combine(const ComplexLanes* real, const ComplexLanes* imag, ComplexLanes* pair) const {
    const int middle = rows_ / 2;
    for (int y = 0; y <= middle; ++y) {
      pair[y] = {real[y].real() - imag[y].imag(), real[y].imag() + imag[y].real()};
      if (y > 0 && y < middle)
        pair[rows_ - y] = {real[y].real() + imag[y].imag(), imag[y].real() - real[y].imag()};
    }
  }

  /// Times 4: both spectra in the product have a factor of 2.
  template <class Out>
  void store(GroupPair groups, const ComplexLanes* from, const Target& target) const {
    const Lanes scale(static_cast<T>(0.25 / (static_cast<double>(rows_) * columns_)));
    const auto part = [&](int group, auto&& sums_at) {
      Out* out = static_cast<Out*>(target.out) + group * N;
      const int count = target.columns - group * N;
      for (int y = 0; y < target.rows; ++y)
        store_outputs(sums_at(y) * scale, out + y * target.pitch, count);
    };
    part(groups.real, [&](int y) HWY_ATTR -> const Lanes& { return from[y].real(); });
    if (groups.imag * N < target.columns)
      part(groups.imag, [&](int y) HWY_ATTR -> const Lanes& { return from[y].imag(); });
  }

  int rows_, columns_, spectrum_rows_;
  kissfft<Lanes> column_forward_, column_inverse_, row_forward_, row_inverse_;
};

Engine<double>* make_engine(const Tiling& tiling) { return new LanesEngine<double>(tiling); }
Engine<float>* make_single_engine(const Tiling& tiling) { return new LanesEngine<float>(tiling); }

}  // namespace xcorr::cpu::fft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
