// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Discrete Fourier transforms of a few points in a thread's registers: the factors of a block's
// transforms (see fft_shared.cu). N = A * B points are A-point transforms of every B-th point,
// multiplied by roots of unity, then B-point ones (Cooley, Tukey); all indices are known at compile
// time.
#pragma once

namespace xcorr::cuda {

template <class T>
struct alignas(2 * sizeof(T)) Complex {
  T re, im;
};

template <class T>
__device__ Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}

template <class T>
__device__ Complex<T> operator-(Complex<T> a, Complex<T> b) {
  return {a.re - b.re, a.im - b.im};
}

template <class T>
__device__ Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <class T>
__device__ Complex<T> operator*(Complex<T> a, T b) {
  return {a.re * b, a.im * b};
}

template <class T>
__device__ Complex<T> conj(Complex<T> a) {
  return {a.re, -a.im};
}

/// The sign of the exponent.
enum class Direction { forward = -1, inverse = 1 };

/// a * i, or a / i forward.
template <Direction D, class T>
__device__ Complex<T> turned(Complex<T> a) {
  if constexpr (D == Direction::inverse) return {-a.im, a.re};
  return {a.im, -a.re};
}

/// The cosine of 2 pi i / n by its series, where that is at most pi / 4, or the sine.
constexpr double octant_series(bool sine, int i, int n) {
  const double x = 2 * 3.14159265358979323846 * i / n;
  double term = sine ? x : 1, sum = 0;
  for (int k = sine ? 1 : 0; k < 24; k += 2) {
    sum += term;
    term *= -x * x / ((k + 1) * (k + 2));
  }
  return sum;
}

/// Cosines and sines of 2 pi i / N.
template <class T, int N>
struct Roots {
  T cosine[N], sine[N];

  constexpr Roots() : cosine{}, sine{} {
    static_assert(N % 4 == 0);
    for (int i = 0; i < N; ++i) {
      const int quarter = 4 * i / N, rest = i % (N / 4);
      const bool upper = 8 * rest > N;
      const int least = upper ? N / 4 - rest : rest;
      const double c = octant_series(upper, least, N), s = octant_series(!upper, least, N);
      cosine[i] = static_cast<T>(quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s);
      sine[i] = static_cast<T>(quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c);
    }
  }
};

template <Direction D, class T>
__device__ void dft(Complex<T> (&x)[2]) {
  const Complex<T> a = x[0];
  x[0] = a + x[1];
  x[1] = a - x[1];
}

template <Direction D, class T>
__device__ void dft(Complex<T> (&x)[3]) {
  constexpr T half_root_3 = static_cast<T>(0.86602540378443864676);
  const Complex<T> sum = x[1] + x[2], across = turned<D>((x[1] - x[2]) * half_root_3);
  const Complex<T> middle{x[0].re - sum.re * T(0.5), x[0].im - sum.im * T(0.5)};
  x[0] = x[0] + sum;
  x[1] = middle + across;
  x[2] = middle - across;
}

template <Direction D, class T>
__device__ void dft(Complex<T> (&x)[4]) {
  const Complex<T> even = x[0] + x[2], even_across = x[0] - x[2];
  const Complex<T> odd = x[1] + x[3], odd_across = turned<D>(x[1] - x[3]);
  x[0] = even + odd;
  x[1] = even_across + odd_across;
  x[2] = even - odd;
  x[3] = even_across - odd_across;
}

template <Direction D, class T>
__device__ void dft(Complex<T> (&x)[5]) {
  constexpr T cosine_1 = static_cast<T>(0.30901699437494742410),
              sine_1 = static_cast<T>(0.95105651629515357212),
              cosine_2 = static_cast<T>(-0.80901699437494742410),
              sine_2 = static_cast<T>(0.58778525229247312917);
  const Complex<T> outer = x[1] + x[4], inner = x[2] + x[3];
  const Complex<T> outer_across = x[1] - x[4], inner_across = x[2] - x[3];
  const Complex<T> first = x[0] + outer * cosine_1 + inner * cosine_2,
                   second = x[0] + outer * cosine_2 + inner * cosine_1;
  const Complex<T> first_across = turned<D>(outer_across * sine_1 + inner_across * sine_2),
                   second_across = turned<D>(outer_across * sine_2 - inner_across * sine_1);
  x[0] = x[0] + outer + inner;
  x[1] = first + first_across;
  x[2] = second + second_across;
  x[3] = second - second_across;
  x[4] = first - first_across;
}

/// In natural order, unscaled.
template <Direction D, class T, int N>
__device__ void dft(Complex<T> (&x)[N]) {
  constexpr int A = N % 5 == 0 ? 5 : N == 8 ? 2 : 4, B = N / A;
  static_assert(A * B == N);
  constexpr Roots<T, N> roots;
  Complex<T> y[A][B];
#pragma unroll
  for (int b = 0; b < B; ++b) {
    Complex<T> points[A];
#pragma unroll
    for (int a = 0; a < A; ++a) points[a] = x[B * a + b];
    dft<D>(points);
#pragma unroll
    for (int k = 0; k < A; ++k) {
      const int i = b * k;  // below N
      if (i == 0)
        y[k][b] = points[k];
      else if (4 * i == N)
        y[k][b] = turned<D>(points[k]);
      else
        y[k][b] = points[k] * Complex<T>{roots.cosine[i], roots.sine[i] * static_cast<int>(D)};
    }
  }
#pragma unroll
  for (int k = 0; k < A; ++k) {
    dft<D>(y[k]);
#pragma unroll
    for (int j = 0; j < B; ++j) x[k + A * j] = y[k][j];
  }
}

}  // namespace xcorr::cuda
