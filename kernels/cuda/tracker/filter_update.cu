// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Filters are solved for on the GPU by one warp per frequency, one lane per channel. What of a
// filter lies on the target is found by blocks that each have eight channels of it, or two.
#include "cuda/common/shared_memory.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/tracker/window_fft.cuh"
#include "stages/tracker/filter_update.hpp"

namespace xcorr::cuda {
namespace tracker {
namespace {

static_assert(channels == 32);
constexpr int frequencies_of_block = 8;

/// a* b over the channels, each in a lane.
__device__ Value product(const Value& a, const Value& b) {
  const Value part = b * conj(a);
  return {warp_sum(part.re), warp_sum(part.im)};
}

/// A frequency's equation, see cpu/tracker/tracker-inl.hpp: the samples that were added so far.
struct Equation {
  float pull;
  Value u[samples_kept];
  float shares[samples_kept];

  __device__ Value solved(const Value& right, int count) const {
    Value left = right * (1 / pull);
#pragma unroll
    for (int k = 0; k < samples_kept; ++k)
      if (k < count) left = left - u[k] * (product(u[k], right) * shares[k]);
    return left;
  }
  __device__ void add(int k, const Value& x, float weight) {
    u[k] = solved(x, k);
    shares[k] = 1 / (cells / weight + product(x, u[k]).re);
  }
};

/// The first solution, from what is seen and what is known; or the second one, from the first and
/// what of it lies on the target.
template <bool first>
__global__ void __launch_bounds__(32 * frequencies_of_block) solve(stage::FilterUpdate::Buffers b) {
  const int frequency = blockIdx.x * frequencies_of_block + threadIdx.x / 32;
  wait_for_previous();
  if (frequency >= frequencies) return;
  const TrainingSample training_sample = b.training_samples[blockIdx.y];
  const int re = real_place_of(frequency, threadIdx.x % 32), im = re + to_imaginary;
  const std::int64_t number = training_sample.filter;
  const float* const known = b.known + 2 * number * spectrum_floats;
  float* const filter = b.filters + 2 * number * spectrum_floats;
  const auto at = [=](const float* spectrum) { return Value{spectrum[re], spectrum[im]}; };
  const auto slot_of = [=](auto* samples, int k) {
    return samples + (number * samples_kept + k) * spectrum_floats;
  };

  Value x[samples_kept];
  if constexpr (first) {
    const Value seen = at(b.seen + std::int64_t{blockIdx.y} * spectrum_floats);
    const auto stored = [&](int k) { return at(slot_of(b.samples, k)); };
#pragma unroll
    for (int k = 0; k < samples_kept; ++k)
      if (k < training_sample.count) x[k] = training_sample.next(k, seen, stored);
    const bool in_place = b.samples == b.next_samples;
#pragma unroll
    for (int k = 0; k < samples_kept; ++k)
      if (k < training_sample.count &&
          (!in_place || k == training_sample.slot || k == training_sample.merged)) {
        float* const to = slot_of(b.next_samples, k);
        to[re] = x[k].re;
        to[im] = x[k].im;
      }
  } else {
#pragma unroll
    for (int k = 0; k < samples_kept; ++k)
      if (k < training_sample.count) x[k] = at(slot_of(b.next_samples, k));
  }

  Equation equation{first ? first_pull : second_pull};
  const float wanted = b.shapes[number].wanted_at(frequency) / cells;
  Value right{0, 0};
#pragma unroll
  for (int k = 0; k < samples_kept; ++k)
    if (k < training_sample.count) {
      const float weight = training_sample.weights[k];
      right = right + x[k] * (wanted * weight);
      equation.add(k, x[k], weight);
    }
  if constexpr (first) {
    if (training_sample.count > 1) right = right + at(known + spectrum_floats) * first_pull;
  } else {
    // By how much the first solution did not yield counts on, as in ADMM.
    const Value on_target = at(filter + spectrum_floats);
    right = right + on_target * second_pull - (at(filter) - on_target) * first_pull;
  }
  const Value solved = equation.solved(right, training_sample.count);
  filter[re] = solved.re;
  filter[im] = solved.im;
}

template <int pairs>
__global__ void __launch_bounds__(threads_of(pairs)) crop(stage::FilterUpdate::Buffers b) {
  Value* const images = dynamic_shared<Value>();
  wait_for_previous();
  const int number = b.training_samples[blockIdx.y].filter;
  float* const filter = b.filters + std::int64_t{2} * number * spectrum_floats +
                        real_place_of(0, first_channel<pairs>());
  read_spectrum<pairs>(filter, images);
  transform<Direction::inverse, pairs>(images);
  const FilterShape& shape = b.shapes[number];
  for (int i = threadIdx.x; i < cells; i += threads_of(pairs)) {
    const int x = i % grid, y = i / grid;
    const float share = shape.on_target(x, y) ? 1.0f / cells : 0.0f;
#pragma unroll
    for (int p = 0; p < pairs; ++p) {
      Value& value = images[p * image_values + y * row_pitch + x];
      value = value * share;
    }
  }
  transform<Direction::forward, pairs>(images);
  write_spectrum<pairs>(images, filter + spectrum_floats);
}

bool supports(const stage::FilterUpdate::Problem& p, const Device&) {
  return p.training_samples <= 65535;
}

Status launch(const stage::FilterUpdate::Problem& p, const Device& device,
              const stage::FilterUpdate::Buffers& b, PlanState*) {
  const auto crop_by = [&](int pairs, auto kernel) {
    return enqueue_early(device, "filter_update: crop", kernel,
                         dim3(blocks_of_window(pairs), p.training_samples), threads_of(pairs),
                         bytes_of_pairs(pairs), b.stream, b);
  };
  const auto crop_all = [&] {
    return by_single_pairs(p.training_samples, device)
               ? crop_by(1, crop<1>)
               : crop_by(pairs_of_group, crop<pairs_of_group>);
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
