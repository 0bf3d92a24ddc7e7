// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The parameters of the learned channels as the CPU reads them.
#pragma once

#include <vector>

#include "stages/tracker/learned_channels.hpp"

namespace xcorr::cpu::learned {

/// Channels out are padded with zeros to so many, the longest vector's.
constexpr int lanes_of_parameters = 16;
constexpr int padded_out(int layer) {
  return (tracker::convolutions[layer].out + lanes_of_parameters - 1) / lanes_of_parameters *
         lanes_of_parameters;
}

class Parameters {
 public:
  static const Parameters& of_all();

  /// By row, column and channel in, the channels out. \param in  the layer's, or 1: of its first
  /// one
  const float* weights(int layer, int in) const {
    return in == tracker::convolutions[layer].in ? weights_[layer].data() : of_luma_.data();
  }
  const float* biases(int layer) const { return biases_[layer].data(); }
  const float* gradient_gains() const { return gains_.data(); }
  float learned_gain() const { return gains_.back(); }

 private:
  Parameters();

  std::vector<float> weights_[tracker::convolution_count], biases_[tracker::convolution_count];
  std::vector<float> of_luma_;
  std::vector<float> gains_;
};

}  // namespace xcorr::cpu::learned
