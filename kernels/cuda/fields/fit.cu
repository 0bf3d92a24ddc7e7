// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares of windows on the GPU, a warp a window: its lanes share the pixels, and each lane
// takes the steps from the sums of all. Matrices lie in shared memory.
#include "cuda/common/launch.cuh"
#include "cuda/common/warp.cuh"
#include "stages/fit.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 128, warps = threads / 32;

struct Pictures {
  const std::uint8_t* reference;
  const std::uint8_t* mask;
  SplinePicture frame;
};

/// A window's pixels, as one lane meets them.
class LanePixels {
 public:
  __device__ LanePixels(const stage::Fit::Problem& p, const Pictures& pictures, const float* axis,
                        const FieldWindow& window)
      : p_(p),
        pictures_(pictures),
        axis_(axis),
        window_(window),
        origin_(pictures.reference[(window.y + p.window / 2) * p.pitch + window.x + p.window / 2]) {
  }

  __device__ float origin() const { return origin_; }

  /// Calls body(pixel, weight, u, v, x, y) for each that counts: (u, v) is from the centre.
  template <class Body>
  __device__ void for_each(Body body) const {
    const float middle = 0.5F * static_cast<float>(p_.window - 1);
    int x = threadIdx.x % 32, y = 0;
    for (;; x += 32) {
      for (; x >= p_.window; ++y) x -= p_.window;
      if (y >= p_.window) return;
      const int px = window_.x + x, py = window_.y + y;
      if (p_.masked && !pictures_.mask[std::int64_t{py} * p_.frame.width + px]) continue;
      body(SlopedPixel(pictures_.reference, p_.pitch, p_.frame, px, py, origin_),
           axis_[x] * axis_[y], static_cast<float>(x) - middle, static_cast<float>(y) - middle, px,
           py);
    }
  }

 private:
  const stage::Fit::Problem& p_;
  const Pictures& pictures_;
  const float* axis_;
  const FieldWindow& window_;
  float origin_;
};

template <int order, int degree>
__global__ void __launch_bounds__(threads, 5)
    fit(stage::Fit::Problem p, Pictures pictures, const FieldWindow* windows,
        const FieldVector* measured, FieldVector* vectors) {
  __shared__ float axis[FieldLimits::window];
  __shared__ FitSums<order> sums_of[warps];
  __shared__ FitWindow<order> fit_of[warps];
  __shared__ bool determined[warps];
  constexpr int unknowns = fit_unknowns<order>;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int i = threadIdx.x; i < p.window; i += threads)
    axis[i] = p.weight_at(static_cast<float>(i) - 0.5F * static_cast<float>(p.window - 1));
  __syncthreads();
  for (std::int64_t i = blockIdx.x * warps + warp; i < p.count; i += gridDim.x * warps) {
    const FieldWindow window = windows[i];
    if (!is_to_fit(p, window, measured[i])) {
      if (lane == 0) vectors[i] = measured[i];
      continue;
    }
    const LanePixels pixels(p, pictures, axis, window);
    FitSteps<order> steps(window, p.window);
    const float unit = 1 / steps.half();
    {
      FitSums<order> sums;
      sums.clear();
      pixels.for_each([&](const SlopedPixel& pixel, float weight, float u, float v, int, int) {
        sums.add(pixel, {pixel, u * unit, v * unit}, weight);
      });
      __syncwarp();  // the window before has been done with
#pragma unroll
      for (int k = 0; k < FitSums<order>::count; ++k) {
        const float sum = warp_sum(sums.of[k]);
        if (lane == 0) sums_of[warp].of[k] = sum;
      }
      if (lane == 0) determined[warp] = fit_of[warp].prepare(sums_of[warp]);
      __syncwarp();
    }
    double sigma = 0;
    for (int step = 0; determined[warp] && step < FitSteps<order>::most; ++step) {
      const FieldWarp way = steps.warp();
      WarpedSums<order> sums;
      sums.clear();
      pixels.for_each([&](const SlopedPixel& pixel, float weight, float u, float v, int x, int y) {
        const float across = way.across(u, v), down = way.down(u, v);
        const float whole_x = floorf(across), whole_y = floorf(down);
        const float frame = pictures.frame.template at<degree>(x + static_cast<int>(whole_x),
                                                               y + static_cast<int>(whole_y),
                                                               across - whole_x, down - whole_y);
        sums.add(pixel, {pixel, u * unit, v * unit}, weight, frame - pixels.origin());
      });
#pragma unroll
      for (float& sum : sums.of) sum = warp_sum(sum);
      // Each lane solves for one unknown, and all of them take the step.
      const double own = fit_of[warp].step_of(lane < unknowns ? lane : 0, sums);
      double found[unknowns];
#pragma unroll
      for (int k = 0; k < unknowns; ++k) found[k] = __shfl_sync(~0u, own, k);
      const double score = fit_of[warp].score_of(sums);
      sigma = fit_of[warp].sigma(score);
      if (!steps.step(found, score)) break;
    }
    if (lane == 0) vectors[i] = fitted(p, window, measured[i], steps, sigma);
  }
}

Status launch(const stage::Fit::Problem& p, const Device&, const stage::Fit::Buffers& b,
              PlanState*) {
  const auto kernel = p.order == 0 ? (p.degree == 3 ? fit<0, 3> : fit<0, 5>)
                                   : (p.degree == 3 ? fit<1, 3> : fit<1, 5>);
  return enqueue("fit", kernel, dim3(grid_extent(ceil_div(p.count, warps))), dim3(threads), 0,
                 b.stream, p, Pictures{b.reference, b.mask, {b.coefficients, p.frame}}, b.windows,
                 b.measured, b.vectors);
}

constexpr Variant<stage::Fit> table[] = {
    {{"fit", Backend::cuda, {Feature::u8, Feature::mask}}, supports_all, launch},
};

}  // namespace

Family fit_family() { return Family(table); }

}  // namespace xcorr::cuda
