// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The definitions of the match methods for the oracle, from the pixels themselves. They are written
// here independently of score.hpp, so that a mistake in either shows as a difference. For u8
// everything is an integer until the last quotient; for f32 the means are computed first.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <xcorr/correlate.hpp>
#include <xcorr/methods.hpp>

#include "stages/match/overhang.hpp"  // what is asked for only
#include "stages/match/score.hpp"     // flat_share and Int128 only

namespace xcorr::cpu::plain {

// ---- matrices -------------------------------------------------------------------------------

template <class T>
struct Matrix {
  const std::byte* data;
  std::int64_t pitch;
  Size size;

  T at(int x, int y) const { return reinterpret_cast<const T*>(data + y * pitch)[x]; }
};

template <class T>
Matrix<T> left_of(const Problem& p, const void* lefts, std::int64_t index) {
  return {static_cast<const std::byte*>(lefts) + index * p.left_stride, p.left_pitch, p.left};
}

/// The left that the right meets among those of one left; of a picture, one of its planes.
template <class T>
Matrix<T> left_of_right(const Problem& p, const void* lefts, std::int64_t right, int plane = 0) {
  return left_of<T>(p, static_cast<const std::byte*>(lefts) + plane * p.left_plane,
                    p.own_lefts ? right : 0);
}

template <class T>
Matrix<T> right_of(const Problem& p, const void* rights, std::int64_t index) {
  return {static_cast<const std::byte*>(rights) + index * p.right_stride, p.right_pitch, p.right};
}

/// Which pixels of a template and a window count: all, those that are not 0 in its bytes, or as
/// often as these say.
struct Mask {
  const std::uint8_t* bytes = nullptr;
  int width = 0;
  bool weighted = false;

  int times(int x, int y) const {
    const int byte = bytes ? bytes[std::int64_t{y} * width + x] : 1;
    return weighted ? byte : byte != 0;
  }
  bool counts(int x, int y) const { return times(x, y) > 0; }
};

/// The mask of a window at element (x, y) of the output, of what lies in the picture.
struct SeenMask {
  std::vector<std::uint8_t> bytes;
  int width;
  bool is_whole = true;  ///< no pixel of it lies outside, whether it counts or not

  Mask mask() const { return {bytes.data(), width}; }
};

inline SeenMask seen_mask(const Problem& p, const Overhang& overhang, const Mask& mask, int x,
                          int y) {
  SeenMask seen{{}, p.right.width};
  const Rect& picture = overhang.picture;
  for (int v = 0; v < p.right.height; ++v)
    for (int u = 0; u < p.right.width; ++u) {
      const int in_x = p.shifts.x + x + u - picture.x, in_y = p.shifts.y + y + v - picture.y;
      const bool inside =
          !overhang || (in_x >= 0 && in_y >= 0 && in_x < picture.width && in_y < picture.height);
      seen.is_whole = seen.is_whole && inside;
      seen.bytes.push_back(inside && mask.counts(u, v));
    }
  return seen;
}

/// The type in which T is summed.
template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

/// Calls f(x, y) for each pixel that counts, and returns their number, of weights their sum.
template <class F>
std::int64_t for_counted(Size size, const Mask& mask, F f) {
  std::int64_t n = 0;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      if (mask.counts(x, y)) {
        f(x, y);
        n += mask.times(x, y);
      }
  return n;
}

template <class T>
double mean_of(const Matrix<T>& m, const Mask& mask = {}) {
  Wide<T> sum = 0;
  const std::int64_t n =
      for_counted(m.size, mask, [&](int x, int y) { sum += mask.times(x, y) * m.at(x, y); });
  return static_cast<double>(sum) / static_cast<double>(n);
}

// ---- the methods ----------------------------------------------------------------------------

/// The terms of the definitions: f is the window, t the template, f' and t' the same less their
/// mean.
struct Terms {
  double difference = 0;      ///< sum (f - t)^2
  double product = 0;         ///< sum f t
  double left_energy = 0;     ///< sum f^2
  double right_energy = 0;    ///< sum t^2
  double covariance = 0;      ///< sum f' t', times scale
  double left_spread = 0;     ///< sum f'^2, times scale
  double right_spread = 0;    ///< sum t'^2, times scale
  double signed_product = 0;  ///< sum (f - 128) (t - 128), of bytes that stand for edges
  double signed_energy = 0;   ///< sum (t - 128)^2
  double scale = 1;           ///< 1, or n for integers, which keeps all of these integers
  bool flat = false;          ///< the window or the template has no variance
};

inline double method_score(Method method, const Terms& s) {
  const bool energy = s.left_energy > 0 && s.right_energy > 0;
  switch (method) {
    case Method::sqdiff:
      return s.difference;
    case Method::sqdiff_normed:
      if (s.difference == 0) return 0;
      if (!energy) return 1;
      return std::min(1.0, s.difference / std::sqrt(s.left_energy * s.right_energy));
    case Method::ccorr:
      return s.product;
    case Method::ccorr_normed:
      if (!energy) return 0;
      return std::clamp(s.product / std::sqrt(s.left_energy * s.right_energy), -1.0, 1.0);
    case Method::cosine_distance:
      return 1 - method_score(Method::ccorr_normed, s);
    case Method::ccoeff:
      return s.covariance / s.scale;
    case Method::ccoeff_normed:
      if (s.flat) return 0;
      return std::clamp(s.covariance / std::sqrt(s.left_spread * s.right_spread), -1.0, 1.0);
    case Method::orientation:
      if (s.signed_energy == 0) return 0;
      return std::clamp(s.signed_product / s.signed_energy, -1.0, 1.0);
  }
  return 0;
}

/// f and ff: sum f, sum f^2; likewise the others. n^2 * 65535^2 passes 2^63.
inline Terms integer_terms(Int128 n, Int128 f, Int128 ff, Int128 t, Int128 tt, Int128 ft) {
  const Int128 left_spread = n * ff - f * f, right_spread = n * tt - t * t;
  return {.difference = static_cast<double>(ff - 2 * ft + tt),
          .product = static_cast<double>(ft),
          .left_energy = static_cast<double>(ff),
          .right_energy = static_cast<double>(tt),
          .covariance = static_cast<double>(n * ft - f * t),
          .left_spread = static_cast<double>(left_spread),
          .right_spread = static_cast<double>(right_spread),
          .signed_product = static_cast<double>(ft - 128 * f - 128 * t + 128 * 128 * n),
          .signed_energy = static_cast<double>(tt - 256 * t + 128 * 128 * n),
          .scale = static_cast<double>(n),
          .flat = left_spread == 0 || right_spread == 0};
}

inline bool is_flat(double spread, double energy) { return !(spread > flat_share * energy); }

/// Of all planes of a picture: each sum is over them, each mean of one. `of(plane)`: its terms.
template <class OfPlane>
Terms over_planes(const Problem& p, OfPlane of) {
  Terms sum = of(0);
  if (p.planes == 1) return sum;
  for (int plane = 1; plane < p.planes; ++plane) {
    const Terms other = of(plane);
    for (double Terms::*term :
         {&Terms::difference, &Terms::product, &Terms::left_energy, &Terms::right_energy,
          &Terms::covariance, &Terms::left_spread, &Terms::right_spread, &Terms::signed_product,
          &Terms::signed_energy})
      sum.*term += other.*term;
  }
  sum.flat = p.type == ElementType::f32 ? is_flat(sum.left_spread, sum.left_energy) ||
                                              is_flat(sum.right_spread, sum.right_energy)
                                        : sum.left_spread == 0 || sum.right_spread == 0;
  return sum;
}

/// From the two matrices themselves, of integers. `left` is the window.
template <class T>
Terms terms_of(const Matrix<T>& left, const Matrix<T>& right, const Mask& mask = {}) {
  std::int64_t f_sum = 0, ff = 0, t_sum = 0, tt = 0, ft = 0;
  const std::int64_t n = for_counted(right.size, mask, [&](int x, int y) {
    const std::int64_t f = left.at(x, y), t = right.at(x, y), times = mask.times(x, y);
    f_sum += times * f, ff += times * f * f, t_sum += times * t, tt += times * t * t;
    ft += times * f * t;
  });
  return integer_terms(n, f_sum, ff, t_sum, tt, ft);
}

inline Terms terms_of(const Matrix<float>& left, const Matrix<float>& right,
                      const Mask& mask = {}) {
  const double left_mean = mean_of(left, mask), right_mean = mean_of(right, mask);
  Terms s;
  for_counted(right.size, mask, [&](int x, int y) {
    const double f = left.at(x, y), t = right.at(x, y);
    s.difference += (f - t) * (f - t);
    s.product += f * t;
    s.left_energy += f * f;
    s.right_energy += t * t;
    s.covariance += (f - left_mean) * (t - right_mean);
    s.left_spread += (f - left_mean) * (f - left_mean);
    s.right_spread += (t - right_mean) * (t - right_mean);
  });
  s.flat = is_flat(s.left_spread, s.left_energy) || is_flat(s.right_spread, s.right_energy);
  return s;
}

/// Of a right and its window at element (x, y) of the output, over the planes of a picture.
template <class T>
Terms terms_at(const Problem& p, const void* lefts, const void* rights, const Mask& mask, int r,
               int x, int y) {
  return over_planes(p, [&](int plane) {
    auto window = left_of_right<T>(p, lefts, r, plane);
    window.data += (p.shifts.y + y) * p.left_pitch + (p.shifts.x + x) * std::int64_t{sizeof(T)};
    window.size = p.right;
    return terms_of(window, right_of<T>(p, rights, std::int64_t{plane} * p.rights + r), mask);
  });
}

}  // namespace xcorr::cpu::plain
