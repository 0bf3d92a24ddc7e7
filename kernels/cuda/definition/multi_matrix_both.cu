// SPDX-License-Identifier: LGPL-2.1-or-later
//
// multi-matrix-both (paper section 4.3.2, thesis 3.4.5): the kernel of warp_shuffle.cuh with
// several lefts and several rights a thread, of which each left meets each right. It is for n-to-m,
// the one form in which both sides can be shared, and with overlaps grouped as well it has the most
// multiply-adds for a shuffle of all warp-shuffle families.
//
// multi_matrix_both.lLrR[.jJD | .oOlL]: L lefts, R rights; jobs as in split_row.cu; overlaps and
// left rows as in grouped_overlap.cu; wN: N warps a block, else 4.
#include "cuda/definition/warp_shuffle.cuh"

namespace xcorr::cuda {
namespace {

constexpr auto rectangle = Distribution::rectangle, triangle = Distribution::triangle;

constexpr Variant table[] = {
    warp_shuffle_variant<WarpTile<2, 2>>("multi_matrix_both.l2r2"),
    warp_shuffle_variant<WarpTile<2, 4>>("multi_matrix_both.l2r4"),
    warp_shuffle_variant<WarpTile<4, 4>>("multi_matrix_both.l4r4"),
    warp_shuffle_variant<WarpTile<2, 4>, 4, triangle, 4>("multi_matrix_both.l2r4.j4t"),
    warp_shuffle_variant<WarpTile<4, 4>, 4, triangle, 2>("multi_matrix_both.l4r4.j2t"),
    warp_shuffle_variant<WarpTile<4, 4>, 4, triangle, 8>("multi_matrix_both.l4r4.j8t"),
    warp_shuffle_variant<WarpTile<4, 4>, 4, rectangle, 8>("multi_matrix_both.l4r4.j8r"),
    warp_shuffle_variant<WarpTile<2, 2, 4, 1>>("multi_matrix_both.l2r2.o4l1"),
    warp_shuffle_variant<WarpTile<2, 2, 2, 2>>("multi_matrix_both.l2r2.o2l2"),
    warp_shuffle_variant<WarpTile<2, 4, 2, 2>>("multi_matrix_both.l2r4.o2l2"),
    warp_shuffle_variant<WarpTile<2, 4, 4, 4>>("multi_matrix_both.l2r4.o4l4"),
    warp_shuffle_variant<WarpTile<4, 4, 2, 2>>("multi_matrix_both.l4r4.o2l2"),
    warp_shuffle_variant<WarpTile<4, 4, 2, 4>>("multi_matrix_both.l4r4.o2l4"),
    warp_shuffle_variant<WarpTile<4, 4, 4, 2>>("multi_matrix_both.l4r4.o4l2"),
    warp_shuffle_variant<WarpTile<4, 4, 4, 4>>("multi_matrix_both.l4r4.o4l4"),
    warp_shuffle_variant<WarpTile<4, 4, 4, 4>, 8>("multi_matrix_both.l4r4.o4l4w8"),
};

}  // namespace

Family multi_matrix_both_family() { return table; }

}  // namespace xcorr::cuda
