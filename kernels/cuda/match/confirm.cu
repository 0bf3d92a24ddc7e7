// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The second look at peaks, a block a peak: its threads share the pixels for the means and the
// contrasts, then a warp takes a square after the other.
#include "cuda/common/block_sums.cuh"
#include "cuda/common/launch.cuh"
#include "stages/match/confirm.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr int rows_of_warp = 32 / confirm_side;  ///< of a square, at a time

/// A window and its template.
template <class In>
struct Pair {
  const Problem& p;
  const std::byte *window, *right;  ///< of the first plane
  const std::uint8_t* mask;

  /// Calls visit(f, t) if that pixel counts.
  template <class Visit>
  __device__ void at(int plane, int x, int y, Visit visit) const {
    if (mask && !mask[std::int64_t{y} * p.right.width + x]) return;
    const std::byte* const f = window + plane * p.left_plane + y * p.left_pitch;
    const std::byte* const t =
        right + std::int64_t{plane} * p.rights * p.right_stride + y * p.right_pitch;
    visit(static_cast<double>(reinterpret_cast<const In*>(f)[x]),
          static_cast<double>(reinterpret_cast<const In*>(t)[x]));
  }
  /// The same for all pixels, divided among the threads of the block.
  template <class Visit>
  __device__ void for_counted(int plane, Visit visit) const {
    XCORR_ROLL
    for (int y = threadIdx.x / 32; y < p.right.height; y += warps) XCORR_ROLL
    for (int x = threadIdx.x % 32; x < p.right.width; x += 32) at(plane, x, y, visit);
  }
};

struct Means {
  double window = 0, right = 0;
};

/// The mean square of differences in the warp's square at (left, top).
template <class In>
__device__ double mean_square(const Pair<In>& pair, const Means* means, double gain, int left,
                              int top) {
  const int planes = pair.p.planes;
  const int x = left + static_cast<int>(threadIdx.x) % confirm_side;
  const int first = top + static_cast<int>(threadIdx.x) % 32 / confirm_side;
  const int end = min(top + confirm_side, pair.p.right.height);
  double squares = 0, pixels = 0;
  XCORR_ROLL
  for (int plane = 0; plane < planes; ++plane) XCORR_ROLL
  for (int y = first; y < end && x < pair.p.right.width; y += rows_of_warp)
    pair.at(plane, x, y, [&](double f, double t) {
      const double rest = gain * (f - means[plane].window) - (t - means[plane].right);
      squares += rest * rest;
      ++pixels;
    });
  return confirm_mean(warp_sum(squares), warp_sum(pixels) / planes, planes);
}

/// Ends with all threads there.
template <class In>
__device__ double worst_square(const stage::Confirm::Problem& p, const Pair<In>& pair,
                               bool inverted) {
  __shared__ Means means[color_planes];
  __shared__ double of_warps[warps];
  double contrasts[2] = {};
  XCORR_ROLL
  for (int plane = 0; plane < p.correlate.planes; ++plane) {
    double sums[3] = {};
    pair.for_counted(plane, [&](double f, double t) {
      ++sums[0];
      sums[1] += f;
      sums[2] += t;
    });
    block_sums<warps>(sums);
    Means own;
    if (info(p.method).centred) own = {sums[1] / sums[0], sums[2] / sums[0]};
    if (threadIdx.x == 0) means[plane] = own;
    pair.for_counted(plane, [&](double f, double t) {
      contrasts[0] += (f - own.window) * (f - own.window);
      contrasts[1] += (t - own.right) * (t - own.right);
    });
  }
  block_sums<warps>(contrasts);
  const double gain = confirm_gain(p.method, contrasts[0], contrasts[1], inverted);
  const Size squares = p.squares();
  const int warp = threadIdx.x / 32;
  double worst = 0;
  XCORR_ROLL
  for (int i = warp; i < squares.area(); i += warps)
    worst = fmax(worst, mean_square(pair, means, gain, i % squares.width * confirm_side,
                                    i / squares.width * confirm_side));
  if (threadIdx.x % 32 == 0) of_warps[warp] = worst;
  __syncthreads();
  XCORR_ROLL
  for (int i = 0; i < warps; ++i) worst = fmax(worst, of_warps[i]);
  __syncthreads();
  return worst;
}

/// Grid: peaks of a template, templates.
template <class In>
__global__ void __launch_bounds__(threads)
    confirm_peaks(stage::Confirm::Problem p, const std::byte* left, const std::byte* templates,
                  const std::uint8_t* mask, int first_right, int right_count,
                  const RefinedPeak* peaks, const std::uint32_t* peak_counts, float* differences) {
  const Problem& of = p.correlate;
  for (int r = first_right + blockIdx.y; r < first_right + right_count; r += gridDim.y) {
    if (blockIdx.x >= peak_counts[r]) continue;
    const std::int64_t index = std::int64_t{r} * p.max_peaks + blockIdx.x;
    const RefinedPeak peak = peaks[index];
    const Pair<In> pair{of,
                        left + of.left_offset(r) + (of.shifts.y + peak.y) * of.left_pitch +
                            (of.shifts.x + peak.x) * static_cast<int>(sizeof(In)),
                        templates + r * of.right_stride, mask};
    const double worst = worst_square(p, pair, is_inverted(p.polarity, peak.score));
    if (threadIdx.x == 0) differences[index] = static_cast<float>(sqrt(worst));
  }
}

Status launch(const stage::Confirm::Problem& p, const Device&, const stage::Confirm::Buffers& b,
              PlanState*) {
  const ElementType type = p.correlate.type;
  const auto kernel = type == ElementType::u8    ? confirm_peaks<std::uint8_t>
                      : type == ElementType::u16 ? confirm_peaks<std::uint16_t>
                                                 : confirm_peaks<float>;
  return enqueue("confirm", kernel, dim3(p.max_peaks, grid_extent(b.right_count)), dim3(threads), 0,
                 b.stream, p, static_cast<const std::byte*>(b.lefts),
                 static_cast<const std::byte*>(b.templates), b.mask, b.first_right, b.right_count,
                 b.peaks, b.peak_counts, b.differences);
}

bool supports(const stage::Confirm::Problem& p, const Device&) {
  return stage::can_be_confirmed(p);
}

constexpr Variant<stage::Confirm> table[] = {
    {{.name = "confirm",
      .backend = Backend::cuda,
      .features = match_features | Features(Feature::own_lefts)},
     {.supports = supports, .launch = launch}},
};

}  // namespace

Family confirm_family() { return Family(table); }

}  // namespace xcorr::cuda
