// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a filter sees of a window: 32 channels for each cell of 4 x 4 pixels. 31 are histograms of
// oriented gradients in the form of Felzenszwalb et al. (Object Detection with Discriminatively
// Trained Part-Based Models, 2010): 18 directions, 9 orientations, and how much gradient there is
// in 4 neighbourhoods, by whose contrast the histograms are normalised. The last one is the mean,
// less the window's.
#pragma once

#include <span>
#include <vector>

namespace xcorr::tracker {

constexpr int cell = 4;       ///< pixels
constexpr int grid = 40;      ///< cells of a window in each direction
constexpr int channels = 32;  ///< of a cell
constexpr int window_size = grid * cell;
constexpr int orientations = 9, directions = 2 * orientations;  ///< of gradients

/// The channels of the cells, row by row, those of a cell together: faded out towards the window's
/// edges by a Hann window, with a mean square of 1 (or all 0).
std::vector<float> channels_of(std::span<const float> window);

}  // namespace xcorr::tracker
