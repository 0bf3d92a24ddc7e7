// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Products by Fourier transforms in double precision, for other families. They are rounded to
// integers, so they are exact where the rights are so small that the error is below a half.
#pragma once

#include "stages/correlate/correlate.hpp"

namespace xcorr::cpu::fft {

/// Of problems of u8.
const Variant<stage::Correlate>& of_bytes();
/// The largest error that products with rights of 0 and 1 can have.
double error_bound_of_ones(const Problem& p);

}  // namespace xcorr::cpu::fft
