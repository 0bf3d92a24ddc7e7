// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Exact scores of the candidates and their eight neighbours, recomputed from the pixels, and the
// sub-pixel position from them. It needs no score surface, so the peaks are the same whichever
// kernel found the candidates. In the first launch a block scores one of the nine positions of one
// candidate; in the second a thread locates one peak. There are few blocks and each executes its
// code once, so fetching code takes longer than running it: loops stay rolled.
#include "cuda/common/block_sums.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/match/neighbours.cuh"
#include "stages/match/peaks.hpp"
#include "stages/match/score.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;

/// Visits the pixels of window and template that count, how often, and are seen, divided among the
/// threads of the block: a warp takes a row of pixels. `end_row` is called after each row.
template <class In, class F, class G>
__device__ void for_pixels(const Problem& p, const Rect& seen, const std::byte* window,
                           const In* right, const std::uint8_t* mask, F f, G end_row) {
  const int lane = threadIdx.x % 32;
#pragma unroll 2
  for (int y = seen.y + threadIdx.x / 32; y < seen.y + seen.height; y += warps) {
    const auto* left_row = reinterpret_cast<const In*>(window + y * p.left_pitch);
    const auto* right_row =
        reinterpret_cast<const In*>(reinterpret_cast<const std::byte*>(right) + y * p.right_pitch);
#pragma unroll 2
    for (int x = seen.x + lane; x < seen.x + seen.width; x += 32)
      if (const unsigned times = mask ? mask[std::int64_t{y} * p.right.width + x] : 1; times > 0)
        f(left_row[x], right_row[x], times);
    end_row();
  }
}

/// Pixels of integers. `sums`: of the whole template.
template <class In>
__device__ ScoreTerms<TermOf<In>> terms_of(const stage::Refine::Problem& p, const Rect& seen,
                                           const std::byte* window, const In* right,
                                           const std::uint8_t* mask, const TemplateSums& sums) {
  // 32 bits hold a thread's share of any row of bytes.
  using Share = std::conditional_t<sizeof(In) == 1, unsigned, unsigned long long>;
  Share product = 0, sum = 0, squares = 0;
  unsigned long long totals[3] = {};
  for_pixels(
      p.correlate, seen, window, right, mask,
      [&](unsigned f, unsigned t, unsigned times) {
        product += f * t;  // templates have been multiplied by their weights
        sum += times * f;
        squares += times * f * f;
      },
      [&] {
        totals[0] += product;
        totals[1] += sum;
        totals[2] += squares;
        product = sum = squares = 0;
      });
  block_sums<warps>(totals);
  using T = TermOf<In>;
  WindowTerms<T> terms{p.pixels(),
                       static_cast<T>(totals[0]),
                       static_cast<T>(totals[1]),
                       static_cast<T>(totals[2]),
                       static_cast<std::int64_t>(sums.sum),
                       static_cast<std::int64_t>(sums.squares)};
  if (seen.size() != p.correlate.right) {
    unsigned long long seen_totals[3] = {};
    for_pixels(
        p.correlate, seen, window, right, mask,
        [&](unsigned, unsigned t, unsigned) {
          ++seen_totals[0];
          seen_totals[1] += t;
          seen_totals[2] += t * t;
        },
        [] {});
    block_sums<warps>(seen_totals);
    terms.n = static_cast<T>(seen_totals[0]);
    terms.right_sum = static_cast<T>(seen_totals[1]);
    terms.right_squares = static_cast<T>(seen_totals[2]);
  }
  return score_terms(p.method, terms);
}

__device__ CentredTerms terms_of(const stage::Refine::Problem& p, const Rect& seen,
                                 const std::byte* window, const float* right,
                                 const std::uint8_t* mask, const TemplateSums&) {
  double means[3] = {};  // the last one: pixels
  for_pixels(
      p.correlate, seen, window, right, mask,
      [&](double f, double t, unsigned) {
        means[0] += f;
        means[1] += t;
        ++means[2];
      },
      [] {});
  block_sums<warps>(means);
  if (!(means[2] > 0)) return {};  // a neighbour outside
  for (int k = 0; k < 2; ++k) means[k] /= means[2];
  double s[7] = {};
  for_pixels(
      p.correlate, seen, window, right, mask,
      [&](double f, double t, unsigned) {
        const double a = f - means[0], b = t - means[1];
        s[0] += f * f;
        s[1] += t * t;
        s[2] += f * t;
        s[3] += (f - t) * (f - t);
        s[4] += a * a;
        s[5] += b * b;
        s[6] += a * b;
      },
      [] {});
  block_sums<warps>(s);
  CentredTerms w;
  w.left_squares = s[0];
  w.right_squares = s[1];
  w.product = s[2];
  w.difference = s[3];
  w.left_variance_sum = s[4];
  w.right_variance_sum = s[5];
  w.covariance = s[6];
  return w;
}

/// Grid: positions, candidates of a template, templates.
template <class In>
__global__ void __launch_bounds__(threads, 4)
    score_places(stage::Refine::Problem p, const std::byte* left, const std::byte* templates,
                 const std::uint8_t* mask, const TemplateSums* template_sums, int first_right,
                 int right_count, const Candidate* candidates, const std::uint32_t* counts,
                 double* scores) {
  for (int r = first_right + blockIdx.z; r < first_right + right_count; r += gridDim.z) {
    if (blockIdx.y >= counts[r]) continue;
    const std::int64_t index = std::int64_t{r} * p.max_peaks + blockIdx.y;
    const Candidate c = candidates[index];
    const Neighbours there(p, c);
    const int dx = static_cast<int>(blockIdx.x) % 3 - 1, dy = static_cast<int>(blockIdx.x) / 3 - 1;
    if ((dx && !there.x) || (dy && !there.y)) continue;
    const int x = p.correlate.shifts.x + c.x + dx, y = p.correlate.shifts.y + c.y + dy;
    const Rect seen = p.seen(c.x + dx, c.y + dy);
    const Problem& of = p.correlate;
    const auto terms = [&](int plane) {
      const std::int64_t right = std::int64_t{plane} * of.rights + r;
      return terms_of(p, seen,
                      left + plane * of.left_plane + of.left_offset(r) + y * of.left_pitch +
                          x * static_cast<int>(sizeof(In)),
                      reinterpret_cast<const In*>(templates + right * of.right_stride), mask,
                      template_sums[right]);
    };
    // In shared memory, since registers are few; of the first thread alone.
    __shared__ decltype(terms(0)) all;
    XCORR_ROLL
    for (int plane = 0; plane < of.planes; ++plane) {
      const auto of_plane = terms(plane);
      if (threadIdx.x != 0) continue;
      if (plane == 0)
        all = of_plane;
      else
        all += of_plane;
    }
    if (threadIdx.x == 0) scores[index * places + blockIdx.x] = score(p.method, all);
  }
}

__global__ void __launch_bounds__(threads)
    place_peaks(stage::Refine::Problem p, bool minimum, int first_right, int right_count,
                const Candidate* candidates, const std::uint32_t* counts,
                const double (*scores)[places], RefinedPeak* peaks, std::uint32_t* peak_counts) {
  for (int r = first_right + blockIdx.y; r < first_right + right_count; r += gridDim.y) {
    const unsigned k = blockIdx.x * threads + threadIdx.x;
    if (k == 0) peak_counts[r] = counts[r];
    if (k >= counts[r]) continue;
    const std::int64_t index = std::int64_t{r} * p.max_peaks + k;
    const Candidate c = candidates[index];
    const Neighbours there(p, c);
    const double here = scores[index][places / 2];
    const Offset offset =
        subpixel_offset(scores[index], there.x, there.y, minimum || is_inverted(p.polarity, here));
    peaks[index] = {here, offset.dx, offset.dy, c.x, c.y};
  }
}

std::size_t workspace(const stage::Refine::Problem& p, const Device&) {
  return sizeof(double) * places * p.correlate.rights * p.max_peaks;
}

Status launch(const stage::Refine::Problem& p, const Device&, const stage::Refine::Buffers& b,
              PlanState*) {
  const ElementType type = p.correlate.type;
  const auto score = type == ElementType::u8    ? score_places<std::uint8_t>
                     : type == ElementType::u16 ? score_places<std::uint16_t>
                                                : score_places<float>;
  const unsigned rights = grid_extent(b.right_count);
  auto* scores = static_cast<double*>(b.workspace);
  if (Status s = enqueue("score_places", score, dim3(places, p.max_peaks, rights), threads, 0,
                         b.stream, p, static_cast<const std::byte*>(b.lefts),
                         static_cast<const std::byte*>(b.templates), b.mask, b.template_sums,
                         b.first_right, b.right_count, b.candidates, b.counts, scores);
      !s.ok())
    return s;
  return enqueue("place_peaks", place_peaks, dim3(ceil_div(p.max_peaks, threads), rights), threads,
                 0, b.stream, p, info(p.method).minimum, b.first_right, b.right_count, b.candidates,
                 b.counts, reinterpret_cast<const double(*)[places]>(scores), b.peaks,
                 b.peak_counts);
}

constexpr Variant<stage::Refine> table[] = {
    {{.name = "refine",
      .backend = Backend::cuda,
      .features = match_features | Features(Feature::own_lefts, Feature::overhang)},
     {.launch = launch, .workspace = workspace}},
};

}  // namespace

Family refine_family() { return Family(table); }

}  // namespace xcorr::cuda
