// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks and copies of the caller's images; <xcorr/image.hpp> is also implemented here.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <xcorr/image.hpp>

namespace xcorr {

/// Whether images of that type can be matched, and a message's list of these.
constexpr bool is_matched(ElementType type) {
  return type == ElementType::u8 || type == ElementType::u16 || type == ElementType::f32;
}
inline constexpr const char* matched_types = "u8, u16 or f32";

/// Checks the pixel layout and the pitch. Errors (invalid_argument) name the matrix.
Status check_rows(const MatrixView& view, const std::string& name);

/// The same of the planes of its colour, of which there may be none.
Status check_color(const MatrixView& view, const std::string& name);

/// The rows without padding; for packed pixels their luma.
std::vector<std::byte> dense_copy(const MatrixView& view);
/// The planes of a picture in colour, one after the other.
std::vector<std::byte> dense_color(const MatrixView& view);

}  // namespace xcorr
