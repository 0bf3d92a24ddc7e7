// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Exact scores of turned templates at the places round the expected ones on the GPU. A try's
// picture is cut into strips of rows, a block a strip: it makes its strip of the picture in shared
// memory, compares it with the frame at all places at once, four pixels an instruction, and adds
// its sums to those of the try; the last block computes the scores. All sums are whole numbers:
// their order does not matter.
#include "cuda/common/shared_memory.cuh"
#include "cuda/common/tickets.cuh"
#include "cuda/common/warp.cuh"
#include "stages/probe.hpp"
#include "stages/score.hpp"

namespace xcorr::cuda {
namespace {

using u32 = std::uint32_t;
using u64 = unsigned long long;

constexpr int across = 2 * stage::Probe::reach + 1, places = across * across;
/// Two warps a row of places.
constexpr int warps = 2 * across, threads = 32 * warps;

/// The sums of a picture and of its windows, as indices.
enum Sum : int { counted, right_sum, right_squares, of_places };
constexpr int sum_count = of_places + 3 * places;

/// How pictures are cut.
struct Strips {
  int rows;   ///< of a strip
  int count;  ///< of the largest picture
  int words;  ///< of a row of it

  static Strips of(Size most) {
    constexpr int budget = 46 * 1024, narrow = 32;
    const int words = ceil_div(most.width, 4);
    // Low strips end sooner, high ones share more of the frame.
    int rows = words <= narrow ? 8 : 16;
    while (rows > 1 && bytes(words, rows) > budget) --rows;
    return {rows, ceil_div(most.height, rows), words};
  }
  /// Of shared memory: a strip of picture and mask, and of the frame.
  static constexpr int bytes(int words, int rows) {
    return 4 * (2 * words * rows + (words + 1) * (rows + across - 1));
  }
};

/// A strip of a picture in shared memory, and what it is compared with.
struct Strip {
  std::uint8_t *picture, *mask, *frame;
  int words, rows;  ///< of this picture
};

__device__ void make_picture(const stage::Probe::Problem& p, const stage::Probe::Buffers& b,
                             const TurnMap& map, int first_row, const Strip& strip, u64* sums) {
  const TurnedTemplate from(p.pyramid, b.pixels, b.mask, map.level);
  const int pitch = 4 * strip.words;
  u32 mine[3] = {};
  for (int i = threadIdx.x; i < strip.rows * pitch; i += threads) {
    const int y = i / pitch, x = i - y * pitch;
    std::uint8_t value = 0;
    bool counts = false;
    if (x < map.width) {
      const TurnedPixel pixel(from, map, x, first_row + y, [](int f) { return CubicWeights(f); });
      value = pixel.value;
      counts = pixel.counts;
    }
    strip.picture[i] = value;
    strip.mask[i] = counts ? 0xff : 0;
    mine[counted] += counts;
    mine[right_sum] += value;
    mine[right_squares] += u32{value} * value;
  }
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    const u32 sum = warp_sum(mine[k]);
    if (threadIdx.x % 32 == 0) atomicAdd(&sums[k], u64{sum});
  }
}

/// From `reach` pixels to the left of the expected place and as many rows above it; 0 outside.
__device__ void load_frame(const stage::Probe::Problem& p, const std::uint8_t* frame, int left,
                           int top, const Strip& strip) {
  const int pitch = 4 * (strip.words + 1);
  for (int i = threadIdx.x; i < (strip.rows + across - 1) * pitch; i += threads) {
    const int y = top + i / pitch, x = left + i % pitch;
    const bool inside = x >= 0 && y >= 0 && x < p.frame.width && y < p.frame.height;
    strip.frame[i] = inside ? frame[y * p.pitch + x] : 0;
  }
}

/// A warp's share of the rows at one row of places.
__device__ void compare(const Strip& strip, u64* sums) {
  const u32* picture = reinterpret_cast<const u32*>(strip.picture);
  const u32* mask = reinterpret_cast<const u32*>(strip.mask);
  const u32* frame = reinterpret_cast<const u32*>(strip.frame);
  const int warp = threadIdx.x / 32, down = warp % across;
  u32 product[across] = {}, sum[across] = {}, squares[across] = {};
  for (int i = warp / across * 32 + threadIdx.x % 32; i < strip.rows * strip.words; i += 64) {
    const int y = i / strip.words, x = i - y * strip.words;
    const u32* here = frame + (y + down) * (strip.words + 1) + x;
    const u32 low = here[0], high = here[1], right = picture[i], counts = mask[i];
#pragma unroll
    for (int k = 0; k < across; ++k) {
      const u32 left = (k == across - 1 ? high : __funnelshift_r(low, high, 8 * k)) & counts;
      product[k] = __dp4a(left, right, product[k]);
      sum[k] = __dp4a(left, 0x01010101u, sum[k]);
      squares[k] = __dp4a(left, left, squares[k]);
    }
  }
  static_assert(across == 5, "the last place is a word further on");
#pragma unroll
  for (int k = 0; k < across; ++k) {
    const u32 all[3] = {warp_sum(product[k]), warp_sum(sum[k]), warp_sum(squares[k])};
    u64* to = sums + of_places + 3 * (down * across + k);
    if (threadIdx.x % 32 < 3) {
      const int which = threadIdx.x % 32;
      atomicAdd(to + which, u64{which == 0 ? all[0] : which == 1 ? all[1] : all[2]});
    }
  }
}

/// Adds the block's sums to those of the try; true in its last block, which then has all of them,
/// and the try's are 0 again.
__device__ bool add_up(u64* sums, u64* totals, unsigned* ticket, int blocks) {
  if (blocks == 1) return true;
  if (threadIdx.x < sum_count) {
    atomicAdd(&totals[threadIdx.x], sums[threadIdx.x]);
    __threadfence();
  }
  __syncthreads();
  if (!is_last_block(ticket, blocks)) return false;
  if (threadIdx.x < sum_count) {
    sums[threadIdx.x] = *static_cast<volatile u64*>(&totals[threadIdx.x]);
    totals[threadIdx.x] = 0;
  }
  __syncthreads();
  return true;
}

__device__ double score_of(Method method, const u64* sums, int place) {
  const u64* left = sums + of_places + 3 * place;
  return score(method, WindowTerms<std::int64_t>{std::int64_t(sums[counted]), std::int64_t(left[0]),
                                                 std::int64_t(left[1]), std::int64_t(left[2]),
                                                 std::int64_t(sums[right_sum]),
                                                 std::int64_t(sums[right_squares])});
}

__global__ void __launch_bounds__(threads, 2)
    probe(stage::Probe::Problem p, stage::Probe::Buffers b, bool minimum, Strips strips,
          unsigned* tickets, u64 (*totals)[sum_count]) {
  __shared__ u64 sums[sum_count];
  __shared__ ProbedPlace tried[places];
  wait_for_previous();
  const int tries = p.tries(), count = *b.candidate_count * tries;
  for (int item = blockIdx.x; item < count * strips.count; item += gridDim.x) {
    const int index = item / strips.count, first_row = item % strips.count * strips.rows;
    const stage::Probe::Try one = stage::Probe::try_of(p, b, index / tries, index % tries);
    if (!one.exists) {
      if (first_row == 0 && threadIdx.x == 0) b.found[index] = {};
      continue;
    }
    const TurnMap map = p.steps.map(p.pose_level(), one.pose, {b.angles, b.inverse_scales});
    if (first_row >= map.height) continue;
    const int rest = map.height - first_row;
    Strip strip{dynamic_shared<std::uint8_t>(), nullptr, nullptr, ceil_div(map.width, 4),
                rest < strips.rows ? rest : strips.rows};
    strip.mask = strip.picture + 4 * strip.words * strip.rows;
    strip.frame = strip.mask + 4 * strip.words * strip.rows;
    const ProbePlace expected{map.width, map.height, one.twice_x, one.twice_y};
    const int left = expected.left() - stage::Probe::reach,
              top = expected.top() - stage::Probe::reach;
    if (threadIdx.x < sum_count) sums[threadIdx.x] = 0;
    __syncthreads();
    make_picture(p, b, map, first_row, strip, sums);
    load_frame(p, b.frame, left, top + first_row, strip);
    __syncthreads();
    compare(strip, sums);
    __syncthreads();
    if (add_up(sums, totals[index], &tickets[index], ceil_div(map.height, strips.rows))) {
      if (threadIdx.x < places) {
        const int x = left + threadIdx.x % across, y = top + threadIdx.x / across;
        const u64* window = sums + of_places + 3 * threadIdx.x;
        const bool inside =
            sums[counted] > 0 && x >= 0 && y >= 0 && x <= p.frame.width - map.width &&
            y <= p.frame.height - map.height &&
            p.admits(std::int64_t(sums[counted]), std::int64_t(window[1]), std::int64_t(window[2]));
        tried[threadIdx.x] = {score_of(p.method, sums, threadIdx.x),
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
        b.found[index] = best < 0 ? ProbedPlace{} : tried[best];
      }
    }
    __syncthreads();  // the next strip overwrites what is shared
  }
}

/// Sums and counters of the tries, 0 before and after a launch.
class Totals final : public PlanState {
 public:
  static Result<std::unique_ptr<PlanState>> make(const stage::Probe::Problem& p, const Device&) {
    const std::int64_t tries = std::int64_t{p.count} * p.tries();
    auto tickets = Tickets::make(tries * (1 + sum_count * int{sizeof(u64) / sizeof(unsigned)}));
    if (!tickets.ok()) return tickets.status();
    return std::unique_ptr<PlanState>(new Totals(std::move(tickets.value()), tries));
  }
  Status set_rights(const void*, Stream) override { return {}; }
  u64 (*totals() const)[sum_count] { return reinterpret_cast<u64(*)[sum_count]>(zeros()); }
  unsigned* tickets() const {
    return zeros() + tries_ * sum_count * (sizeof(u64) / sizeof(unsigned));
  }

 private:
  Totals(std::unique_ptr<PlanState> zeros, std::int64_t tries)
      : zeros_(std::move(zeros)), tries_(tries) {}
  unsigned* zeros() const { return static_cast<const Tickets*>(zeros_.get())->counters(); }

  std::unique_ptr<PlanState> zeros_;
  std::int64_t tries_;
};

Status launch(const stage::Probe::Problem& p, const Device& device, const stage::Probe::Buffers& b,
              PlanState* state) {
  const Strips strips = Strips::of(p.most);
  const std::int64_t blocks = std::int64_t{p.count} * p.tries() * strips.count;
  const auto& totals = *static_cast<const Totals*>(state);
  constexpr int blocks_of_processor = 4;
  const auto most = std::int64_t{blocks_of_processor} * std::max(device.multiprocessors, 1);
  return enqueue_early(device, "probe", probe, dim3(grid_extent(std::min(blocks, most))),
                       dim3(threads), Strips::bytes(strips.words, strips.rows), b.stream, p, b,
                       info(p.method).minimum, strips, totals.tickets(), totals.totals());
}

/// Of one row at least the strip must fit, and its sums into 32 bits.
bool supports(const stage::Probe::Problem& p, const Device&) {
  return Strips::bytes(ceil_div(p.most.width, 4), 1) <= 48 * 1024;
}

constexpr Variant<stage::Probe> table[] = {
    {{"probe", Backend::cuda, {Feature::u8, Feature::mask, Feature::contrast}},
     supports,
     launch,
     nullptr,
     Totals::make},
};

}  // namespace

Family probe_family() { return Family(table); }

}  // namespace xcorr::cuda
