// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Histograms of colours on the CPU, a window a thread.
#include "stages/tracker/histograms.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "cpu/common/common.hpp"

namespace xcorr::cpu {
namespace {

using namespace tracker;

/// How many pixels have a colour.
struct Counts {
  std::int32_t target[color_bins] = {}, around[color_bins] = {};
  std::int32_t on_target = 0, beside = 0;
};

void count(const stage::HistogramUpdate::Problem& p,
           const std::uint8_t* const (&planes)[color_planes], const Cropping& window,
           const FilterShape& shape, Counts& counts) {
  const TargetRegions regions(shape);
  const auto [left, top, width, height] = regions.both();
  for (int y = top; y < top + height; ++y)
    for (int x = left; x < left + width; ++x) {
      const bool inner = regions.on_target(x, y);
      if (!inner && !(p.learns && regions.around(x, y))) continue;
      std::int32_t* const bins = inner ? counts.target : counts.around;
      ++bins[p.bin_at(planes, window.nearest(x, y))];
      ++(inner ? counts.on_target : counts.beside);
    }
}

float share(std::int32_t part, std::int32_t all) {
  return static_cast<float>(part) / static_cast<float>(std::max(all, 1));
}

/// How alike what is seen and the first histogram are.
double likeness(const Counts& counts, const ColorHistograms& known) {
  double like = 0;
  for (int i = 0; i < color_bins; ++i) {
    const float target = share(counts.target[i], counts.on_target);
    like += std::sqrt(target * known.first_after(i, target));
  }
  return std::min(like, 1.0);
}

void learn(const Counts& counts, const ColorHistograms& known, ColorHistograms& histograms) {
  double inside = 0, outside = 0;
  for (int i = 0; i < color_bins; ++i) {
    const float target = share(counts.target[i], counts.on_target),
                around = share(counts.around[i], counts.beside);
    const BinUpdate next(known, i, target, around);
    inside += target * next.posterior;
    outside += around * next.posterior;
    histograms.target[i] = next.target;
    histograms.around[i] = next.around;
    histograms.posterior[i] = next.posterior;
    histograms.first[i] = known.first_after(i, target);
  }
  histograms.take_means(known, inside, outside);
}

Status update(const stage::HistogramUpdate::Problem& p, const Device&,
              const stage::HistogramUpdate::Buffers& b, PlanState*) {
  const std::uint8_t* const planes[] = {b.plane_0, b.plane_1, b.plane_2};
  parallel_for(0, p.windows, [&](int i) {
    const Look& look = b.looks[i];
    if (look.side == 0) return;
    const auto counts = std::make_unique<Counts>();
    count(p, planes, b.croppings[i], b.shapes[look.filter], *counts);
    const ColorHistograms& known = b.known[look.filter];
    b.likeness[i] = likeness(*counts, known);
    if (p.learns) learn(*counts, known, b.histograms[look.filter]);
  });
  return {};
}

Status make_priors(const stage::ColorWindows& p, const Device&,
                   const stage::HistogramPrior::Buffers& b, PlanState*) {
  const std::uint8_t* const planes[] = {b.plane_0, b.plane_1, b.plane_2};
  parallel_for(0, p.windows, [&](int window) {
    const Look& look = b.looks[window];
    if (look.side == 0) return;
    const ColorHistograms& known = b.histograms[look.filter];
    const FilterShape& shape = b.shapes[look.filter];
    const Cropping& cropping = b.croppings[window];
    Integral sums{};
    for (int y = 0; y < grid; ++y) {
      double row = 0;
      for (int x = 0; x < grid; ++x) {
        row += p.likelihood(planes, cropping, known.posterior, x, y);
        sums.at(x + 1, y + 1) = sums.at(x + 1, y) + row;
      }
    }
    const double weight = weight_of_sum(known, shape);
    float* const priors = b.color_priors + std::int64_t{window} * cells;
    for (int i = 0; i < cells; ++i)
      priors[i] = static_cast<float>(weight * sums.sum(ShiftedBox(shape, i % grid, i / grid)));
  });
  return {};
}

constexpr Variant<stage::HistogramUpdate> update_table[] = {
    {{.name = "histogram_update", .backend = Backend::cpu, .features = Feature::u8},
     {.launch = update}},
};
constexpr Variant<stage::HistogramPrior> prior_table[] = {
    {{.name = "histogram_prior", .backend = Backend::cpu, .features = Feature::u8},
     {.launch = make_priors}},
};

}  // namespace

Family histograms_family() { return Family(update_table, prior_table); }

}  // namespace xcorr::cpu
