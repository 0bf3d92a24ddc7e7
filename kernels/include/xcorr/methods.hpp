// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The match methods: OpenCV's names and formulas. A new method is a row here, its formula in
// stages/match/score.hpp, and its plain definition in tests/oracle/reference_methods.hpp.
#pragma once

#include <cstdint>
#include <span>

namespace xcorr {

/// f is the template window of the frame, t the template, n their number of pixels; f' and t' are f
/// and t less their means (ccoeff-normed is zero-normalised cross-correlation, ZNCC; ccorr-normed
/// is NCC):
enum class Method : std::uint8_t {
  sqdiff,
  sqdiff_normed,
  ccorr,
  ccorr_normed,
  ccoeff,
  ccoeff_normed,
  /// What MatchOn::edges scores by, whatever method is set; not one to be set.
  orientation,
  /// 1 - ccorr_normed, by which its places are chosen where pixels have more than 8 bits; neither is
  /// this one to be set.
  cosine_distance,
};

/// Whether a match has the contrast of the template or the opposite one.
enum class Polarity : std::uint8_t {
  same,
  inverted,
  either,
};

struct MethodInfo {
  Method method;
  const char* name;     ///< as users specify it
  const char* formula;  ///< for documentation
  bool minimum;         ///< the best match is the smallest score
  bool normed;          ///< a score is in [-1, 1]; the others are sums in the data's units
  bool centred;         ///< means are removed first
};

/// Not from a table, which device code could not read.
constexpr MethodInfo info(Method method) {
  switch (method) {
    case Method::sqdiff:
      return {method, "sqdiff", "sum (f - t)^2", true, false, false};
    case Method::sqdiff_normed:
      return {method, "sqdiff-normed", "sum (f - t)^2 / sqrt(sum f^2 sum t^2)", true, true, false};
    case Method::ccorr:
      return {method, "ccorr", "sum f t", false, false, false};
    case Method::ccorr_normed:
      return {method, "ccorr-normed", "sum f t / sqrt(sum f^2 sum t^2)", false, true, false};
    case Method::ccoeff:
      return {method, "ccoeff", "sum f' t'", false, false, true};
    case Method::orientation:
      return {method, "orientation", "sum f . t / sum t . t", false, true, false};
    case Method::cosine_distance:
      return {method, "cosine-distance", "1 - sum f t / sqrt(sum f^2 sum t^2)", true, true, false};
    case Method::ccoeff_normed:
      break;
  }
  return {Method::ccoeff_normed,
          "ccoeff-normed",
          "sum f' t' / sqrt(sum f'^2 sum t'^2)",
          false,
          true,
          true};
}

inline constexpr MethodInfo method_table[] = {
    info(Method::sqdiff),       info(Method::sqdiff_normed), info(Method::ccorr),
    info(Method::ccorr_normed), info(Method::ccoeff),        info(Method::ccoeff_normed),
};

constexpr std::span<const MethodInfo> methods() { return method_table; }

}  // namespace xcorr
