// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares of windows on the GPU, one block per window, whose threads share the pixels. What a
// step needs of them stays in shared memory: the reference's pixels with their slopes, and the
// spline's coefficients round where the window is expected. Larger windows are read where they are.
#include "cuda/common/block_sums.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/shared_memory.cuh"
#include "stages/fields/fit.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 128, warps = threads / 32;

template <class Pixel>
struct Images {
  FieldPixels<Pixel> reference;
  const std::uint8_t* mask;
  SplineImage frame;
};

/// Where a window's data lie in shared memory, in floats.
template <int degree>
struct Layout {
  /// Pixels that a place may lie farther out than it is expected.
  static constexpr int slack = 2;
  int side;  ///< of the coefficients
  int pixels, end;

  __host__ __device__ explicit Layout(const stage::Fit::Problem& p)
      : side(p.window + SplineTaps<degree>::count + 2 * slack),
        pixels(p.window * p.window),
        end(3 * pixels + side * pitch(p)) {}
  /// From row to row of the coefficients: rows of pixels go on in the banks of those before.
  __host__ __device__ static int pitch(const stage::Fit::Problem& p) { return p.window + 32; }
  __host__ __device__ std::size_t bytes() const { return sizeof(float) * std::size_t(end); }
};

/// A square of the spline's coefficients in shared memory.
template <int degree>
class Patch {
 public:
  using Taps = SplineTaps<degree>;

  /// Called by all threads of the block. \param left, top  of the first coefficient
  __device__ Patch(const stage::Fit::Problem& p, const SplineImage& frame, float* memory, int side,
                   int left, int top)
      : p_(p), frame_(frame), of_(memory), side_(side), left_(left), top_(top) {
    const Size size = frame.size;
    if (left >= 0 && top >= 0 && left + side <= size.width && top + side <= size.height) {
      const float* const first = frame.coefficients + std::int64_t{top} * size.width + left;
      stage(memory, [&](int column, int row) { return first[row * size.width + column]; });
    } else {
      stage(memory,
            [&](int column, int row) { return frame.coefficient(left + column, top + row); });
    }
  }
  __device__ float at(int x, int y, float t, float s) const {
    const int column = x - Taps::before - left_, row = y - Taps::before - top_;
    if (min(column, row) < 0 || max(column, row) + Taps::count > side_)
      return frame_.template at<degree>(x, y, t, s);
    const float* const first = of_ + row * pitch() + column;
    return spline_value<degree>(t, s, [&](int j) { return first + j * pitch(); });
  }

 private:
  __device__ int pitch() const { return Layout<degree>::pitch(p_); }
  template <class Load>
  __device__ void stage(float* memory, Load load) const {
    for (int row = threadIdx.x / 32; row < side_; row += warps)
      for (int column = threadIdx.x % 32; column < side_; column += 32)
        memory[row * pitch() + column] = load(column, row);
  }

  const stage::Fit::Problem& p_;
  const SplineImage& frame_;
  const float* of_;
  int side_, left_, top_;
};

/// A window's pixels, as one thread meets them.
template <class Pixel, bool staged>
class Pixels {
 public:
  /// Called by all threads of the block, which is to be synchronised before the pixels are used.
  __device__ Pixels(const stage::Fit::Problem& p, const Images<Pixel>& images, const float* axis,
                    const InterrogationWindow& window, float* memory)
      : p_(p),
        images_(images),
        axis_(axis),
        window_(window),
        memory_(memory),
        origin_(images.reference(window.x + p.window / 2, window.y + p.window / 2)) {
    if constexpr (staged)
      for_places([&](int k, int x, int y) {
        const SlopedPixel pixel = read(x, y);
        memory[k] = pixel.value;
        memory[k + size()] = pixel.by_x;
        memory[k + 2 * size()] = pixel.by_y;
      });
  }

  __device__ float origin() const { return origin_; }

  /// Calls body(pixel, weight, u, v, x, y) for each that counts: (u, v) is from the centre.
  template <class Body>
  __device__ void for_each(Body body) const {
    const float middle = 0.5F * static_cast<float>(p_.window - 1);
    for_places([&](int k, int x, int y) {
      const int px = window_.x + x, py = window_.y + y;
      if (p_.masked && !images_.mask[std::int64_t{py} * p_.frame.width + px]) return;
      body(at(k, x, y), axis_[x] * axis_[y], static_cast<float>(x) - middle,
           static_cast<float>(y) - middle, px, py);
    });
  }

 private:
  __device__ int size() const { return p_.window * p_.window; }
  __device__ SlopedPixel read(int x, int y) const {
    return {images_.reference, window_.x + x, window_.y + y, origin_};
  }
  __device__ SlopedPixel at(int k, int x, int y) const {
    if constexpr (staged)
      return {memory_[k], memory_[k + size()], memory_[k + 2 * size()]};
    else
      return read(x, y);
  }
  /// Calls body(k, x, y) for this thread's pixels, the k-th of the window's.
  template <class Body>
  __device__ void for_places(Body body) const {
    const int across = threads % p_.window, down = threads / p_.window;
    int x = threadIdx.x % p_.window, y = threadIdx.x / p_.window;
#pragma unroll 1
    for (int k = threadIdx.x; k < size(); k += threads) {
      body(k, x, y);
      x += across;
      y += down;
      if (x >= p_.window) {
        x -= p_.window;
        ++y;
      }
    }
  }

  const stage::Fit::Problem& p_;
  const Images<Pixel>& images_;
  const float* axis_;
  const InterrogationWindow& window_;
  const float* memory_;
  float origin_;
};

/// As many as registers permit without any that spill.
template <class Pixel, int order, bool staged>
constexpr int blocks_at_once = std::is_same_v<Pixel, std::uint8_t>&& staged&& order < 2 ? 5 : 4;

template <class Pixel, int order, int degree, bool staged>
__global__ void __launch_bounds__(threads, blocks_at_once<Pixel, order, staged>)
    fit(stage::Fit::Problem p, Images<Pixel> images, const InterrogationWindow* windows,
        const FieldBend* bends, const FieldVector* measured, FieldVector* vectors) {
  __shared__ float axis[FieldLimits::window];
  __shared__ FitSums<order> sums_of_reference;
  __shared__ FitWindow<order> fitting;
  __shared__ FitSteps<order> steps;
  __shared__ bool goes_on;
  __shared__ double score;  // before the last step
  constexpr int unknowns = fit_unknowns<order>;
  const int lane = threadIdx.x;  // of the first warp, which takes the steps
  const Layout<degree> layout(p);
  auto* const memory = dynamic_shared<float>();
  for (int i = threadIdx.x; i < p.window; i += threads)
    axis[i] = p.weight_at(static_cast<float>(i) - 0.5F * static_cast<float>(p.window - 1));
  for (std::int64_t index = blockIdx.x; index < p.count; index += gridDim.x) {
    const InterrogationWindow& window = windows[index];
    if (!is_to_fit<order>(p, window, measured[index])) {
      if (threadIdx.x == 0) vectors[index] = measured[index];
      continue;
    }
    __syncthreads();  // the window before has been done with
    const Pixels<Pixel, staged> pixels(p, images, axis, window, memory);
    const auto expected = [](int place, float displacement) {
      return place + static_cast<int>(floorf(displacement)) - SplineTaps<degree>::before -
             Layout<degree>::slack;
    };
    const Patch<degree> patch(p, images.frame, memory + (staged ? 3 * layout.pixels : 0),
                              staged ? layout.side : 0, expected(window.x, window.dx),
                              expected(window.y, window.dy));
    if (threadIdx.x == 0) steps = FitSteps<order>::begin(window, bends + index, p.window);
    __syncthreads();
    const float unit = 1 / steps.half();
    {
      FitSums<order> sums;
      sums.clear();
      pixels.for_each([&](const SlopedPixel& pixel, float weight, float u, float v, int, int) {
        sums.add(pixel, {pixel, u * unit, v * unit}, weight);
      });
      block_sums<warps>(sums.of);
      if (threadIdx.x == 0) {
        sums_of_reference = sums;
        goes_on = fitting.prepare(sums_of_reference);
      }
    }
    __syncthreads();
    const bool is_determined = goes_on;
    if (is_determined && lane < unknowns) fitting.invert(lane);
    for (int step = 0; goes_on && step < FitSteps<order>::most; ++step) {
      const FitWarp<order> way = steps.warp();
      WarpedSums<order> sums;
      sums.clear();
      pixels.for_each([&](const SlopedPixel& pixel, float weight, float u, float v, int x, int y) {
        const float across = way.across(u, v), down = way.down(u, v);
        const float whole_x = floorf(across), whole_y = floorf(down);
        const float frame = patch.at(x + static_cast<int>(whole_x), y + static_cast<int>(whole_y),
                                     across - whole_x, down - whole_y);
        sums.add(pixel, {pixel, u * unit, v * unit}, weight, frame - pixels.origin());
      });
      block_sums<warps>(sums.of);
      if (threadIdx.x < 32) {
        // Each lane solves for one unknown, and the first takes the step.
        const double own = fitting.step_of(lane < unknowns ? lane : 0, sums);
        double found[unknowns];
#pragma unroll
        for (int k = 0; k < unknowns; ++k) found[k] = __shfl_sync(~0u, own, k);
        if (lane == 0) {
          score = fitting.score_of(sums);
          goes_on = steps.step(found, score);
        }
      }
      __syncthreads();
    }
    if (threadIdx.x == 0)
      vectors[index] =
          fitted(p, window, measured[index], steps, is_determined ? fitting.sigma(score) : 0);
  }
}

template <class Pixel, int order, int degree>
Status launch_as(const stage::Fit::Problem& p, const Device& device, const stage::Fit::Buffers& b) {
  // A few blocks for each multiprocessor.
  const std::size_t bytes = Layout<degree>(p).bytes();
  const bool staged = 2 * (bytes + 4096) <= max_shared_bytes(device);
  return enqueue(
      "fit", staged ? fit<Pixel, order, degree, true> : fit<Pixel, order, degree, false>,
      dim3(grid_extent(p.count)), dim3(threads), staged ? bytes : 0, b.stream, p,
      Images<Pixel>{{b.reference, p.pitch, p.frame, p.type}, b.mask, {b.coefficients, p.frame}},
      b.windows, b.bends, b.measured, b.vectors);
}

template <class Pixel, int order>
Status launch_of(const stage::Fit::Problem& p, const Device& device, const stage::Fit::Buffers& b) {
  return p.degree == 3 ? launch_as<Pixel, order, 3>(p, device, b)
                       : launch_as<Pixel, order, 5>(p, device, b);
}

template <class Pixel>
Status launch(const stage::Fit::Problem& p, const Device& device, const stage::Fit::Buffers& b,
              PlanState*) {
  if (p.order == 0) return launch_of<Pixel, 0>(p, device, b);
  if (p.order == 1) return launch_of<Pixel, 1>(p, device, b);
  return launch_of<Pixel, 2>(p, device, b);
}

constexpr Variant<stage::Fit> table[] = {
    {{.name = "fit", .backend = Backend::cuda, .features = {Feature::u8, Feature::mask}},
     {.launch = launch<std::uint8_t>}},
    {{.name = "fit_u16_f32",
      .backend = Backend::cuda,
      .features = {Feature::u16, Feature::f32, Feature::mask}},
     {.launch = launch<U16F32Pixel>}},
};

}  // namespace

Family fit_family() { return Family(table); }

}  // namespace xcorr::cuda
