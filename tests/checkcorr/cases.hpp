// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A test problem as data: a row of the tables in correlate_cases.cpp and match_cases.cpp, or one to
// time in bench/checkcorr/bench_cases.cpp. Each row is tried with every variant of every stage that
// supports it. Sizes lie around the edges of warps and tiles (1 31 32 33 63 65), of vectors, and at
// primes.
#pragma once

#include <span>

#include <xcorr/methods.hpp>

#include "stages/common/stage.hpp"

namespace checkcorr {

using xcorr::ElementType;
using xcorr::Form;
using xcorr::Rect;
using xcorr::Size;

/// What the matrices hold.
enum class Fill : std::uint8_t {
  integers,      ///< integers with |v| <= 15: float32 is exact in any order
  reals,         ///< u8, u16: any value; i32: any of 27 bits; f32, f64: uniform in [-1, 1)
  wide,          ///< f32: magnitudes from 2^-10 to 2^10
  binary,        ///< 0 and 1: many equal scores
  constant,      ///< every value 100 (u8) or 3 (f32)
  extremes,      ///< every value 255; u16: 65535; i32: -2^26
  zeros,         ///< every value 0
  flat_right,    ///< a constant right in a random left
  flat_left,     ///< a random right in a constant left
  near_flat,     ///< f32: 0.5 + 1e-9 N(0, 1); u8, u16: one pixel in 97 differs by 1
  low_contrast,  ///< f32: 100 + 0.01 N(0, 1); u8, u16: 199 or 200
  copies,        ///< each right is cut out of the first left, or its own
};

/// Which pixels of the rights count.
enum class Mask : std::uint8_t {
  none,     ///< all of them do
  disc,     ///< those of the inscribed ellipse
  ring,     ///< the rim of two pixels: two runs in most rows
  noise,    ///< about half of them, at random
  pixel,    ///< the middle one
  weights,  ///< as often as a soft disc's bytes say; for stages that take weights
};

enum class Shifts : std::uint8_t { valid, full, rectangle };

struct Case {
  const char* name;
  ElementType type = ElementType::u8;
  Size left = {}, right = {};
  Shifts shifts = Shifts::valid;
  Fill fill = Fill::reals;
  Form form = Form::one_to_one;
  int lefts = 1, rights = 1;
  bool own_lefts = false;  ///< of each right
  int planes = 1;          ///< of each picture; for the stages of matches
  int quiet = 0;           ///< bits of contrast that u8 planes after the first one lack
  int lead_plane = -1;     ///< as stage::Search::Problem
  Rect rectangle = {};     ///< for Shifts::rectangle
  int pad = 0;             ///< elements after each row; also a row's worth between matrices
  int misalign = 0;        ///< elements by which pointers miss the alignment of an allocation
  int max_peaks = 4;
  int distance = 0;  ///< as MatchSettings::min_peak_distance
  double threshold = 0;
  bool subpixel = true;
  Mask mask = Mask::none;                            ///< for the stages of matches
  xcorr::Polarity polarity = xcorr::Polarity::same;  ///< for methods whose scores have a sign
  double min_contrast = 0;
  Rect picture = {};    ///< of the left, with zeros round it; empty: all of it
  double overhang = 0;  ///< of windows, out of the picture

  bool filter = false;  ///< for the filter stage only; the shifts are the requested part
  double sigma = 0;     ///< of Gaussian weights; 0: random ones of these radii
  int radius_x = 0, radius_y = 0;
  ElementType sums = ElementType::f32;  ///< as FilterProblem::sums
};

/// Those to check, which are both tables and more, and those to time.
std::span<const Case> cases();
std::span<const Case> correlate_cases();
std::span<const Case> match_cases();
std::span<const Case> bench_cases();

/// The case's problem, with its pitches and strides.
xcorr::Problem problem_of(const Case& c);

/// Products of pixels that exist, over all shifts and outputs.
std::int64_t products_of(const xcorr::Problem& problem);

/// u8, u16 or f32, one left over valid shifts: the stages after correlate support it, too.
bool is_matching(const Case& c);

}  // namespace checkcorr
