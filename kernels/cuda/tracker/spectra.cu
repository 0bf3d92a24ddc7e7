// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Spectra of windows on the GPU: a block transforms eight channels of a window.
#include "cuda/common/shared_memory.cuh"
#include "cuda/tracker/window_fft.cuh"

namespace xcorr::cuda {
namespace tracker {
namespace {

__global__ void __launch_bounds__(threads_of_pairs)
    spectra(const Look* looks, const float* channels_of, const double* energies, float* spectra) {
  const std::int64_t window = blockIdx.y;
  wait_for_previous();
  if (looks[window].side == 0) return;
  Value* const pictures = dynamic_shared<Value>();
  read_channels(channels_of + (window * groups + blockIdx.x) * cells * group,
                energies + window * grid, pictures);
  transform<Direction::forward>(pictures, pairs_of_block);
  write_spectrum(pictures,
                 spectra + window * spectrum_floats + real_place_of(0, blockIdx.x * group));
}

bool supports(const stage::Spectra::Problem& p, const Device&) { return p.windows <= 65535; }

Status launch(const stage::Spectra::Problem& p, const Device& device,
              const stage::Spectra::Buffers& b, PlanState*) {
  return enqueue_early(device, "spectra", spectra, dim3(groups, p.windows), threads_of_pairs,
                       bytes_of_pairs, b.stream, b.looks, b.channels, b.energies, b.spectra);
}

constexpr Variant<stage::Spectra> table[] = {
    {{"spectra", Backend::cuda, Feature::f32}, supports, launch},
};

}  // namespace
}  // namespace tracker

Family spectra_family() { return Family(tracker::table); }

}  // namespace xcorr::cuda
