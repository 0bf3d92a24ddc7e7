// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Histograms of colours on the GPU, a block per window.
#include "stages/tracker/histograms.hpp"

#include "cuda/common/block_sums.cuh"
#include "cuda/common/launch.cuh"

namespace xcorr::cuda {
namespace tracker {
namespace {

using namespace xcorr::tracker;

constexpr int threads = 1024, warps = threads / 32;

__global__ void __launch_bounds__(threads)
    update(stage::HistogramUpdate::Problem p, stage::HistogramUpdate::Buffers b) {
  __shared__ int counts[2][color_bins];  // on the target, around it
  wait_for_previous();
  const Look look = b.looks[blockIdx.x];
  if (look.side == 0) return;
  for (int i = threadIdx.x; i < color_bins; i += threads) counts[0][i] = counts[1][i] = 0;
  __syncthreads();

  const std::uint8_t* const planes[] = {b.plane_0, b.plane_1, b.plane_2};
  const Cropping window = b.croppings[blockIdx.x];
  const TargetRegions regions(b.shapes[look.filter]);
  int all[2] = {};
  const Rect part = regions.both();
  for (int i = threadIdx.x; i < part.width * part.height; i += threads) {
    const int x = part.x + i % part.width, y = part.y + i / part.width;
    const bool inner = regions.on_target(x, y);
    if (!inner && !(p.learns && regions.around(x, y))) continue;
    atomicAdd(&counts[inner ? 0 : 1][p.bin_at(planes, window.nearest(x, y))], 1);
    ++all[inner ? 0 : 1];
  }
  block_sums<warps>(all);  // and all have counted

  const ColorHistograms& known = b.known[look.filter];
  const auto share_of = [&](int part, int bin) {
    return static_cast<float>(counts[part][bin]) / static_cast<float>(max(all[part], 1));
  };
  double sums[3] = {};  // of the posterior there and there, of the likeness
  for (int i = threadIdx.x; i < color_bins; i += threads) {
    const float target = share_of(0, i), target_first = known.first_after(i, target);
    sums[2] += sqrtf(target * target_first);
    if (!p.learns) continue;
    const float around = share_of(1, i);
    const BinUpdate next(known, i, target, around);
    sums[0] += target * next.posterior;
    sums[1] += around * next.posterior;
    ColorHistograms& histograms = b.histograms[look.filter];
    histograms.target[i] = next.target;
    histograms.around[i] = next.around;
    histograms.posterior[i] = next.posterior;
    histograms.first[i] = target_first;
  }
  block_sums<warps>(sums);  // and all have read how often it was taught
  if (threadIdx.x != 0) return;
  if (p.learns) b.histograms[look.filter].take_means(known, sums[0], sums[1]);
  b.likeness[blockIdx.x] = fmin(sums[2], 1.0);
}

__global__ void __launch_bounds__(threads)
    make_priors(stage::ColorWindows p, stage::HistogramPrior::Buffers b) {
  __shared__ Integral sums;
  wait_for_previous();
  const Look look = b.looks[blockIdx.x];
  if (look.side == 0) return;
  const std::uint8_t* const planes[] = {b.plane_0, b.plane_1, b.plane_2};
  const Cropping window = b.croppings[blockIdx.x];
  const ColorHistograms& known = b.histograms[look.filter];
  for (int i = threadIdx.x; i < Integral::pitch * Integral::pitch; i += threads) {
    const int x = i % Integral::pitch - 1, y = i / Integral::pitch - 1;
    sums.of[i] = x < 0 || y < 0 ? 0 : p.likelihood(planes, window, known.posterior, x, y);
  }
  // Rows, then columns, a thread each.
  const int line = static_cast<int>(threadIdx.x) + 1;
  __syncthreads();
  if (line <= grid)
    for (int x = 1; x < grid; ++x) sums.at(x + 1, line) += sums.at(x, line);
  __syncthreads();
  if (line <= grid)
    for (int y = 1; y < grid; ++y) sums.at(line, y + 1) += sums.at(line, y);
  __syncthreads();
  const FilterShape& shape = b.shapes[look.filter];
  const double weight = weight_of_sum(known, shape);
  float* const priors = b.color_priors + std::int64_t{blockIdx.x} * cells;
  for (int i = threadIdx.x; i < cells; i += threads)
    priors[i] = static_cast<float>(weight * sums.sum(ShiftedBox(shape, i % grid, i / grid)));
}

Status launch_update(const stage::HistogramUpdate::Problem& p, const Device& device,
                     const stage::HistogramUpdate::Buffers& b, PlanState*) {
  return enqueue_early(device, "histogram_update", update, p.windows, threads, 0, b.stream, p, b);
}

Status launch_prior(const stage::ColorWindows& p, const Device& device,
                    const stage::HistogramPrior::Buffers& b, PlanState*) {
  return enqueue_early(device, "histogram_prior", make_priors, p.windows, threads, 0, b.stream, p,
                       b);
}

constexpr Variant<stage::HistogramUpdate> update_table[] = {
    {{.name = "histogram_update", .backend = Backend::cuda, .features = Feature::u8},
     {.launch = launch_update}},
};
constexpr Variant<stage::HistogramPrior> prior_table[] = {
    {{.name = "histogram_prior", .backend = Backend::cuda, .features = Feature::u8},
     {.launch = launch_prior}},
};

}  // namespace
}  // namespace tracker

Family histograms_family() { return Family(tracker::update_table, tracker::prior_table); }

}  // namespace xcorr::cuda
