// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is asked of pictures that come from outside; <xcorr/image.hpp> is defined here, too.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <xcorr/image.hpp>

namespace xcorr {

/// Whether rows of such elements can lie so. Errors (invalid_argument) name the matrix.
Status check_rows(const MatrixView& view, const std::string& name);

/// The rows, one behind the other; of packed pixels their luma.
std::vector<std::byte> dense_copy(const MatrixView& view);

}  // namespace xcorr
