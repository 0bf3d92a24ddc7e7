// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Functions for images in host memory, before they become templates.
#pragma once

#include <xcorr/export.hpp>
#include <xcorr/types.hpp>

namespace xcorr {

/// Whether all pixels are equal: such a template has no variance and cannot match by the ccoeff
/// methods. `view` is in host memory.
XCORR_API bool is_flat(const MatrixView& view);

/// Writes the luma of u8 pixels of any layout, row by row, `pitch` bytes apart. Both are in host
/// memory.
XCORR_API void copy_luma(const MatrixView& view, std::uint8_t* to, std::ptrdiff_t pitch);

}  // namespace xcorr
