// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of histograms of colours: in double precision, sums over boxes cell by cell.
#include <algorithm>
#include <cmath>
#include <vector>

#include "stages/tracker/histograms.hpp"

namespace xcorr::cpu {
namespace {

using namespace xcorr::tracker;

/// The bin of a frame's pixel that is nearest to one of the window.
int bin_of(const stage::ColorWindows& p, const stage::ColorWindowBuffers& b, const Cropping& window,
           int x, int y) {
  constexpr double unit = 1.0 / (1 << 16);
  const double column = x * window.samples, row = y * window.samples;
  const auto place = [&](std::int64_t first, double by_column, double by_row) {
    return static_cast<int>(
        std::floor(unit * (static_cast<double>(first) + column * by_column + row * by_row) + 0.5));
  };
  const int at_x =
      std::clamp(place(window.x, window.x_by_column, window.x_by_row), 0, p.frame.width - 1);
  const int at_y =
      std::clamp(place(window.y, window.y_by_column, window.y_by_row), 0, p.frame.height - 1);
  const std::uint8_t* const planes[] = {b.plane_0, b.plane_1, b.plane_2};
  int value[color_planes] = {};
  for (int i = 0; i < p.colors.count(); ++i) {
    const auto& [pitch, step, position, shift_x, shift_y] = p.colors.planes[i];
    const int column_of = at_x >> shift_x, row_of = at_y >> shift_y;
    value[i] = planes[i][row_of * pitch + std::int64_t{column_of} * step + position];
  }
  if (p.colors.colors == Colors::none) return value[0] / (256 / gray_levels);
  const Color color = p.colors.colors == Colors::rgb
                          ? color_of_rgb(value[0], value[1], value[2])
                          : Color{value[0], value[1] - 128, value[2] - 128};
  const auto level = [](int chroma) {
    constexpr int bounds[] = {3, 9, 15, 21, 27, 43, 59};
    int far = 0;
    for (const int bound : bounds) far += std::abs(chroma) >= bound;
    return chroma < 0 ? 7 - far : 7 + far;
  };
  return (color.luma / (256 / luma_levels) * chroma_levels + level(color.blue)) * chroma_levels +
         level(color.red);
}

Status update(const stage::HistogramUpdate::Problem& p, const Device&,
              const stage::HistogramUpdate::Buffers& b, PlanState*) {
  for (int window = 0; window < p.windows; ++window) {
    const Look& look = b.looks[window];
    if (look.side == 0) continue;
    const FilterShape& shape = b.shapes[look.filter];
    const double wide = shape.width * cell / 2, high = shape.height * cell / 2;
    std::vector<double> seen[2];
    double all[2] = {};
    for (auto& shares : seen) shares.resize(color_bins);
    for (int y = 0; y < window_size; ++y)
      for (int x = 0; x < window_size; ++x) {
        const double across = std::abs(x - (window_size - 1) / 2.0),
                     down = std::abs(y - (window_size - 1) / 2.0);
        const bool inner = across <= 0.8 * wide && down <= 0.8 * high;
        const bool outer = std::max(across - wide, down - high) > 0 &&
                           std::max(across - wide, down - high) <= (wide + high) / 2;
        if (!inner && !outer) continue;
        seen[outer][bin_of(p, b, b.croppings[window], x, y)] += 1;
        all[outer] += 1;
      }
    for (int part = 0; part < 2; ++part)
      for (double& share : seen[part]) share /= std::max(all[part], 1.0);
    const ColorHistograms& known = b.known[look.filter];
    ColorHistograms& to = b.histograms[look.filter];
    const bool first = known.times == 0;
    const auto next = [&](double before, double now) {
      return first ? now : 0.96 * before + 0.04 * now;
    };
    double inside = 0, outside = 0, like = 0;
    for (int i = 0; i < color_bins; ++i) {
      const double target = next(known.target[i], seen[0][i]),
                   around = next(known.around[i], seen[1][i]),
                   posterior = target / (target + around + 0.001),
                   target_first = first ? seen[0][i] : known.first[i];
      inside += seen[0][i] * posterior;
      outside += seen[1][i] * posterior;
      like += std::sqrt(seen[0][i] * target_first);
      to.target[i] = static_cast<float>(target);
      to.around[i] = static_cast<float>(around);
      to.posterior[i] = static_cast<float>(posterior);
      to.first[i] = static_cast<float>(target_first);
    }
    to.inside = next(known.inside, inside);
    to.outside = next(known.outside, outside);
    to.times = known.times + 1;
    b.likeness[window] = std::min(like, 1.0);
  }
  return {};
}

Status make_priors(const stage::ColorWindows& p, const Device&,
                   const stage::HistogramPrior::Buffers& b, PlanState*) {
  for (int window = 0; window < p.windows; ++window) {
    const Look& look = b.looks[window];
    if (look.side == 0) continue;
    const FilterShape& shape = b.shapes[look.filter];
    const ColorHistograms& known = b.histograms[look.filter];
    std::vector<double> likelihood;
    for (int y = 0; y < grid; ++y)
      for (int x = 0; x < grid; ++x) {
        double sum = 0;
        for (const int dy : {1, 3})
          for (const int dx : {1, 3})
            sum += known.posterior[bin_of(p, b, b.croppings[window], cell * x + dx, cell * y + dy)];
        likelihood.push_back(sum / 4);
      }
    const auto whole = [](double extent) { return std::max(1.0, std::floor(extent + 0.5)); };
    const double separation = std::clamp((known.inside - known.outside) / 0.4, 0.0, 1.0);
    for (int shift = 0; shift < cells; ++shift) {
      // From this cell on; what is beyond the window counts nothing.
      const auto first = [](int by, double extent) {
        return std::floor(grid / 2.0 + (by > grid / 2 ? by - grid : by) - extent / 2 + 0.5);
      };
      const double left = first(shift % grid, shape.width), top = first(shift / grid, shape.height);
      double sum = 0;
      for (int i = 0; i < cells; ++i)
        if (i % grid >= left && i % grid < left + whole(shape.width) && i / grid >= top &&
            i / grid < top + whole(shape.height))
          sum += likelihood[i];
      b.color_priors[std::int64_t{window} * cells + shift] =
          static_cast<float>(0.4 * separation * sum / (whole(shape.width) * whole(shape.height)));
    }
  }
  return {};
}

constexpr Variant<stage::HistogramUpdate> update_table[] = {
    {{.name = "reference", .backend = Backend::cpu, .features = Feature::u8}, {.launch = update}}};
constexpr Variant<stage::HistogramPrior> prior_table[] = {
    {{.name = "reference", .backend = Backend::cpu, .features = Feature::u8},
     {.launch = make_priors}}};

}  // namespace

Family reference_histograms_family() { return Family(update_table, prior_table); }

}  // namespace xcorr::cpu
