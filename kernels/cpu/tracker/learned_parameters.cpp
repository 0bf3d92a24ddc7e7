// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cpu/tracker/learned_parameters.hpp"

#include <algorithm>

namespace xcorr::cpu::learned {
namespace {

constexpr float all[] = {
#include "stages/tracker/learned_channels.inc"
};

}  // namespace

const Parameters& Parameters::of_all() {
  static const Parameters parameters;
  return parameters;
}

Parameters::Parameters() : gains_(all + tracker::first_gain, std::end(all)) {
  for (int layer = 0; layer < tracker::convolution_count; ++layer) {
    const tracker::Convolution& made = tracker::convolutions[layer];
    const int padded = padded_out(layer), rows = made.weights() / made.out;
    const float* from = all + tracker::first_parameter(layer);
    weights_[layer].resize(rows * padded);
    for (int i = 0; i < rows; ++i, from += made.out)
      std::copy_n(from, made.out, &weights_[layer][i * padded]);
    biases_[layer].resize(padded);
    std::copy_n(from, made.out, biases_[layer].data());
  }
  constexpr tracker::Convolution first = tracker::convolutions[0];
  for (int i = 0; i < first.size * first.size; ++i) {
    const float* const of_pixel = &weights_[0][i * first.in * padded_out(0)];
    of_luma_.insert(of_luma_.end(), of_pixel, of_pixel + padded_out(0));
  }
}

}  // namespace xcorr::cpu::learned
