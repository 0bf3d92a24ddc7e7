// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The channels that are learned: what three convolutions make of the luma and the chroma of a
// window. They were trained end to end with what comes after them, a correlation filter that is
// solved for in closed form, so that a filter of one frame of a video finds the target in another
// one (the idea is that of Valmadre et al., CFNet, 2017, and Wang et al., DCFNet, 2017):
//   16 sums of 5 x 5 pixels around every second one, at least 0, divided by their root mean square
//   in 5 x 5 places; 24 of 3 x 3 of these around every second one, at least 0; 14 of 3 x 3 of
//   these, a cell each, divided by their length.
// docs/evaluation.md says on what they were trained, and bench/tracking/learn_channels.py how.
#pragma once

#include "stages/tracker/colors.hpp"
#include "stages/tracker/window.hpp"

namespace xcorr::tracker {

/// Of so many channels of each of `side` x `side` pixels: `out` weighted sums over `size` x `size`
/// pixels around every `stride`-th one, with zeros past the edge.
struct Convolution {
  int side, in, out, size, stride;

  constexpr int out_side() const { return side / stride; }
  /// Pixels before the one that a sum is around.
  constexpr int before() const { return (size - 1) / 2; }
  constexpr int weights() const { return size * size * in * out; }
};

constexpr int learned_channels = 14;  ///< of a cell
constexpr int convolution_count = 3;
constexpr Convolution convolutions[convolution_count] = {
    {window_size, 3, 16, 5, 2},
    {window_size / 2, 16, 24, 3, 2},
    {grid, 24, learned_channels, 3, 1},
};
static_assert(convolutions[0].out_side() == convolutions[1].side &&
              convolutions[1].out_side() == convolutions[2].side);

/// Where a layer's parameters begin: its weights, by row, column, channel in and channel out, and
/// then what is added to each channel out. Behind those of all layers there are factors: of each
/// direction of gradients, and of all that is learned.
constexpr int first_parameter(int layer) {
  int first = 0;
  for (int i = 0; i < layer; ++i) first += convolutions[i].weights() + convolutions[i].out;
  return first;
}
constexpr int first_gain = first_parameter(convolution_count);

/// A value of a channel in, of luma 0 to 255 and chroma -128 to 127.
constexpr float middle_luma = 128, unit_of_luma = 64, unit_of_chroma = 32;

/// After the first layer, and after the last one: what squares are at least.
constexpr float least_square = 0.05f;
/// Of the mean square after the first layer: so many places to all sides. Past the edge it is 0.
constexpr int square_reach = 2, square_places = (2 * square_reach + 1) * (2 * square_reach + 1);

/// Chroma is read for 2 x 2 pixels at a time.
constexpr int chroma_grid = window_size / 2;

/// That of such pixels.
XCORR_HD inline Color color_of_four(const ColorLayout& layout, Size frame,
                                    const std::uint8_t* const (&pixels)[color_planes],
                                    const Cropping& window, int x, int y) {
  const PixelPlace place = window.nearest(2 * x + 1, 2 * y + 1);
  return layout.at(frame, pixels, place.x, place.y);
}

}  // namespace xcorr::tracker
