// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A warped template against the frame at the places near the expected one, by a block: it makes
// rows of the image in shared memory, compares them with the frame at all places at once, four
// pixels per instruction, and scores the places by the sums. Planes take turns there, each with
// sums of its own. All sums are integers: their order does not matter. What is before Rescoring,
// and after it, images of edges have as well, which are made and compared another way.
#pragma once

#include "cuda/common/last_block.cuh"
#include "cuda/common/tiles.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/poses/warped_part.cuh"
#include "stages/match/score.hpp"
#include "stages/poses/local_rescore.hpp"

namespace xcorr::cuda {

/// The places of a try: so many across and down.
inline constexpr int rescored_across = 2 * stage::LocalRescore::reach + 1,
                     rescored_places = rescored_across * rescored_across;

/// A try whose image is compared; of none where the grid has no such pose.
struct RescoredTry {
  PoseIndex pose;
  WarpMap map;
  int left, top;  ///< of the first place

  /// `index`: of all tries of all candidates.
  __device__ static RescoredTry of(const stage::LocalRescore::Problem& p,
                                   const stage::LocalRescore::Buffers& b, int index) {
    const int tries = p.tries();
    const auto one = stage::LocalRescore::try_of(p, b, index / tries, index % tries);
    if (!one.exists) return {};
    const WarpMap map = stage::LocalRescore::map_of(p, b, one);
    const RescorePlace expected{map.width, map.height, one.twice_x, one.twice_y};
    return {one.pose, map, expected.left() - stage::LocalRescore::reach,
            expected.top() - stage::LocalRescore::reach};
  }
  __device__ bool exists() const { return map.height > 0; }
};

/// Words of the frame's rows from (left, top) on, one after the other; 0 outside. By all threads.
/// \param flips  bits of each word that are turned over
__device__ inline void load_rescored(const stage::LocalRescore::Problem& p,
                                     const std::uint8_t* frame, int left, int top, int words,
                                     int rows, std::uint32_t* to, std::uint32_t flips = 0) {
  const int threads = blockDim.x, rows_on = threads / words, words_on = threads % words;
  int row = threadIdx.x / words, column = threadIdx.x % words;
  for (int i = threadIdx.x; i < words * rows; i += threads) {
    const int y = top + row, width = y >= 0 && y < p.frame.height ? p.frame.width : 0;
    std::uint32_t word[1];
    load_words(frame + y * p.pitch, left + 4 * column, width, word);
    to[i] = word[0] ^ flips;
    row += rows_on;
    column += words_on;
    if (column >= words) {
      column -= words;
      ++row;
    }
  }
}

/// The best of the places, by all lanes of a warp; written by one of them.
/// \param terms_of  the ScoreTerms of a place
template <class TermsOf>
__device__ void find_best(const stage::LocalRescore::Problem& p, bool minimum,
                          const RescoredTry& one, TermsOf terms_of, RescoredPlace& found) {
  int lane = threadIdx.x % 32;
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(lane));  // else what follows of it is kept in registers all the time
#endif
  const int place = lane < rescored_places ? lane : 0;
  const int x = one.left + place % rescored_across, y = one.top + place / rescored_across;
  const auto terms = terms_of(place);
  const bool inside = lane < rescored_places && terms.n > 0 && x >= 0 && y >= 0 &&
                      x <= p.frame.width - one.map.width && y <= p.frame.height - one.map.height &&
                      p.admits(terms.n, terms.left_variance);
  const double own = score(p.method, terms);
  double best = own;
  int best_place = inside ? place : rescored_places;
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const double other = __shfl_xor_sync(~0u, best, step);
    const int other_place = __shfl_xor_sync(~0u, best_place, step);
    if (other_place == rescored_places) continue;
    // Of equal scores the first place wins.
    const bool wins = best_place == rescored_places || p.better(minimum, other, best) ||
                      (!p.better(minimum, best, other) && other_place < best_place);
    if (!wins) continue;
    best = other;
    best_place = other_place;
  }
  if (best_place == rescored_places) {
    if (lane == 0) found = {};
  } else if (lane == best_place) {
    found = {own, 2 * x + one.map.width - 1, 2 * y + one.map.height - 1, one.pose, 1, 0};
  }
}

template <int planes>
class Rescoring {
  using u32 = std::uint32_t;
  static constexpr int across = rescored_across;
  static constexpr int warps_of_row = 2;  ///< that share a row of places
  static constexpr int warps = across * warps_of_row;
  /// The sums of a plane of an image and of its windows, as indices.
  enum Sum : int { counted, right_sum, right_squares, of_places };
  static constexpr int of_plane = of_places + 3 * rescored_places;

 public:
  static constexpr int threads = 32 * warps, sum_count = planes * of_plane;
  using Sums = u32[sum_count];  ///< of some rows, for which 32 bits suffice
  using Totals = unsigned long long[sum_count];

  /// Of shared memory for rows of so many words: of image and mask, and of the frame.
  static constexpr std::size_t bytes(int words, int rows) {
    return 4 * (std::size_t{2} * words * rows + std::size_t(words + 1) * (rows + across - 1));
  }

  /// Adds the sums over some of the image's rows. Called by all threads of the block, which is to
  /// be synchronised before the sums are used and before the next call.
  /// \param memory  of bytes()
  __device__ static void add(const stage::LocalRescore::Problem& p,
                             const stage::LocalRescore::Buffers& b, const RescoredTry& one,
                             const WarpedPlaces& places, int first_row, int rows,
                             std::uint8_t* memory, Sums& sums) {
    const Strip strip = Strip::in(memory, (one.map.width + 3) / 4, rows);
    XCORR_ROLL
    for (int plane = 0; plane < planes; ++plane) {
      if (plane > 0) __syncthreads();  // all have read the plane before
      u32* const own = sums + plane * of_plane;
      make_image({p.pyramid, b.pixels + plane * p.pyramid.area(), b.mask, one.map.level}, one.map,
                 places, first_row, strip, own);
      load_rescored(p, b.frame + plane * p.plane, one.left, one.top + first_row, strip.words + 1,
                    rows + across - 1, reinterpret_cast<u32*>(strip.frame));
      __syncthreads();
      compare(strip, own);
    }
  }

  /// The best of the places, by all lanes of a warp; written by one of them.
  __device__ static void find(const stage::LocalRescore::Problem& p, bool minimum,
                              const RescoredTry& one, const Totals& sums, RescoredPlace& found) {
    using Int = std::int64_t;
    const auto terms_of = [&](int plane, int place) {
      const auto* own = &sums[plane * of_plane];
      const auto* window = &own[of_places + 3 * place];
      return score_terms(
          p.method, WindowTerms<Int>{Int(own[counted]), Int(window[0]), Int(window[1]),
                                     Int(window[2]), Int(own[right_sum]), Int(own[right_squares])});
    };
    find_best(
        p, minimum, one,
        [&](int place) {
          ScoreTerms<Int> terms = terms_of(0, place);
          for (int plane = 1; plane < planes; ++plane) terms += terms_of(plane, place);
          return terms;
        },
        found);
  }

 private:
  /// Rows of an image in shared memory, and what they are compared with.
  struct Strip {
    std::uint8_t *image, *mask, *frame;
    int words, rows;

    /// \param memory  of bytes()
    __device__ static Strip in(std::uint8_t* memory, int words, int rows) {
      std::uint8_t* const mask = memory + 4 * words * rows;
      return {memory, mask, mask + 4 * words * rows, words, rows};
    }
  };

  /// Adds the sums over the lanes of the warp, to as many that follow each other.
  template <int count>
  __device__ static void add_warp(u32 (&mine)[count], u32* sums) {
    for_warp_sums(mine, [&](int k, u32 sum) { atomicAdd(&sums[k], sum); });
  }

  /// Adds a plane's sums over windows, by as many: a warp's share of the rows at one row of places.
  __device__ static void compare(const Strip& strip, u32* sums) {
    const u32* image = reinterpret_cast<const u32*>(strip.image);
    const u32* mask = reinterpret_cast<const u32*>(strip.mask);
    const u32* frame = reinterpret_cast<const u32*>(strip.frame);
    const int warp = threadIdx.x / 32, down = warp % across;
    u32 mine[3 * across] = {};
    constexpr int stride = 32 * warps_of_row;
    const int rows_on = stride / strip.words, words_on = stride % strip.words;
    const int first = warp / across * 32 + threadIdx.x % 32;
    int x = first % strip.words;
    const u32* row = frame + (first / strip.words + down) * (strip.words + 1);
    for (int i = first; i < strip.rows * strip.words; i += stride) {
      const u32 low = row[x], high = row[x + 1], right = image[i], counts = mask[i];
#pragma unroll
      for (int k = 0; k < across; ++k) {
        const u32 left = (k == across - 1 ? high : __funnelshift_r(low, high, 8 * k)) & counts;
        mine[3 * k] = __dp4a(left, right, mine[3 * k]);
        mine[3 * k + 1] = __dp4a(left, 0x01010101u, mine[3 * k + 1]);
        mine[3 * k + 2] = __dp4a(left, left, mine[3 * k + 2]);
      }
      x += words_on;
      row += rows_on * (strip.words + 1);
      if (x >= strip.words) {
        x -= strip.words;
        row += strip.words + 1;
      }
    }
    static_assert(across == 5, "the last place is a word further on");
    add_warp(mine, &sums[of_places + 3 * down * across]);
  }

  __device__ static void make_image(const WarpedTemplate<std::uint8_t>& from, const WarpMap& map,
                                    const WarpedPlaces& places, int first_row, const Strip& strip,
                                    u32* sums) {
    const int pitch = 4 * strip.words;
    u32 mine[3] = {};
    const Size size{pitch, strip.rows};
    for_warped_part(from, map, places, 0, first_row, size, [&](auto pixel_at) {
      for_tiles(size, threadIdx.x / 32, warps, [&](int x, int y) {
        const WarpedPixel<std::uint8_t> pixel = pixel_at(x, y);
        strip.image[y * pitch + x] = static_cast<std::uint8_t>(pixel.value);
        strip.mask[y * pitch + x] = pixel.counts ? 0xff : 0;
        mine[counted] += pixel.counts;
        mine[right_sum] += pixel.value;
        mine[right_squares] += pixel.value * pixel.value;
      });
    });
    add_warp(mine, sums);
  }
};

/// Adds the block's sums, which may be signed, to those of the try; true in its last block, which
/// then has them in `all`, and the try's are 0 again.
template <class Sum, int sum_count>
__device__ bool add_up(const Sum (&sums)[sum_count], unsigned long long* totals,
                       unsigned* block_counter, int blocks, unsigned long long (&all)[sum_count]) {
  const int k = threadIdx.x;
  if (k < sum_count) {
    all[k] = static_cast<unsigned long long>(std::int64_t{sums[k]});
    if (blocks > 1) atomicAdd(&totals[k], all[k]);
  }
  __syncthreads();
  if (blocks == 1) return true;
  if (!is_last_block(block_counter, blocks)) return false;
  if (k < sum_count) {
    all[k] = *static_cast<volatile unsigned long long*>(&totals[k]);
    totals[k] = 0;
  }
  __syncthreads();
  return true;
}

/// Sums and counters of the tries, 0 before and after a launch.
class RescoringTotals final : public PlanState {
 public:
  static Result<std::unique_ptr<PlanState>> make(const stage::LocalRescore::Problem& p,
                                                 int sums_of_try) {
    const std::int64_t tries = std::int64_t{p.count} * p.tries();
    const std::int64_t words =
        tries * sums_of_try * std::int64_t{sizeof(unsigned long long) / sizeof(unsigned)};
    auto block_counters = BlockCounters::make(words + tries);
    if (!block_counters.ok()) return block_counters.status();
    return std::unique_ptr<PlanState>(
        new RescoringTotals(std::move(block_counters.value()), words));
  }
  Status set_rights(const void*, Stream) override { return {}; }
  unsigned long long* totals() const { return reinterpret_cast<unsigned long long*>(zeros()); }
  unsigned* block_counters() const { return zeros() + words_; }

 private:
  RescoringTotals(std::unique_ptr<PlanState> zeros, std::int64_t words)
      : zeros_(std::move(zeros)), words_(words) {}
  unsigned* zeros() const { return static_cast<const BlockCounters*>(zeros_.get())->counters(); }

  std::unique_ptr<PlanState> zeros_;
  std::int64_t words_;  ///< of the sums, before the counters
};

}  // namespace xcorr::cuda
