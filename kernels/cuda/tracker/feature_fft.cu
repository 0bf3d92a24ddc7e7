// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Spectra of windows on the GPU: a block transforms eight channels of a window.
#include "cuda/common/shared_memory.cuh"
#include "cuda/tracker/window_fft.cuh"

namespace xcorr::cuda {
namespace tracker {
namespace {

__global__ void __launch_bounds__(threads_of_pairs)
    feature_fft(const Look* looks, const float* channels_of, const double* energies,
                float* spectra) {
  const std::int64_t window = blockIdx.y;
  wait_for_previous();
  if (looks[window].side == 0) return;
  Value* const images = dynamic_shared<Value>();
  read_channels(channels_of + (window * groups + blockIdx.x) * cells * group,
                energies + window * grid, images);
  transform<Direction::forward>(images, pairs_of_block);
  write_spectrum(images, spectra + window * spectrum_floats + real_place_of(0, blockIdx.x * group));
}

bool supports(const stage::FeatureFft::Problem& p, const Device&) { return p.windows <= 65535; }

Status launch(const stage::FeatureFft::Problem& p, const Device& device,
              const stage::FeatureFft::Buffers& b, PlanState*) {
  return enqueue_early(device, "feature_fft", feature_fft, dim3(groups, p.windows),
                       threads_of_pairs, bytes_of_pairs, b.stream, b.looks, b.channels, b.energies,
                       b.spectra);
}

constexpr Variant<stage::FeatureFft> table[] = {
    {{.name = "feature_fft", .backend = Backend::cuda, .features = Feature::f32},
     {.supports = supports, .launch = launch}},
};

}  // namespace
}  // namespace tracker

Family feature_fft_family() { return Family(tracker::table); }

}  // namespace xcorr::cuda
