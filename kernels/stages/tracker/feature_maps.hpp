// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage feature_maps: square parts of a frame, upright or turned, resampled to windows of 160 x
// 160 pixels -> the input of filters: 32 channels for each cell of 4 x 4 pixels. 18 are histograms
// of gradients by their direction, normalised by the contrast of 4 neighbourhoods, as in
// Felzenszwalb et al. (Object Detection with Discriminatively Trained Part-Based Models, 2010), of
// which they leave out the orientations and the sums. 14 are learned, of luma and chroma: see
// learned_channels.hpp. All are faded out towards the window's edges by a Hann window.
#pragma once

#include "stages/common/stage.hpp"
#include "stages/tracker/learned_channels.hpp"
#include "stages/tracker/window.hpp"

namespace xcorr {
namespace tracker {

constexpr int channels = 32;  ///< of a cell
/// Channels lie in memory in groups, so that few of them are read in a row: first those of the
/// first group, of all cells.
constexpr int group = 8, groups = channels / group;
/// Where a cell's channel is.
XCORR_HD constexpr int place_of(int cell, int channel) {
  return (channel / group * cells + cell) * group + channel % group;
}
constexpr int orientations = 9, directions = 2 * orientations;  ///< of gradients
static_assert(directions + learned_channels == channels);

/// Longer gradients count no more than this, relative to the contrast around.
constexpr float longest_gradient = 0.2f;
/// What the contrast is at least, so that noise alone counts little. Pixels squared.
constexpr float least_energy = 0.1f;

/// Parts of the sum of a window's channels' squares: as many as there are rows of cells, but who
/// makes the channels may share them out in another way, and leave some 0.
constexpr int energy_parts = grid;

/// How much of a window's rows and columns of cells is left.
struct Fade {
  float of[grid];
  Fade() {
    for (int i = 0; i < grid; ++i)
      of[i] = static_cast<float>(0.5 - 0.5 * std::cos(2 * std::numbers::pi * (i + 1) / (grid + 1)));
  }
};

}  // namespace tracker

/// What one direction of an upright window is made of: each of its pixels is a weighted mean of
/// pixels of the frame. The weights are a triangle as wide as two pixels of the window, or of the
/// frame where those are larger. Of large windows only every `step`-th pixel of the frame is read,
/// at least three a side of the triangle.
struct WindowTaps {
  static constexpr int most = 13;  ///< of a pixel

  double begin, scale, half;
  double per_half, per_step;  ///< 1 / half, 1 / step
  int step, each;

  WindowTaps() = default;
  XCORR_HD WindowTaps(double middle, double side)
      : begin(middle - side / 2), scale(side / tracker::window_size) {
    half = scale > 1 ? scale : 1;
    step = static_cast<int>(scale / 3);
    if (step < 1) step = 1;
    per_half = 1 / half;
    per_step = 1.0 / step;
    each = 2 * static_cast<int>(std::ceil(half * per_step)) + 1;
  }

  /// The frame's pixels of the window's pixel i are (first(i) + k) * step, k < each.
  XCORR_HD int first(int i) const {
    return static_cast<int>(std::floor((middle(i) - half) * per_step)) + 1;
  }
  /// How far a tap is from the pixel's middle, of what the triangle reaches.
  XCORR_HD double away(int i, int tap) const {
    return (static_cast<double>(tap) * step - middle(i)) * per_half;
  }
  /// Not yet divided by their sum.
  XCORR_HD double weight(int i, int tap) const {
    const double share = std::abs(away(i, tap));
    return share < 1 ? 1 - share : 0;
  }
  XCORR_HD double sum(int i) const {
    const int from = first(i);
    double sum = 0;
    for (int k = 0; k < each; ++k) sum += weight(i, from + k);
    return sum;
  }

 private:
  XCORR_HD double middle(int i) const { return begin + (i + 0.5) * scale - 0.5; }
};

namespace stage {

struct FeatureMaps {
  static constexpr const char* name = "feature_maps";

  struct Problem {
    Size frame;              ///< outside, its edge pixels are repeated
    std::int64_t pitch = 0;  ///< bytes; may be negative
    PixelLayout layout;
    int windows = 1;
    tracker::ColorLayout colors = {};
    /// Whether pixels of windows lie where the croppings say (see turned_window.hpp), or upright in
    /// the parts that the looks name.
    bool turned = false;

    bool operator==(const Problem&) const = default;
    constexpr Features features() const { return Feature::u8; }
  };

  struct Buffers : Launch {
    const std::uint8_t* pixels = nullptr;  ///< the frame's, of which all that windows read is there
    const tracker::Look* looks = nullptr;
    /// The planes of the colours; of a gray frame all are the first one.
    const std::uint8_t *plane_0 = nullptr, *plane_1 = nullptr, *plane_2 = nullptr;
    const tracker::Cropping* croppings = nullptr;  ///< where the windows lie
    /// [window][group][cell, row by row][channel of the group]
    float* channels = nullptr;
    /// Sums of squares of the channels of each window, in parts, of which only the sum is agreed:
    /// [window][part]
    double* energies = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("pixels", &Buffers::pixels,
          Extent{(p.frame.height - 1) * p.pitch + std::int64_t{p.frame.width} * p.layout.bytes, 1});
    visit("looks", &Buffers::looks, records<tracker::Look>(p.windows));
    visit("plane_0", &Buffers::plane_0, Extent{p.colors.bytes_of(0, p.frame), 1});
    visit("plane_1", &Buffers::plane_1, Extent{p.colors.bytes_of(1, p.frame), 1});
    visit("plane_2", &Buffers::plane_2, Extent{p.colors.bytes_of(2, p.frame), 1});
    visit("croppings", &Buffers::croppings, records<tracker::Cropping>(p.windows));
    visit("channels", &Buffers::channels,
          records<float>(std::int64_t{p.windows} * tracker::cells * tracker::channels));
    visit("energies", &Buffers::energies,
          records<double>(std::int64_t{p.windows} * tracker::energy_parts));
  }
};

}  // namespace stage
}  // namespace xcorr
