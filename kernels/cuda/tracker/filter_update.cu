// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Filters are solved for on the GPU by one warp per frequency, one lane per channel. What of a
// filter lies on the target is found by blocks that each have eight channels of it.
#include "cuda/common/shared_memory.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/tracker/window_fft.cuh"
#include "stages/tracker/filter_update.hpp"

namespace xcorr::cuda {
namespace tracker {
namespace {

static_assert(channels == 32);
constexpr int frequencies_of_block = 8;

/// The first solution, from what is seen and what was learnt before; or the second one, from the
/// first and what of it lies on the target.
template <bool first>
__global__ void __launch_bounds__(32 * frequencies_of_block) solve(stage::FilterUpdate::Buffers b) {
  const int frequency = blockIdx.x * frequencies_of_block + threadIdx.x / 32;
  wait_for_previous();
  if (frequency >= frequencies) return;
  const TrainingSample training_sample = b.training_samples[blockIdx.y];
  const int re = real_place_of(frequency, threadIdx.x % 32), im = re + to_imaginary;
  const std::int64_t mean = std::int64_t{training_sample.filter} * spectrum_floats;
  float* const filter = b.filters + 2 * mean;
  const auto at = [=](const float* spectrum) { return Value{spectrum[re], spectrum[im]}; };

  Value x, pulled{0, 0};
  if constexpr (first) {
    x = at(b.seen + std::int64_t{blockIdx.y} * spectrum_floats);
    if (!training_sample.first) {
      const Value before = at(b.means + mean);
      x = before + (x - before) * static_cast<float>(rate);
    }
    b.next_means[mean + re] = x.re;
    b.next_means[mean + im] = x.im;
  } else {
    x = at(b.next_means + mean);
    const Value on_target = at(filter + spectrum_floats);
    // By how much the first solution did not yield counts on, as in ADMM.
    pulled = on_target * second_pull - (at(filter) - on_target) * first_pull;
  }
  constexpr float pull = first ? first_pull : second_pull;
  const Value right = x * (b.shapes[training_sample.filter].wanted_at(frequency) / cells) + pulled;
  const Value product = right * conj(x);
  const float energy = warp_sum(x.re * x.re + x.im * x.im);
  const float share = 1 / (cells * pull + energy);
  const Value along{warp_sum(product.re) * share, warp_sum(product.im) * share};
  const Value solved = (right - x * along) * (1 / pull);
  filter[re] = solved.re;
  filter[im] = solved.im;
}

__global__ void __launch_bounds__(threads_of_pairs) crop(stage::FilterUpdate::Buffers b) {
  Value* const images = dynamic_shared<Value>();
  wait_for_previous();
  const int number = b.training_samples[blockIdx.y].filter;
  float* const filter =
      b.filters + std::int64_t{2} * number * spectrum_floats + real_place_of(0, blockIdx.x * group);
  read_spectrum(filter, images);
  transform<Direction::inverse>(images, pairs_of_block);
  const FilterShape& shape = b.shapes[number];
  for (int i = threadIdx.x; i < cells; i += threads_of_pairs) {
    const int x = i % grid, y = i / grid;
    const float share = shape.on_target(x, y) ? 1.0f / cells : 0.0f;
#pragma unroll
    for (int p = 0; p < pairs_of_block; ++p) {
      Value& value = images[p * image_values + y * row_pitch + x];
      value = value * share;
    }
  }
  transform<Direction::forward>(images, pairs_of_block);
  write_spectrum(images, filter + spectrum_floats);
}

bool supports(const stage::FilterUpdate::Problem& p, const Device&) {
  return p.training_samples <= 65535;
}

Status launch(const stage::FilterUpdate::Problem& p, const Device& device,
              const stage::FilterUpdate::Buffers& b, PlanState*) {
  const auto crop_all = [&] {
    return enqueue_early(device, "filter_update: crop", crop, dim3(groups, p.training_samples),
                         threads_of_pairs, bytes_of_pairs, b.stream, b);
  };
  const auto solve_all = [&](auto kernel) {
    return enqueue_early(device, "filter_update: solve", kernel,
                         dim3(ceil_div(frequencies, frequencies_of_block), p.training_samples),
                         32 * frequencies_of_block, 0, b.stream, b);
  };
  if (Status s = solve_all(solve<true>); !s.ok()) return s;
  if (Status s = crop_all(); !s.ok()) return s;
  if (Status s = solve_all(solve<false>); !s.ok()) return s;
  return crop_all();
}

constexpr Variant<stage::FilterUpdate> table[] = {
    {{.name = "filter_update", .backend = Backend::cuda, .features = Feature::f32},
     {.supports = supports, .launch = launch}},
};

}  // namespace
}  // namespace tracker

Family filter_update_family() { return Family(tracker::table); }

}  // namespace xcorr::cuda
