// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scores of warped templates at the places near the expected ones in frames of 16 bits and of
// floats, and of templates with weights in all frames, on the GPU: a block a try. It makes the
// image strip by strip in shared memory and compares each with the frame at all places at once.
#include <algorithm>
#include <type_traits>

#include "cuda/common/launch.cuh"
#include "cuda/common/shared_budget.cuh"
#include "cuda/common/shared_memory.cuh"
#include "cuda/common/warp.cuh"
#include "stages/common/rows.hpp"
#include "stages/match/score.hpp"
#include "stages/poses/local_rescore.hpp"

namespace xcorr::cuda {
namespace {

constexpr int across = 2 * stage::LocalRescore::reach + 1, places = across * across;
/// Two warps a row of places, which share its pixels.
constexpr int shares = 2, warps = shares * across, threads = 32 * warps;

/// Of integers sums are exact.
template <class T>
using Sum = std::conditional_t<std::is_floating_point_v<T>, double, unsigned long long>;
/// What a term of a sum fits into.
template <class T>
using Factor = std::conditional_t<sizeof(T) == 1, unsigned, Sum<T>>;
/// Sums of bytes with weights are as wide as those of words.
template <class T, bool weighted>
using Term = std::conditional_t<weighted && std::is_integral_v<T>, Int128, TermOf<T>>;

/// The sums over the image, and of a row of places those over windows.
template <class T>
struct Sums {
  Sum<T> counted = 0, right_sum = 0, right_squares = 0;
  Sum<T> product[across] = {}, sum[across] = {}, squares[across] = {};
};
constexpr int sum_count = 3 + 3 * across;

/// What a block has besides a strip. Of: in which terms are added up.
template <class T, class Of = Int128>
struct Own {
  Sum<T> sums[warps][sum_count];
  ScoreTerms<Of> terms[places];  ///< in registers they would leave too few
  RescoredPlace tried[places];
};

/// A strip of an image, how often each pixel counts after it, both in shared memory.
template <class T>
struct Strip {
  T* image;
  std::uint8_t* mask;
  int width, rows;

  static int rows_of(Size most) {
    constexpr int high = 16, budget = dynamic_budget<Own<T>>();
    return std::min(budget / (most.width * static_cast<int>(sizeof(T) + 1)), high);
  }
};

template <bool weighted, class T>
__device__ void make_image(const WarpedTemplate<T>& from, const WarpMap& map, int first_row,
                           const Strip<T>& strip, Sums<T>& sums) {
  const WarpedPlaces places(from, map);
  for (int i = threadIdx.x; i < strip.rows * strip.width; i += threads) {
    const int y = i / strip.width, x = i - y * strip.width;
    const WarpedPixel<T> pixel(
        from, map.log2_samples, places.u, places.v, x, first_row + y,
        [](int f) { return CubicWeights(f); }, ReadEach());
    int times = pixel.counts;
    if (weighted && times) times = warped_weight(from, map, x, first_row + y);
    const Factor<T> value = pixel.value, weighed = weighted ? times * value : value;
    strip.image[i] = static_cast<T>(pixel.value);
    strip.mask[i] = static_cast<std::uint8_t>(times);
    sums.counted += times;
    sums.right_sum += weighed;
    sums.right_squares += weighed * value;
  }
}

/// A warp's share of the strip at its row of places, the first one at (left, top).
template <bool weighted, class T>
__device__ void compare(const stage::LocalRescore::Problem& p, const std::uint8_t* frame, int left,
                        int top, const Strip<T>& strip, Sums<T>& sums) {
  const int first = threadIdx.x / 32 / across * 32 + threadIdx.x % 32;
  for (int i = first; i < strip.rows * strip.width; i += 32 * shares) {
    if (!strip.mask[i]) continue;
    const int v = i / strip.width, x = left + i - v * strip.width, y = top + v;
    if (y < 0 || y >= p.frame.height) continue;  // then so is the window
    const T* row = row_of<T>(frame, p.pitch, y);
    const Factor<T> times = strip.mask[i], value = strip.image[i],
                    right = weighted ? times * value : value;
#pragma unroll
    for (int k = 0; k < across; ++k) {
      const Factor<T> here = x + k >= 0 && x + k < p.frame.width ? row[x + k] : T{0},
                      weighed = weighted ? times * here : here;
      sums.product[k] += here * right;
      sums.sum[k] += weighed;
      sums.squares[k] += weighed * here;
    }
  }
}

/// The warp's, to shared memory.
template <class T>
__device__ void add_up(const Sums<T>& sums, Sum<T> (&all)[sum_count]) {
  const auto put = [&](int which, Sum<T> sum) {
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) all[which] = sum;
  };
  put(0, sums.counted);
  put(1, sums.right_sum);
  put(2, sums.right_squares);
#pragma unroll
  for (int k = 0; k < across; ++k) {
    put(3 + 3 * k, sums.product[k]);
    put(4 + 3 * k, sums.sum[k]);
    put(5 + 3 * k, sums.squares[k]);
  }
}

/// Of a plane at a place, from the sums of all warps.
template <class Of, class T>
__device__ ScoreTerms<Of> terms_of(Method method, const Sum<T> (&all)[warps][sum_count],
                                   int place) {
  Sum<T> right[3] = {}, left[3] = {};
  for (int warp = 0; warp < warps; ++warp)
    for (int k = 0; k < 3; ++k) right[k] += all[warp][k];
  for (int share = 0; share < shares; ++share)
    for (int k = 0; k < 3; ++k)
      left[k] += all[share * across + place / across][3 + 3 * (place % across) + k];
  return score_terms(method, WindowTerms<Of>{Of(right[0]), Of(left[0]), Of(left[1]), Of(left[2]),
                                             Of(right[1]), Of(right[2])});
}

template <class T, bool weighted>
__global__ void __launch_bounds__(threads, 1)
    local_rescore_u16_f32(stage::LocalRescore::Problem p, stage::LocalRescore::Buffers b,
                          bool minimum, int most_rows) {
  using Of = Term<T, weighted>;
  __shared__ Own<T, Of> own;
  auto& tried = own.tried;
  const int tries = p.tries(), count = *b.candidate_count * tries;
  for (int index = blockIdx.x; index < count; index += gridDim.x) {
    const stage::LocalRescore::Try one =
        stage::LocalRescore::try_of(p, b, index / tries, index % tries);
    if (!one.exists) {
      if (threadIdx.x == 0) b.found[index] = {};
      continue;
    }
    const WarpMap map = stage::LocalRescore::map_of(p, b, one);
    const RescorePlace expected{map.width, map.height, one.twice_x, one.twice_y};
    const int left = expected.left() - stage::LocalRescore::reach,
              top = expected.top() - stage::LocalRescore::reach;
    Strip<T> strip{dynamic_shared<T>(), nullptr, map.width, 0};
    strip.mask = reinterpret_cast<std::uint8_t*>(strip.image + most_rows * map.width);
    XCORR_ROLL
    for (int plane = 0; plane < p.planes; ++plane) {
      const WarpedTemplate from(p.pyramid, row_of<T>(b.pixels, 0, 0) + plane * p.pyramid.area(),
                                b.mask, map.level);
      Sums<T> sums;
      for (int first_row = 0; first_row < map.height; first_row += most_rows) {
        const int rest = map.height - first_row;
        strip.rows = rest < most_rows ? rest : most_rows;
        make_image<weighted>(from, map, first_row, strip, sums);
        __syncthreads();
        compare<weighted>(p, b.frame + plane * p.plane, left,
                          top + first_row + static_cast<int>(threadIdx.x / 32 % across), strip,
                          sums);
        __syncthreads();
      }
      add_up(sums, own.sums[threadIdx.x / 32]);
      __syncthreads();
      if (threadIdx.x >= places) continue;
      const auto of_plane = terms_of<Of, T>(p.method, own.sums, threadIdx.x);
      if (plane == 0)
        own.terms[threadIdx.x] = of_plane;
      else
        own.terms[threadIdx.x] += of_plane;
    }
    if (threadIdx.x < places) {
      const int x = left + threadIdx.x % across, y = top + threadIdx.x / across;
      const ScoreTerms<Of>& terms = own.terms[threadIdx.x];
      const bool inside = terms.n > 0 && x >= 0 && y >= 0 && x <= p.frame.width - map.width &&
                          y <= p.frame.height - map.height &&
                          p.admits(terms.n, terms.left_variance);
      tried[threadIdx.x] = {score(p.method, terms),
                            2 * x + map.width - 1,
                            2 * y + map.height - 1,
                            one.pose,
                            inside,
                            0};
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      int best = -1;
      for (int i = 0; i < places; ++i)
        if (tried[i].is_inside &&
            (best < 0 || p.better(minimum, tried[i].score, tried[best].score)))
          best = i;
      b.found[index] = best < 0 ? RescoredPlace{} : tried[best];
    }
    __syncthreads();  // the next try overwrites what is shared
  }
}

template <class T, bool weighted>
Status launch_as(const stage::LocalRescore::Problem& p, const stage::LocalRescore::Buffers& b) {
  const int rows = Strip<T>::rows_of(p.most);
  const std::size_t bytes = std::size_t(rows) * p.most.width * (sizeof(T) + 1);
  return enqueue("local_rescore_u16_f32", local_rescore_u16_f32<T, weighted>,
                 dim3(grid_extent(p.count * p.tries())), dim3(threads), bytes, b.stream, p, b,
                 info(p.method).minimum, rows);
}

Status launch(const stage::LocalRescore::Problem& p, const Device&,
              const stage::LocalRescore::Buffers& b, PlanState*) {
  return p.type == ElementType::u16 ? launch_as<std::uint16_t, false>(p, b)
                                    : launch_as<float, false>(p, b);
}

Status launch_weighted(const stage::LocalRescore::Problem& p, const Device&,
                       const stage::LocalRescore::Buffers& b, PlanState*) {
  return p.type == ElementType::u8    ? launch_as<std::uint8_t, true>(p, b)
         : p.type == ElementType::u16 ? launch_as<std::uint16_t, true>(p, b)
                                      : launch_as<float, true>(p, b);
}

/// Of one row at least the strip must fit.
bool supports(const stage::LocalRescore::Problem& p, const Device&) {
  return Strip<float>::rows_of(p.most) > 0;
}

/// Edges have none.
bool supports_weights(const stage::LocalRescore::Problem& p, const Device& device) {
  return p.masking.weighted && !p.edges.made && supports(p, device);
}

constexpr Variant<stage::LocalRescore> table[] = {
    {{.name = "local_rescore_u16_f32",
      .backend = Backend::cuda,
      .features = {Feature::u16, Feature::f32, Feature::mask, Feature::contrast}},
     {.supports = supports, .launch = launch}},
    {{.name = "local_rescore_weighted",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::mask, Feature::contrast,
                   Feature::planes, Feature::weights}},
     {.supports = supports_weights, .launch = launch_weighted}},
};

}  // namespace

Family local_rescore_u16_f32_family() { return Family(table); }

}  // namespace xcorr::cuda
