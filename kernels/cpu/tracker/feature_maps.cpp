// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Channels of windows on the CPU, one thread per window: four rows at a time of upright ones are
// resampled, and row by row gradients are found; what is learned comes last.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/tracker/feature_maps.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/image/luma-inl.hpp"
#include "cpu/tracker/learned_channels-inl.hpp"

#ifndef XCORR_CPU_CHANNELS
#define XCORR_CPU_CHANNELS
#include <array>
#include <utility>
#include <vector>

#include "cpu/common/common.hpp"
#include "cpu/tracker/turned_window.hpp"
#include "stages/tracker/feature_maps.hpp"
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::feature_maps::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace tracker;

using D = hn::CappedTag<float, 8>;
using V = hn::Vec<D>;
constexpr int lanes = hn::MaxLanes(D());

constexpr int padded = grid + 2;  ///< cells of a row, with those around, which get a share too
/// Of a cell's histogram: of 18 directions, then zeros up to whole vectors.
constexpr int bins = (directions + 7) / 8 * 8;

/// What a thread needs on the way, kept: to allocate it costs as much as to fill it.
struct Scratch {
  std::vector<float> window = std::vector<float>(window_size * window_size);
  std::vector<std::uint8_t> bytes;
  std::vector<float> lumas, rows, quads;
  std::vector<float> histograms = std::vector<float>(padded * padded * bins);
  std::vector<float> energies = std::vector<float>(padded * padded);
  std::vector<float> scales = std::vector<float>(padded * padded);
  learned::HWY_NAMESPACE::Scratch learned;
};

// ---- windows --------------------------------------------------------------------------------

/// Which pixels of the frame, and how much of each, are in the pixels of a window in one direction:
/// `positions[i * each]` and so on are in pixel i.
struct Taps {
  int each;
  std::array<int, window_size * WindowTaps::most> positions;
  std::array<float, window_size * WindowTaps::most> weights;

  Taps(double middle, double side, int length) {
    const WindowTaps taps(middle, side);
    each = taps.each;
    for (int i = 0; i < window_size; ++i) {
      const int first = taps.first(i);
      const double sum = taps.sum(i);
      for (int k = 0; k < each; ++k) {
        positions[i * each + k] = std::clamp((first + k) * taps.step, 0, length - 1);
        weights[i * each + k] = static_cast<float>(taps.weight(i, first + k) / sum);
      }
    }
  }
  int first() const { return positions.front(); }
  int last() const { return positions[window_size * each - 1]; }
};

/// Rows of the window that are made together: the pixels of a column are a vector then, and all
/// have the same taps.
constexpr int together = 4;

/// [row][x] -> [x][row]
void interleave(const float* rows, int width, float* quads) {
  const D d;
  for (int x = 0; x < width; x += lanes)
    hn::StoreInterleaved4(hn::LoadU(d, rows + x), hn::LoadU(d, rows + width + x),
                          hn::LoadU(d, rows + 2 * width + x), hn::LoadU(d, rows + 3 * width + x), d,
                          quads + together * x);
}

/// Four rows of the window from four rows as wide as what is read of the frame.
void shrink(const float* quads, int left, const Taps& across, float* window) {
  using Few = hn::CappedTag<float, together>;
  constexpr int few = hn::MaxLanes(Few());
  const Few of;
  std::array<float, together * window_size> out;
  for (int x = 0; x < window_size; ++x)
    for (int r = 0; r < together; r += few) {
      auto sum = hn::Zero(of);
      for (int k = x * across.each; k < (x + 1) * across.each; ++k)
        sum = hn::MulAdd(hn::Set(of, across.weights[k]),
                         hn::LoadU(of, quads + together * (across.positions[k] - left) + r), sum);
      hn::StoreU(sum, of, &out[together * x + r]);
    }
  const D d;
  for (int x = 0; x < window_size; x += lanes) {
    V rows[together];
    hn::LoadInterleaved4(d, &out[together * x], rows[0], rows[1], rows[2], rows[3]);
    for (int r = 0; r < together; ++r) hn::StoreU(rows[r], d, window + r * window_size + x);
  }
}

void cut(const stage::FeatureMaps::Problem& p, const std::uint8_t* pixels, const Look& look,
         Scratch& scratch) {
  const Taps across(look.x, look.side, p.frame.width);
  const Taps down(look.y, look.side, p.frame.height);
  const int left = across.first(), read = across.last() + 1 - left;
  const int width = (read + lanes - 1) / lanes * lanes;
  scratch.bytes.resize(read);
  scratch.rows.resize(std::size_t{together} * width);
  scratch.quads.resize(std::size_t{together} * width);
  // Rows of the window share rows of the frame: their lumas are kept meanwhile.
  scratch.lumas.resize(std::size_t{WindowTaps::most} * width);
  std::array<int, WindowTaps::most> kept;
  kept.fill(-1);
  const auto lumas_of = [&](int y) {
    const std::size_t slot = y % WindowTaps::most;
    float* const lumas = &scratch.lumas[slot * width];
    if (std::exchange(kept[slot], y) == y) return lumas;
    const std::uint8_t* from = pixels + y * p.pitch + std::int64_t{left} * p.layout.bytes;
    luma::HWY_NAMESPACE::convert_row(p.layout, from, read, scratch.bytes.data());
    std::ranges::copy(scratch.bytes, lumas);
    return lumas;
  };
  for (int y = 0; y < window_size; y += together) {
    for (int r = 0; r < together; ++r) {
      float* const row = &scratch.rows[r * width];
      std::fill_n(row, width, 0.0f);
      for (int k = (y + r) * down.each; k < (y + r + 1) * down.each; ++k) {
        const float weight = down.weights[k];
        if (weight == 0) continue;
        const float* lumas = lumas_of(down.positions[k]);
        for (int x = 0; x < read; ++x) row[x] += weight * lumas[x];
      }
    }
    interleave(scratch.rows.data(), width, scratch.quads.data());
    shrink(scratch.quads.data(), left, across, &scratch.window[y * window_size]);
  }
}

// ---- gradients ------------------------------------------------------------------------------

/// Unit vectors along the orientations.
struct Axes {
  float of[orientations][2];
  Axes() {
    for (int i = 0; i < orientations; ++i) {
      const double angle = i * std::numbers::pi / orientations;
      of[i][0] = static_cast<float>(std::cos(angle));
      of[i][1] = static_cast<float>(std::sin(angle));
    }
  }
};

struct Gradients {
  std::array<float, window_size> length;
  std::array<std::int32_t, window_size> direction;
};

/// The lengths of a row of gradients, and the direction that is the nearest to each.
void classify(const float* gx, const float* gy, Gradients& out) {
  static const Axes axes;
  const D d;
  const hn::RebindToSigned<D> whole;
  for (int at = 0; at < window_size; at += lanes) {
    const V x = hn::LoadU(d, gx + at), y = hn::LoadU(d, gy + at);
    V longest = hn::Zero(d), nearest = hn::Zero(d);
    for (int i = 0; i < orientations; ++i) {
      const V along =
          hn::MulAdd(x, hn::Set(d, axes.of[i][0]), hn::Mul(y, hn::Set(d, axes.of[i][1])));
      const V there = hn::Set(d, static_cast<float>(i));
      const V back = hn::Set(d, static_cast<float>(i + orientations));
      const V so_long = hn::Abs(along);
      nearest = hn::IfThenElse(hn::Gt(so_long, longest),
                               hn::IfThenElse(hn::Gt(along, hn::Zero(d)), there, back), nearest);
      longest = hn::Max(longest, so_long);
    }
    hn::StoreU(hn::ConvertTo(whole, nearest), whole, &out.direction[at]);
    hn::StoreU(hn::Sqrt(hn::MulAdd(x, x, hn::Mul(y, y))), d, &out.length[at]);
  }
}

void find_gradients(const float* window, int y, Gradients& out) {
  const float* row = window + y * window_size;
  const float* above = y > 0 ? row - window_size : row;
  const float* below = y + 1 < window_size ? row + window_size : row;
  std::array<float, window_size> gx, gy;
  for (int x = 0; x < window_size; ++x) gy[x] = below[x] - above[x];
  gx.front() = row[1] - row[0];
  gx.back() = row[window_size - 1] - row[window_size - 2];
  for (int x = 1; x + 1 < window_size; ++x) gx[x] = row[x + 1] - row[x - 1];
  classify(gx.data(), gy.data(), out);
}

/// In a direction, the two nearest cells of a pixel, counted from the one before the window, and
/// the second one's share of it.
struct NearestCells {
  int first;
  float second_share;
  explicit NearestCells(int pixel) {
    const float at = (static_cast<float>(pixel) + 0.5f) / cell + 0.5f;
    first = static_cast<int>(at);
    second_share = at - static_cast<float>(first);
  }
};

/// A gradient counts in the four nearest cells, the more the nearer their middles are. Pixels
/// beside each other often add to the same number, and each would wait for the one before: the four
/// quarters of a row take turns.
void make_histograms(const std::vector<float>& window, std::vector<float>& histograms) {
  constexpr int quarters = 4, quarter = window_size / quarters;
  static_assert(quarter % cell == 0);
  std::ranges::fill(histograms, 0.0f);
  Gradients gradients;
  for (int y = 0; y < window_size; ++y) {
    find_gradients(window.data(), y, gradients);
    const auto [cell_y, lower] = NearestCells(y);
    for (int x = 0; x < quarter; ++x) {
      const auto [cell_x, right] = NearestCells(x);
      float* const from = &histograms[(cell_y * padded + cell_x) * bins];
      for (int q = 0; q < quarters; ++q) {
        const int at = q * quarter + x;
        const float length = gradients.length[at];
        const float above = (1 - lower) * length, below = lower * length;
        float* to = from + q * (quarter / cell) * bins + gradients.direction[at];
        to[0] += (1 - right) * above;
        to[bins] += right * above;
        to += padded * bins;
        to[0] += (1 - right) * below;
        to[bins] += right * below;
      }
    }
  }
}

// ---- feature_maps -------------------------------------------------------------------------------

/// What gradients there are in the cells, whatever their sign. The energies beside the window's
/// edge are repeated outside: blocks there have fewer cells.
void find_energies(const std::vector<float>& histograms, std::vector<float>& energies) {
  for (int y = 1; y <= grid; ++y) {
    float* const row = &energies[y * padded];
    for (int x = 1; x <= grid; ++x) {
      const float* const bin = &histograms[(y * padded + x) * bins];
      row[x] = 0;
      for (int k = 0; k < orientations; ++k) {
        const float both = bin[k] + bin[orientations + k];
        row[x] += both * both;
      }
    }
    row[0] = row[1];
    row[grid + 1] = row[grid];
  }
  std::copy_n(&energies[padded], padded, energies.begin());
  std::copy_n(&energies[grid * padded], padded, &energies[(grid + 1) * padded]);
}

/// One over the contrast of each block of 2 x 2 cells, at the place of the first one.
void make_scales(const std::vector<float>& energies, std::vector<float>& scales) {
  for (int y = 0; y + 1 < padded; ++y) {
    const float* row = &energies[y * padded];
    const float* below = row + padded;
    for (int x = 0; x + 1 < padded; ++x)
      scales[y * padded + x] =
          1 / std::sqrt(row[x] + row[x + 1] + below[x] + below[x + 1] + least_energy);
  }
}

/// Of a cell the channels of gradients.
void normalise(const float* histogram, const std::array<float, 4>& scales, float* out) {
  const D d;
  for (int k = 0; k < bins; k += lanes) {
    const V lengths = hn::LoadU(d, histogram + k);
    V result = hn::Zero(d);
    for (const float scale : scales)
      result = hn::Add(result,
                       hn::Min(hn::Mul(lengths, hn::Set(d, scale)), hn::Set(d, longest_gradient)));
    hn::StoreU(hn::Mul(result, hn::Set(d, 0.5f)), d, out + k);
  }
}

/// Writes the channels of a window, and the energies of its rows of cells.
/// \param color_of  that of 2 x 2 pixels, where there are colours
template <class ColorOf>
void describe(Scratch& scratch, bool has_colors, const ColorOf& color_of, float* out,
              double* row_energies) {
  static const Fade fade;
  const float* const gains = learned::Parameters::of_all().gradient_gains();
  find_energies(scratch.histograms, scratch.energies);
  make_scales(scratch.energies, scratch.scales);
  std::fill_n(row_energies, energy_parts, 0.0);
  const auto put = [&](int x, int y, const std::array<float, learned_channels>& of_cell) HWY_ATTR {
    std::array<float, std::max(tracker::channels, bins)> values;
    const float* scales = &scratch.scales[y * padded + x];
    normalise(&scratch.histograms[((y + 1) * padded + x + 1) * bins],
              {scales[0], scales[1], scales[padded], scales[padded + 1]}, values.data());
    for (int k = 0; k < directions; ++k) values[k] *= gains[k];
    std::ranges::copy(of_cell, &values[directions]);
    const D d;
    const V left = hn::Set(d, fade.of[x] * fade.of[y]);
    V energy = hn::Zero(d);
    for (int k = 0; k < tracker::channels; k += lanes) {
      const V value = hn::Mul(hn::LoadU(d, &values[k]), left);
      energy = hn::MulAdd(value, value, energy);
      hn::StoreU(value, d, &values[k]);
    }
    row_energies[y] += hn::GetLane(hn::SumOfLanes(d, energy));
    for (int k = 0; k < tracker::channels; k += group)
      std::copy_n(&values[k], group, out + place_of(y * grid + x, k));
  };
  learned::HWY_NAMESPACE::make_channels(scratch.window, has_colors, color_of, scratch.learned, put);
}

void make_feature_maps(const stage::FeatureMaps::Problem& p, const stage::FeatureMaps::Buffers& b,
                       int window) {
  static thread_local Scratch scratch;
  if (p.turned)
    read_turned_window(p, b.pixels, b.croppings[window], scratch.window.data());
  else
    cut(p, b.pixels, b.looks[window], scratch);
  make_histograms(scratch.window, scratch.histograms);
  const std::uint8_t* const planes[] = {b.plane_0, b.plane_1, b.plane_2};
  const auto color_of = [&](int x, int y) {
    return color_of_four(p.colors, p.frame, planes, b.croppings[window], x, y);
  };
  describe(scratch, p.colors.colors != Colors::none, color_of,
           b.channels + std::int64_t{window} * cells * tracker::channels,
           b.energies + std::int64_t{window} * energy_parts);
}

}  // namespace xcorr::cpu::feature_maps::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace feature_maps {

HWY_EXPORT(make_feature_maps);

using namespace tracker;

Status launch(const stage::FeatureMaps::Problem& p, const Device&,
              const stage::FeatureMaps::Buffers& b, PlanState*) {
  parallel_for(0, p.windows, [&](int i) {
    if (b.looks[i].side != 0) HWY_DYNAMIC_DISPATCH(make_feature_maps)(p, b, i);
  });
  return {};
}

constexpr Variant<stage::FeatureMaps> table[] = {
    {{.name = "feature_maps", .backend = Backend::cpu, .features = Feature::u8},
     {.launch = launch}},
};

}  // namespace feature_maps

Family feature_maps_family() { return Family(feature_maps::table); }

}  // namespace xcorr::cpu
#endif
