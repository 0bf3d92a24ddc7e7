// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The second look at peaks, a block a peak.
#include "cuda/common/launch.cuh"
#include "cuda/match/confirm.cuh"

namespace xcorr::cuda {
namespace {

using second_look::threads;

/// A window and its template.
template <class In>
struct Pair {
  const Problem& p;
  const std::byte *window, *right;  ///< of the first plane
  const std::uint8_t* mask;
  int planes;
  Size size;

  template <class Visit>
  __device__ void at(int plane, int x, int y, Visit visit) const {
    if (mask && !mask[std::int64_t{y} * size.width + x]) return;
    const std::byte* const f = window + plane * p.left_plane + y * p.left_pitch;
    const std::byte* const t =
        right + std::int64_t{plane} * p.rights * p.right_stride + y * p.right_pitch;
    visit(static_cast<double>(reinterpret_cast<const In*>(f)[x]),
          static_cast<double>(reinterpret_cast<const In*>(t)[x]));
  }
};

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
                        templates + r * of.right_stride,
                        mask,
                        of.planes,
                        of.right};
    const double worst =
        second_look::worst_square(pair, p.method, is_inverted(p.polarity, peak.score));
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
