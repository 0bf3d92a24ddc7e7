// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage feature_fft: the channels of windows, with a mean square of 1 (or all 0) -> their
// discrete Fourier transforms.
#pragma once

#include "stages/tracker/feature_maps.hpp"

namespace xcorr {
namespace tracker {

/// Columns of a spectrum; the others are their conjugates. [column][row], one column of frequencies
/// after the other.
constexpr int half = grid / 2 + 1;
constexpr int frequencies = half * grid;
constexpr int spectrum_floats = frequencies * 2 * channels;
/// Of a group of channels come the real parts at all frequencies, then the imaginary parts. From a
/// real part to its imaginary one:
constexpr int to_imaginary = frequencies * group;
/// Where a channel's real part at a frequency is.
XCORR_HD constexpr int real_place_of(int frequency, int channel) {
  return (channel / group * 2 * frequencies + frequency) * group + channel % group;
}

/// By what the channels of a window are multiplied. \param energy  of all of its parts
XCORR_HD inline float scale_of(double energy) {
  constexpr double nothing = 1e-4;  // a flat window has less, but for rounding
  return energy > nothing ? static_cast<float>(std::sqrt(cells * channels / energy)) : 0;
}

}  // namespace tracker

namespace stage {

struct FeatureFft {
  static constexpr const char* name = "feature_fft";

  struct Problem {
    int windows = 1;

    constexpr Features features() const { return Feature::f32; }
  };

  struct Buffers : Launch {
    const tracker::Look* looks = nullptr;
    const float* channels = nullptr;   ///< as of the stage feature_maps
    const double* energies = nullptr;  ///< of that, too
    float* spectra = nullptr;          ///< [window][group][part][frequency][channel]
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    const std::int64_t windows = p.windows;
    visit("looks", &Buffers::looks, records<tracker::Look>(windows));
    visit("channels", &Buffers::channels,
          records<float>(windows * tracker::cells * tracker::channels));
    visit("energies", &Buffers::energies, records<double>(windows * tracker::energy_parts));
    visit("spectra", &Buffers::spectra, records<float>(windows * tracker::spectrum_floats));
  }
};

}  // namespace stage
}  // namespace xcorr
