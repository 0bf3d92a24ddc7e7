// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage window_sums: the search region -> window sums (usually got from an integral image): the
// sum and the sum of squares of the window at each shift, once for all templates of a size
// and a mask.
#pragma once

#include "stages/correlate/correlate.hpp"
#include "stages/match/mask.hpp"

namespace xcorr {

/// The window sums of u8 are u32, those of u16 and weighted ones u64, and their squares as wide as
/// products are; those of f32 are double.
constexpr ElementType window_sum_type(const Problem& p, bool weighted = false) {
  if (p.type == ElementType::u16 || weighted) return ElementType::u64;
  return is_integral(p.type) ? ElementType::u32 : ElementType::f64;
}
constexpr ElementType window_square_type(const Problem& p, bool weighted = false) {
  if (weighted) return ElementType::u64;
  return is_integral(p.type) ? p.output_type() : ElementType::f64;
}
/// The place of a right's first window among the windows of all lefts.
constexpr std::int64_t first_window(const Problem& p, std::int64_t right) {
  return p.own_lefts ? right * p.shifts.size().area() : 0;
}
/// Of a plane.
constexpr std::int64_t windows_of(const Problem& p) {
  return p.total_lefts() * p.shifts.size().area();
}
/// Dense surfaces, one value per shift; those of one plane after those of another.
constexpr Extent window_sums_of(const Problem& p, bool weighted = false) {
  return elements(window_sum_type(p, weighted), p.planes * windows_of(p));
}
constexpr Extent window_squares_of(const Problem& p, bool weighted = false) {
  return elements(window_square_type(p, weighted), p.planes * windows_of(p));
}

namespace stage {

struct WindowSums {
  static constexpr const char* name = "window_sums";

  struct Problem {
    xcorr::Problem correlate;  ///< its rights' size is the windows'
    Masking masking = {};
    /// What is wanted; the other may be left as it is.
    bool sums = true, squares = true;

    constexpr Features features() const {
      return features_of(correlate)
          .with(Feature::mask, bool(masking))
          .with(Feature::weights, masking.weighted);
    }
    constexpr ElementType sum_type() const { return window_sum_type(correlate, masking.weighted); }
    constexpr ElementType square_type() const {
      return window_square_type(correlate, masking.weighted);
    }
  };

  struct Buffers : Launch {
    const void* lefts = nullptr;
    const std::uint8_t* mask =
        nullptr;  ///< see stages/match/mask.hpp; given to a plan by set_rights()
    void* window_sums = nullptr;
    void* window_squares = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("lefts", &Buffers::lefts, lefts_of(p.correlate));
    visit("mask", &Buffers::mask, p.masking.extent(p.correlate.right));
    visit("window_sums", &Buffers::window_sums, window_sums_of(p.correlate, p.masking.weighted));
    visit("window_squares", &Buffers::window_squares,
          window_squares_of(p.correlate, p.masking.weighted));
  }
};

}  // namespace stage
}  // namespace xcorr
