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
#include "cpu/correlate/fft_transform-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::fft::HWY_NAMESPACE {

/// A vector of pixels as numbers.
template <class Pixel, class D>
HWY_INLINE hn::Vec<D> load_numbers(D d, const Pixel* p) {
  if constexpr (std::is_same_v<Pixel, hn::TFromD<D>>) {
    return hn::LoadU(d, p);
  } else if constexpr (std::is_same_v<Pixel, float>) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), p));
  } else {
    const hn::Rebind<std::int32_t, D> whole;
    const auto pixels = hn::PromoteTo(whole, hn::LoadU(hn::Rebind<Pixel, D>(), p));
    if constexpr (sizeof(hn::TFromD<D>) == 8)
      return hn::PromoteTo(d, pixels);
    else
      return hn::ConvertTo(d, pixels);
  }
}

/// Sums to outputs. Integers: adding 2^52 rounds to one and leaves it in the low bits.
template <class Out, class D>
HWY_INLINE void store_numbers(D d, hn::Vec<D> sums, Out* out) {
  if constexpr (std::is_integral_v<Out>) {
    const hn::RebindToUnsigned<D> bits;
    const auto rounded = hn::And(hn::BitCast(bits, hn::Add(sums, hn::Set(d, 0x1p52))),
                                 hn::Set(bits, (std::uint64_t{1} << 52) - 1));
    if constexpr (sizeof(Out) == 8)
      hn::StoreU(rounded, bits, out);
    else
      hn::StoreU(hn::TruncateTo(hn::Rebind<Out, D>(), rounded), hn::Rebind<Out, D>(), out);
  } else if constexpr (sizeof(Out) < sizeof(hn::TFromD<D>)) {
    hn::StoreU(hn::DemoteTo(hn::Rebind<Out, D>(), sums), hn::Rebind<Out, D>(), out);
  } else {
    hn::StoreU(sums, d, out);
  }
}

template <class T>
class LanesEngine final : public Engine<T> {
  using D = TagOf<T>;
  using V = hn::Vec<D>;
  static constexpr int N = lanes_of<T>, point = 2 * N;

 public:
  using Complex = std::complex<T>;

  explicit LanesEngine(const Tiling& t)
      : rows_(t.rows), columns_(t.columns), column_transform_(t.rows), row_transform_(t.columns) {}

  int lanes() const override { return N; }

  void forward_columns(int pair, ElementType type, const Source& pixels, Complex* surface,
                       Complex* a) const override {
    T* const to = column(numbers(surface), pair);
    if constexpr (std::is_same_v<T, double>) {
      if (type == ElementType::f64) return forward_pixels<double>(pixels, pair, to, numbers(a));
      if (type == ElementType::f32) return forward_pixels<float>(pixels, pair, to, numbers(a));
    }
    forward_pixels<std::uint8_t>(pixels, pair, to, numbers(a));
  }

  /// From the transform of real + i imag, where each alone is even in its real part and odd in its
  /// imaginary one: both, times 2.
  void forward_rows(int group, int pairs, const Complex* surface, Complex* spectrum,
                    Complex* a) const override {
    const D d;
    T* const line = numbers(a);
    for (int q = 0; q < pairs; ++q) {
      const T* const from = column(numbers(surface), q);
      const T *here[N], *there[N];
      for (int r = 0; r < N; ++r) {
        const int y = std::min(group * N + r, rows_ / 2);  // the middle one fills up
        here[r] = from + std::ptrdiff_t{y} * point;
        there[r] = from + std::ptrdiff_t{y ? rows_ - y : 0} * point;
      }
      T *const real = line + std::ptrdiff_t{2 * q} * N * point, *const imag = real + N * point;
      V part[N];
      const auto put = [&](T* to) HWY_ATTR {
        transpose<T>(part);
        for (int r = 0; r < N; ++r) hn::Store(part[r], d, to + r * point);
      };
      for (int r = 0; r < N; ++r) part[r] = hn::Add(hn::Load(d, here[r]), hn::Load(d, there[r]));
      put(real);
      for (int r = 0; r < N; ++r)
        part[r] = hn::Sub(hn::Load(d, here[r] + N), hn::Load(d, there[r] + N));
      put(real + N);
      for (int r = 0; r < N; ++r)
        part[r] = hn::Add(hn::Load(d, here[r] + N), hn::Load(d, there[r] + N));
      put(imag);
      for (int r = 0; r < N; ++r) part[r] = hn::Sub(hn::Load(d, there[r]), hn::Load(d, here[r]));
      put(imag + N);
    }
    std::fill(line + std::ptrdiff_t{pairs} * 2 * N * point, line + std::ptrdiff_t{columns_} * point,
              T{});
    row_transform_.forward(Memory{line}, numbers(spectrum));
  }

  void inverse_rows(int group, int pairs, const Complex* spectrum, const Complex* right,
                    Complex* surface, Complex* a) const override {
    row_transform_.inverse(Product{numbers(spectrum), numbers(right)}, numbers(a));
    for (int q = 0; q < pairs; ++q) combine(numbers(a), group, q, numbers(surface));
  }

  void inverse_columns(int pair, const Complex* surface, ElementType type, const Target& target,
                       Complex* a) const override {
    column_transform_.inverse(Memory{column(numbers(surface), pair)}, numbers(a));
    if constexpr (std::is_same_v<T, double>) {
      if (type == ElementType::u32) return store<std::uint32_t>(pair, numbers(a), target);
      if (type == ElementType::u64) return store<std::uint64_t>(pair, numbers(a), target);
      if (type == ElementType::f64) return store<double>(pair, numbers(a), target);
    }
    store<float>(pair, numbers(a), target);
  }

 private:
  static T* numbers(Complex* p) { return reinterpret_cast<T*>(p); }
  static const T* numbers(const Complex* p) { return reinterpret_cast<const T*>(p); }

  /// Where a pair's columns begin in a surface. The gap between pairs keeps a row's blocks in
  /// different sets of the cache.
  template <class Number>
  Number* column(Number* surface, int pair) const {
    return surface + std::ptrdiff_t{pair} * (rows_ + N) * point;
  }

  // ---- what transforms read ----

  struct Memory {
    const T* points;

    HWY_INLINE void operator()(std::ptrdiff_t i, V& re, V& im) const {
      re = hn::Load(D(), points + i * point);
      im = hn::Load(D(), points + i * point + N);
    }
  };

  /// a times the conjugate of b.
  struct Product {
    const T *a, *b;

    HWY_INLINE void operator()(std::ptrdiff_t i, V& re, V& im) const {
      V ar, ai, br, bi;
      Memory{a}(i, ar, ai);
      Memory{b}(i, br, bi);
      re = hn::MulAdd(ai, bi, hn::Mul(ar, br));
      im = hn::NegMulAdd(ar, bi, hn::Mul(ai, br));
    }
  };

  /// Columns that lie in the source as wide as they are; rows do not need to.
  template <class Pixel>
  struct Pixels {
    const Source& source;
    int x, begin, end;  ///< rows that are inside
    T offset;

    HWY_INLINE void operator()(std::ptrdiff_t y, V& re, V& im) const {
      const D d;
      re = im = hn::Zero(d);
      if (y < begin || y >= end) return;
      const Pixel* const row = row_of<Pixel>(source, y) + x;
      re = hn::Sub(load_numbers(d, row), hn::Set(d, offset));
      im = hn::Sub(load_numbers(d, row + N), hn::Set(d, offset));
    }
  };

  template <class Pixel>
  static const Pixel* row_of(const Source& source, std::ptrdiff_t y) {
    return reinterpret_cast<const Pixel*>(source.data + (source.y + y) * source.pitch);
  }

  /// The transform of a pair's columns; zeros outside of the source. `line`: scratch memory.
  template <class Pixel>
  void forward_pixels(const Source& source, int pair, T* to, T* line) const {
    const int x = source.x + 2 * pair * N;
    const int begin = std::clamp(-source.y, 0, rows_);
    const int end = std::clamp(source.size.height - source.y, begin, rows_);
    const T offset = static_cast<T>(source.offset);
    if (x >= 0 && x + 2 * N <= source.size.width)
      return column_transform_.forward(Pixels<Pixel>{source, x, begin, end, offset}, to);
    const int first = std::clamp(-x, 0, 2 * N);
    const int past = std::clamp(source.size.width - x, first, 2 * N);
    std::fill_n(line, std::ptrdiff_t{rows_} * point, T{});
    for (int y = begin; y < end; ++y)
      for (int k = first; k < past; ++k)
        line[std::ptrdiff_t{y} * point + k] =
            static_cast<T>(row_of<Pixel>(source, y)[x + k]) - offset;
    column_transform_.forward(Memory{line}, to);
  }

  /// The way back of forward_rows(), without the factor, of a pair's columns.
  void combine(const T* line, int group, int q, T* surface) const {
    const D d;
    alignas(64) T block[4][N * N];
    const T* const real = line + std::ptrdiff_t{2 * q} * N * point;
    for (int k = 0; k < 4; ++k) {
      V part[N];
      for (int r = 0; r < N; ++r) part[r] = hn::Load(d, real + (k / 2 * N + r) * point + k % 2 * N);
      transpose<T>(part);
      for (int r = 0; r < N; ++r) hn::Store(part[r], d, block[k] + r * N);
    }
    const int middle = rows_ / 2;
    T* const to = column(surface, q);
    for (int r = 0; r < N; ++r) {
      const int y = group * N + r;
      if (y > middle) return;
      const V real_re = hn::Load(d, block[0] + r * N), real_im = hn::Load(d, block[1] + r * N);
      const V imag_re = hn::Load(d, block[2] + r * N), imag_im = hn::Load(d, block[3] + r * N);
      T* const here = to + std::ptrdiff_t{y} * point;
      hn::Store(hn::Sub(real_re, imag_im), d, here);
      hn::Store(hn::Add(real_im, imag_re), d, here + N);
      if (y == 0 || y == middle) continue;
      T* const there = to + std::ptrdiff_t{rows_ - y} * point;
      hn::Store(hn::Add(real_re, imag_im), d, there);
      hn::Store(hn::Sub(imag_re, real_im), d, there + N);
    }
  }

  /// Times 4: both spectra in the product have a factor of 2.
  template <class Out>
  void store(int pair, const T* from, const Target& target) const {
    const D d;
    const V scale = hn::Set(d, static_cast<T>(0.25 / (static_cast<double>(rows_) * columns_)));
    const int x = 2 * pair * N, count = std::min(target.columns - x, 2 * N);
    Out* out = static_cast<Out*>(target.out) + x;
    for (int y = 0; y < target.rows; ++y, out += target.pitch, from += point) {
      const V real = hn::Mul(hn::Load(d, from), scale),
              imag = hn::Mul(hn::Load(d, from + N), scale);
      if (count == 2 * N) {
        store_numbers(d, real, out);
        store_numbers(d, imag, out + N);
      } else {
        Out some[2 * N];
        store_numbers(d, real, some);
        store_numbers(d, imag, some + N);
        std::copy_n(some, count, out);
      }
    }
  }

  int rows_, columns_;
  Transform<D> column_transform_, row_transform_;
};

Engine<double>* make_engine(const Tiling& tiling) { return new LanesEngine<double>(tiling); }
Engine<float>* make_single_engine(const Tiling& tiling) { return new LanesEngine<float>(tiling); }

}  // namespace xcorr::cpu::fft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
