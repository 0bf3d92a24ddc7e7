// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Spectra of windows on the GPU: a block transforms eight channels of a window, or two.
#include "cuda/common/shared_memory.cuh"
#include "cuda/tracker/window_fft.cuh"

namespace xcorr::cuda {
namespace tracker {
namespace {

template <int pairs>
__global__ void __launch_bounds__(threads_of(pairs))
    feature_fft(const Look* looks, const float* channels_of, const double* energies,
                float* spectra) {
  const std::int64_t window = blockIdx.y;
  wait_for_previous();
  if (looks[window].side == 0) return;
  Value* const images = dynamic_shared<Value>();
  const int channel = first_channel<pairs>();
  read_channels<pairs>(channels_of + window * cells * channels + place_of(0, channel),
                       energies + window * energy_parts, images);
  transform<Direction::forward, pairs>(images);
  write_spectrum<pairs>(images, spectra + window * spectrum_floats + real_place_of(0, channel));
}

bool supports(const stage::FeatureFft::Problem& p, const Device&) { return p.windows <= 65535; }

Status launch(const stage::FeatureFft::Problem& p, const Device& device,
              const stage::FeatureFft::Buffers& b, PlanState*) {
  const auto launch_by = [&](int pairs, auto kernel) {
    return enqueue_early(device, "feature_fft", kernel, dim3(blocks_of_window(pairs), p.windows),
                         threads_of(pairs), bytes_of_pairs(pairs), b.stream, b.looks, b.channels,
                         b.energies, b.spectra);
  };
  return by_single_pairs(p.windows, device)
             ? launch_by(1, feature_fft<1>)
             : launch_by(pairs_of_group, feature_fft<pairs_of_group>);
}

constexpr Variant<stage::FeatureFft> table[] = {
    {{.name = "feature_fft", .backend = Backend::cuda, .features = Feature::f32},
     {.supports = supports, .launch = launch}},
};

}  // namespace
}  // namespace tracker

Family feature_fft_family() { return Family(tracker::table); }

}  // namespace xcorr::cuda
