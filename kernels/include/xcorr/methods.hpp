// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The match methods: OpenCV's names and formulas. A new method is a row here, its formula in
// stages/score.hpp, and its plain definition in cpu/reference/reference_methods.hpp.
#pragma once

#include <cstdint>
#include <span>

namespace xcorr {

/// With f = the window of the frame, t = the template, n = their number of pixels, and f', t' = the
/// same less their mean (ccoeff-normed is zero-normalised cross-correlation, ZNCC; ccorr-normed is
/// NCC):
enum class Method : std::uint8_t {
  sqdiff,
  sqdiff_normed,
  ccorr,
  ccorr_normed,
  ccoeff,
  ccoeff_normed,
};

struct MethodInfo {
  Method method;
  const char* name;     ///< as users specify it
  const char* formula;  ///< for documentation
  bool minimum;         ///< the best match is the smallest score
  bool normed;          ///< a score is in [-1, 1]; the others are sums in the data's units
  bool centred;         ///< means are removed first
};

inline constexpr MethodInfo method_table[] = {
    {Method::sqdiff, "sqdiff", "sum (f - t)^2", true, false, false},
    {Method::sqdiff_normed, "sqdiff-normed", "sum (f - t)^2 / sqrt(sum f^2 sum t^2)", true, true,
     false},
    {Method::ccorr, "ccorr", "sum f t", false, false, false},
    {Method::ccorr_normed, "ccorr-normed", "sum f t / sqrt(sum f^2 sum t^2)", false, true, false},
    {Method::ccoeff, "ccoeff", "sum f' t'", false, false, true},
    {Method::ccoeff_normed, "ccoeff-normed", "sum f' t' / sqrt(sum f'^2 sum t'^2)", false, true,
     true},
};

constexpr std::span<const MethodInfo> methods() { return method_table; }

constexpr const MethodInfo& info(Method method) {
  return method_table[static_cast<std::uint8_t>(method)];
}

}  // namespace xcorr
