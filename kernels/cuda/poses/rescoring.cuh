// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A warped template against the frame at the places near the expected one, by a block: it makes
// rows of the image in shared memory, compares them with the frame at all places at once, four
// pixels per instruction, and scores the places by the sums. Planes take turns there, each with
// sums of its own. All sums are integers: their order does not matter.
#pragma once

#include "cuda/common/last_block.cuh"
#include "cuda/common/row_words.cuh"
#include "cuda/common/tiles.cuh"
#include "cuda/common/warp.cuh"
#include "stages/match/score.hpp"
#include "stages/poses/local_rescore.hpp"

namespace xcorr::cuda {

/// A try whose image is compared.
struct RescoredTry {
  PoseIndex pose;
  WarpMap map;
  int left, top;  ///< of the first place

  __device__ static RescoredTry of(const stage::LocalRescore::Problem& p,
                                   const stage::LocalRescore::Buffers& b,
                                   const stage::LocalRescore::Try& one) {
    const WarpMap map = stage::LocalRescore::map_of(p, b, one);
    const RescorePlace expected{map.width, map.height, one.twice_x, one.twice_y};
    return {one.pose, map, expected.left() - stage::LocalRescore::reach,
            expected.top() - stage::LocalRescore::reach};
  }
};

template <int planes>
class Rescoring {
  using u32 = std::uint32_t;
  static constexpr int warps_of_row = 2;  ///< that share a row of places

 public:
  static constexpr int across = 2 * stage::LocalRescore::reach + 1, places = across * across;
  static constexpr int warps = across * warps_of_row, threads = 32 * warps;

  /// The sums of a plane of an image and of its windows, as indices.
  enum Sum : int { counted, right_sum, right_squares, of_places };
  static constexpr int of_plane = of_places + 3 * places, sum_count = planes * of_plane;
  using Sums = u32[sum_count];  ///< of some rows, for which 32 bits suffice
  using Totals = unsigned long long[sum_count];

  /// Of shared memory for rows of so many words: of image and mask, and of the frame.
  static constexpr std::size_t bytes(int words, int rows) {
    return 4 * (std::size_t{2} * words * rows + std::size_t(words + 1) * (rows + across - 1));
  }

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

  /// The frame round a strip whose first pixel is at (left, top) at the first place; 0 outside. By
  /// `threads` threads.
  __device__ static void load_frame(const stage::LocalRescore::Problem& p,
                                    const std::uint8_t* frame, int left, int top,
                                    const Strip& strip) {
    u32* const to = reinterpret_cast<u32*>(strip.frame);
    const int words = strip.words + 1;
    for (int row = threadIdx.x / 32; row < strip.rows + across - 1; row += warps) {
      const int y = top + row, width = y >= 0 && y < p.frame.height ? p.frame.width : 0;
      for (int i = threadIdx.x % 32; i < words; i += 32) {
        u32 word[1];
        load_words(frame + y * p.pitch, left + 4 * i, width, word);
        to[row * words + i] = word[0];
      }
    }
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

  /// Adds the sums over some of the image's rows. Called by all threads of the block, which is to
  /// be synchronised before the sums are used and before the next call.
  /// \param memory  of bytes()
  __device__ static void add(const stage::LocalRescore::Problem& p,
                             const stage::LocalRescore::Buffers& b, const RescoredTry& one,
                             int first_row, int rows, std::uint8_t* memory, Sums& sums) {
    const Strip strip = Strip::in(memory, (one.map.width + 3) / 4, rows);
    XCORR_ROLL
    for (int plane = 0; plane < planes; ++plane) {
      if (plane > 0) __syncthreads();  // all have read the plane before
      u32* const own = sums + plane * of_plane;
      make_image({p.pyramid, b.pixels + plane * p.pyramid.area(), b.mask, one.map.level}, one.map,
                 first_row, strip, own);
      load_frame(p, b.frame + plane * p.plane, one.left, one.top + first_row, strip);
      __syncthreads();
      compare(strip, own);
    }
  }

  /// The best of the places, by all lanes of a warp; written by one of them.
  __device__ static void find(const stage::LocalRescore::Problem& p, bool minimum,
                              const RescoredTry& one, const Totals& sums, RescoredPlace& found) {
    const int lane = threadIdx.x % 32, place = lane < places ? lane : 0;
    const int x = one.left + place % across, y = one.top + place / across;
    using Int = std::int64_t;
    const auto terms_of = [&](int plane) {
      const auto* own = &sums[plane * of_plane];
      const auto* window = &own[of_places + 3 * place];
      return score_terms(
          p.method, WindowTerms<Int>{Int(own[counted]), Int(window[0]), Int(window[1]),
                                     Int(window[2]), Int(own[right_sum]), Int(own[right_squares])});
    };
    ScoreTerms<Int> terms = terms_of(0);
    for (int plane = 1; plane < planes; ++plane) terms += terms_of(plane);
    const bool inside =
        lane < places && terms.n > 0 && x >= 0 && y >= 0 && x <= p.frame.width - one.map.width &&
        y <= p.frame.height - one.map.height && p.admits(terms.n, terms.left_variance);
    const double own = score(p.method, terms);
    double best = own;
    int best_place = inside ? place : places;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      const double other = __shfl_xor_sync(~0u, best, step);
      const int other_place = __shfl_xor_sync(~0u, best_place, step);
      if (other_place == places) continue;
      // Of equal scores the first place wins.
      const bool wins = best_place == places || p.better(minimum, other, best) ||
                        (!p.better(minimum, best, other) && other_place < best_place);
      if (!wins) continue;
      best = other;
      best_place = other_place;
    }
    if (best_place == places) {
      if (lane == 0) found = {};
    } else if (lane == best_place) {
      found = {own, 2 * x + one.map.width - 1, 2 * y + one.map.height - 1, one.pose, 1, 0};
    }
  }

 private:
  __device__ static void make_image(const WarpedTemplate<std::uint8_t>& from, const WarpMap& map,
                                    int first_row, const Strip& strip, u32* sums) {
    const int pitch = 4 * strip.words;
    u32 mine[3] = {};
    for_tiles({pitch, strip.rows}, threadIdx.x / 32, warps, [&](int x, int row) {
      std::uint8_t value = 0;
      bool counts = false;
      if (const int y = first_row + row; x < map.width) {
        const WarpedPixel pixel(
            from, map, {from, map, y}, x, y, [](int fraction) { return CubicWeights(fraction); },
            ReadWords());
        value = pixel.value;
        counts = pixel.counts;
      }
      strip.image[row * pitch + x] = value;
      strip.mask[row * pitch + x] = counts ? 0xff : 0;
      mine[counted] += counts;
      mine[right_sum] += value;
      mine[right_squares] += u32{value} * value;
    });
    add_warp(mine, sums);
  }
};

/// Adds the block's sums to those of the try; true in its last block, which then has them in `all`,
/// and the try's are 0 again.
template <int sum_count>
__device__ bool add_up(const unsigned (&sums)[sum_count], unsigned long long* totals,
                       unsigned* block_counter, int blocks, unsigned long long (&all)[sum_count]) {
  const int k = threadIdx.x;
  if (k < sum_count) {
    all[k] = sums[k];
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
                                                 const Device&) {
    const std::int64_t tries = std::int64_t{p.count} * p.tries();
    const std::int64_t words = tries * p.planes * Rescoring<1>::sum_count *
                               std::int64_t{sizeof(unsigned long long) / sizeof(unsigned)};
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
