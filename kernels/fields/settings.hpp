// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What of a field's settings, its mask and its places cannot be.
#pragma once

#include <span>

#include <xcorr/field.hpp>

namespace xcorr {

/// Errors: invalid_argument, unsupported; they name what is wrong.
Status check_field(Size image, const FieldSettings& settings, const MatrixView& mask,
                   std::span<const FieldPlace> places);

}  // namespace xcorr
