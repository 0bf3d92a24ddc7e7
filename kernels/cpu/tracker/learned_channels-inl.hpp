// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The learned channels of a window on the CPU: a vector has channels of a place, and what is read
// of the layer before, with zeros round it, is next to each other for each row of weights. See
// cpu/common/simd.hpp for how this header is included.
#if defined(XCORR_CPU_LEARNED_CHANNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef XCORR_CPU_LEARNED_CHANNELS_INL
#undef XCORR_CPU_LEARNED_CHANNELS_INL
#else
#define XCORR_CPU_LEARNED_CHANNELS_INL
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cpu/common/common.hpp"
#include "cpu/tracker/learned_parameters.hpp"
#include "stages/tracker/feature_maps.hpp"

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::learned::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace tracker;

using D = hn::CappedTag<float, lanes_of_parameters>;
using V = hn::Vec<D>;
constexpr int lanes = hn::MaxLanes(D());

/// Without colours the first layer reads luma alone.
constexpr int of_luma = 1;

/// What a layer reads, place by place, with zeros round it.
template <int layer, int in = convolutions[layer].in>
struct Input {
  static constexpr Convolution made = convolutions[layer];
  /// Places before and behind those of a row, the latter for what is computed too many.
  static constexpr int before = made.before(), behind = 16, width = before + made.side + behind;

  std::vector<float> of = std::vector<float>((made.side + 2 * before) * width * in);

  float* at(int x, int y) { return &of[((y + before) * width + x + before) * in]; }
};

struct Scratch {
  Input<0> pixels;
  Input<0, of_luma> luma;
  Input<1> first;
  Input<2> second;
  /// Of the places of a row, more than there are, each a whole number of vectors.
  std::vector<float> row = std::vector<float>((chroma_grid + 16) * 2 * lanes_of_parameters);
  /// Of the first layer's channels, place by place, and on the way to those round a place.
  struct Squares {
    std::array<float, convolutions[1].side * convolutions[1].side> of, across;
  } squares;
};

/// Sums of `vectors` vectors of channels at `together` places of a row.
template <int layer, int in, int vectors, int together>
HWY_INLINE void add_up(const float* from, const float* weights, const float* biases, float* to) {
  constexpr Convolution made = convolutions[layer];
  constexpr int out = padded_out(layer), width = Input<layer, in>::width;
  const D d;
  V sums[together][vectors];
  for (auto& of_place : sums)
    for (int v = 0; v < vectors; ++v) of_place[v] = hn::LoadU(d, biases + v * lanes);
  for (int y = 0; y < made.size; ++y) {
    for (int i = 0; i < made.size * in; ++i, weights += out) {
      V each[vectors];
      for (int v = 0; v < vectors; ++v) each[v] = hn::LoadU(d, weights + v * lanes);
      for (int k = 0; k < together; ++k) {
        const V value = hn::Set(d, from[k * made.stride * in + i]);
        for (int v = 0; v < vectors; ++v) sums[k][v] = hn::MulAdd(value, each[v], sums[k][v]);
      }
    }
    from += width * in;
  }
  for (int k = 0; k < together; ++k)
    for (int v = 0; v < vectors; ++v) hn::StoreU(sums[k][v], d, to + k * out + v * lanes);
}

/// Calls put(x, y, sums) for each place of the layer's output.
template <int layer, int in, class Put>
void convolve(Input<layer, in>& from, std::vector<float>& row, Put put) {
  constexpr Convolution made = convolutions[layer];
  constexpr int out = padded_out(layer), side = made.out_side();
  // As many sums as hide the latency of a multiplication, and divide a row.
  constexpr int vectors = std::min(out / lanes, 2), together = vectors == 1 ? 10 : 5;
  static const Parameters& parameters = Parameters::of_all();
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; x += together)
      for (int v = 0; v < out; v += vectors * lanes)
        add_up<layer, in, vectors, together>(
            from.at(x * made.stride - made.before(), y * made.stride - made.before()),
            parameters.weights(layer, in) + v, parameters.biases(layer) + v, &row[x * out + v]);
    for (int x = 0; x < side; ++x) put(x, y, &row[x * out]);
  }
}

/// Calls with the place of each vector of a layer's channels. What they are padded with is 0.
template <int layer, class Visit>
HWY_INLINE void for_vectors(Visit visit) {
  for (int k = 0; k < padded_out(layer); k += lanes) visit(k);
}

/// The sums of squares over channels become those over places round each.
inline void add_around(Scratch& scratch) {
  constexpr int side = convolutions[1].side;
  auto& [squares, across] = scratch.squares;
  for (int y = 0; y < side; ++y) {
    const float* const from = &squares[y * side];
    float* const to = &across[y * side];
    for (int x = 0; x < side; ++x) to[x] = from[x];
    for (int reach = 1; reach <= square_reach; ++reach) {
      for (int x = reach; x < side; ++x) to[x] += from[x - reach];
      for (int x = 0; x + reach < side; ++x) to[x] += from[x + reach];
    }
  }
  for (int y = 0; y < side; ++y) {
    float* const to = &squares[y * side];
    std::fill_n(to, side, 0.0f);
    for (int row = std::max(y - square_reach, 0); row < std::min(y + square_reach + 1, side); ++row)
      for (int x = 0; x < side; ++x) to[x] += across[row * side + x];
  }
}

/// What the first layer has made, divided by its root mean square round each place.
inline void even_out(Scratch& scratch) {
  constexpr Convolution made = convolutions[1];
  add_around(scratch);
  for (int y = 0; y < made.side; ++y)
    for (int x = 0; x < made.side; ++x) {
      const float mean = scratch.squares.of[y * made.side + x] / (square_places * made.in);
      const float share = 1 / std::sqrt(mean + least_square);
      float* const values = scratch.first.at(x, y);
      for (int k = 0; k < made.in; ++k) values[k] *= share;
    }
}

inline float value_of_luma(float luma) { return (luma - middle_luma) / unit_of_luma; }

/// Luma, and chroma, which 2 x 2 pixels share.
template <class ColorOf>
void fill(const std::vector<float>& window, const ColorOf& color_of, Input<0>& pixels) {
  for (int y = 0; y < chroma_grid; ++y)
    for (int x = 0; x < chroma_grid; ++x) {
      const Color color = color_of(x, y);
      for (int i = 0; i < 4; ++i) {
        const int column = 2 * x + i % 2, row = 2 * y + i / 2;
        float* const to = pixels.at(column, row);
        to[0] = value_of_luma(window[row * window_size + column]);
        to[1] = static_cast<float>(color.blue) / unit_of_chroma;
        to[2] = static_cast<float>(color.red) / unit_of_chroma;
      }
    }
}

/// Calls put(x, y, values) for each cell. \param window  its luma
/// \param color_of  that of 2 x 2 pixels, where there are colours
template <class ColorOf, class Put>
void make_channels(const std::vector<float>& window, bool has_colors, const ColorOf& color_of,
                   Scratch& scratch, Put put) {
  const D d;
  const auto put_first = [&](int x, int y, const float* sums) HWY_ATTR {
    static_assert(padded_out(0) == convolutions[0].out);
    V squares = hn::Zero(d);
    for_vectors<0>([&](int k) HWY_ATTR {
      const V value = hn::Max(hn::LoadU(d, sums + k), hn::Zero(d));
      squares = hn::MulAdd(value, value, squares);
      hn::StoreU(value, d, scratch.first.at(x, y) + k);
    });
    scratch.squares.of[y * convolutions[0].out_side() + x] =
        hn::GetLane(hn::SumOfLanes(d, squares));
  };
  if (has_colors) {
    fill(window, color_of, scratch.pixels);
    convolve(scratch.pixels, scratch.row, put_first);
  } else {
    for (int y = 0; y < window_size; ++y)
      std::transform(&window[y * window_size], &window[y * window_size] + window_size,
                     scratch.luma.at(0, y), value_of_luma);
    convolve(scratch.luma, scratch.row, put_first);
  }
  even_out(scratch);
  convolve(scratch.first, scratch.row, [&](int x, int y, const float* sums) {
    constexpr int out = convolutions[1].out;
    float* const to = scratch.second.at(x, y);
    for (int k = 0; k < out; ++k) to[k] = std::max(sums[k], 0.0f);
  });
  const float gain = Parameters::of_all().learned_gain();
  convolve(scratch.second, scratch.row, [&](int x, int y, const float* sums) HWY_ATTR {
    V squares = hn::Zero(d);
    for_vectors<2>([&](int k) HWY_ATTR {
      const V value = hn::LoadU(d, sums + k);
      squares = hn::MulAdd(value, value, squares);
    });
    const float share = gain / std::sqrt(hn::GetLane(hn::SumOfLanes(d, squares)) + least_square);
    std::array<float, learned_channels> values;
    for (int k = 0; k < learned_channels; ++k) values[k] = share * sums[k];
    put(x, y, values);
  });
}

}  // namespace xcorr::cpu::learned::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
