// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Edges on the calling thread, for what makes those of many small images.
#pragma once

#include <cstddef>

#include "stages/image/edges.hpp"

namespace xcorr::cpu {

/// What make_edge_rows() works in, for a region of that width.
std::size_t edge_scratch_bytes(int width);

/// Makes some rows of the region's edges, top to bottom.
void make_edge_rows(const stage::Edges::Problem& p, const stage::Edges::Buffers& b,
                    std::byte* scratch, int begin, int end);

}  // namespace xcorr::cpu
