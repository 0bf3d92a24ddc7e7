// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of windows on the CPU, a window a task. Four rows of shifts are summed at a time, by
// nine products of rows for each four rows of the window instead of sixteen: of two rows of shifts,
//   a0 t0 + a1 t1 = (a0 - a1) t0 + a1 (t0 + t1),   a1 t0 + a2 t1 = a1 (t0 + t1) + (a2 - a1) t1,
// which takes three products instead of four, and once more so of these. All of it is whole numbers
// modulo 2^32, so the sums are exact. Sums over the windows of the frame, which neighbours share,
// are those of the whole frame where windows are dense.
#include "cpu/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/displace.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/byte_pairs-inl.hpp"

#ifndef XCORR_CPU_DISPLACE_JOB
#define XCORR_CPU_DISPLACE_JOB
#include "cpu/common.hpp"
#include "cpu/displaced.hpp"
#include "cpu/window_sums.hpp"

namespace xcorr::cpu::displace {

constexpr int group = 4;    ///< rows of shifts, and of the window
constexpr int parts = 9;    ///< products of rows that a group takes
constexpr int vectors = 4;  ///< of shifts in registers
constexpr int slack = 64;   ///< how far vectors may read or write past a row

/// Scratch memory of one slot.
struct Scratch {
  int window, shifts;
  int cells;    ///< pairs from row to row of the unpacked frame
  int columns;  ///< from row to row of shifts
  int taps;     ///< pairs from row to row of the window
  int window_groups, shift_groups;
  std::size_t bytes = 0;
  std::size_t region, combined, tap, rows, product, scores, sums, squares, of_sums;

  /// To whole vectors.
  static int rounded(int pairs) { return static_cast<int>(ceil_div(pairs, 32)) * 32; }

  explicit Scratch(const stage::Displace::Problem& p)
      : window(p.window),
        shifts(p.shifts()),
        cells(rounded(p.window + p.shifts() + slack)),
        columns(p.shifts() + slack),
        taps(rounded((p.window + 1) / 2)),
        window_groups(static_cast<int>(ceil_div(p.window, group))),
        shift_groups(static_cast<int>(ceil_div(p.shifts(), group))) {
    const auto take = [&](std::size_t size, std::int64_t count) {
      const std::size_t at = bytes;
      bytes = SlotMemory::rounded(bytes + size * static_cast<std::size_t>(count));
      return at;
    };
    const std::int64_t groups = window_groups + shift_groups - 1;
    constexpr std::size_t pair = 2 * sizeof(std::int16_t);
    region = take(pair, group * (groups + 1) * cells);
    combined = take(pair, parts * groups * cells);
    tap = take(pair, std::int64_t{parts} * window_groups * taps);
    rows = take(sizeof(std::int16_t), std::int64_t{group} * window_groups * 2 * taps);
    product = take(4, std::int64_t{group} * shift_groups * columns);
    scores = take(8, std::int64_t{shifts} * columns);
    const std::int64_t places = std::int64_t{shifts} * shifts + slack;
    sums = take(4, places);
    squares = take(4, places);
    of_sums = take(1, static_cast<std::int64_t>(
                          window_sums_slot(frame_windows(p, {0, 0, shifts, shifts}).correlate)));
  }
};

struct Job {
  const stage::Displace::Problem* problem;
  const stage::Displace::Buffers* buffers;
  const FieldWindow* window;
  const SearchedPlaces* places;
  FrameSums frame;  ///< from the first place that is inside on
  std::byte* memory;
};

}  // namespace xcorr::cpu::displace
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::displace::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using byte_pairs::HWY_NAMESPACE::BytePairs;

/// Of the pixels of a window of the reference, all of which count.
HWY_FLATTEN FieldSums window_sums(const std::uint8_t* pixels, std::int64_t pitch, int size) {
  std::uint32_t sum = 0, squares = 0;
  for (int y = 0; y < size; ++y)
    for (int x = 0; x < size; ++x) {
      const std::uint32_t pixel = pixels[y * pitch + x];
      sum += pixel;
      squares += pixel * pixel;
    }
  return {double(size) * size, double(sum), double(squares)};
}

class Search {
 public:
  explicit Search(const Job& job) : job_(job), p_(*job.problem), s_(p_) {}

  /// The scores of all places that are inside, whose first is at(from_y) + from_x.
  HWY_INLINE void run(const FieldSums& reference) {
    unpack_frame();
    unpack_window();
    combine_frame();
    combine_window();
    for (int y = places().from_y; y < places().until_y; y += group) multiply_rows(y);
    for (int y = places().from_y; y < places().until_y; ++y) score_row(y, reference);
  }

 private:
  using V = BytePairs::V;
  using D = BytePairs::D;

  const SearchedPlaces& places() const { return *job_.places; }
  template <class T>
  T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(job_.memory + offset);
  }
  const std::uint8_t* frame_row(int y) const {
    return job_.buffers->frame + (places().top + y) * p_.frame_pitch + places().left;
  }
  /// Of the searched part of the frame: from from_x, from_y of the places on.
  int columns() const { return places().until_x - 1 + p_.window; }
  int rows() const { return places().until_y - 1 + p_.window; }

  int shift_groups() const {
    return static_cast<int>(ceil_div(places().until_y - places().from_y, group));
  }
  int groups() const { return shift_groups() + s_.window_groups - 1; }
  std::int64_t row_of_pairs() const { return 2 * std::int64_t{s_.cells}; }

  /// Pairs of each pixel and its right neighbour, from row from_y on.
  HWY_INLINE void unpack_frame() {
    const int from = places().from_x, until = columns();
    for (int y = 0; y < group * (groups() + 1); ++y) {
      std::int16_t* HWY_RESTRICT to = at<std::int16_t>(s_.region) + y * row_of_pairs();
      std::fill(to, to + row_of_pairs(), 0);
      if (places().from_y + y >= rows()) continue;
      const std::uint8_t* HWY_RESTRICT row = frame_row(places().from_y + y);
      for (int x = from; x < until - 1; ++x) {
        to[2 * x] = row[x];
        to[2 * x + 1] = row[x + 1];
      }
      to[2 * (until - 1)] = row[until - 1];
    }
  }

  HWY_INLINE void unpack_window() {
    std::int16_t* HWY_RESTRICT to = at<std::int16_t>(s_.rows);
    std::fill(to, to + std::int64_t{group} * s_.window_groups * 2 * s_.taps, 0);
    const std::uint8_t* pixels =
        job_.buffers->reference + job_.window->y * p_.pitch + job_.window->x;
    for (int y = 0; y < p_.window; ++y)
      for (int x = 0; x < p_.window; ++x) to[2 * y * s_.taps + x] = pixels[y * p_.pitch + x];
  }

  /// Rows of the frame for each part, as the sums above have them: twice by two rows.
  HWY_INLINE void combine_frame() {
    const std::int64_t row = row_of_pairs(), part = groups() * row;
    const hn::ScalableTag<std::int16_t> d;
    for (int i = 0; i < groups(); ++i) {
      const std::int16_t* a = at<std::int16_t>(s_.region) + group * i * row;
      std::int16_t* to = at<std::int16_t>(s_.combined) + i * row;
      for (std::int64_t x = 0; x < row; x += static_cast<std::int64_t>(hn::Lanes(d))) {
        const auto of = [&](int k) HWY_ATTR { return hn::LoadU(d, a + x + k * row); };
        const auto put = [&](int k, auto first, auto second, auto third) HWY_ATTR {
          hn::StoreU(hn::Sub(first, second), d, to + x + 3 * k * part);
          hn::StoreU(second, d, to + x + (3 * k + 1) * part);
          hn::StoreU(hn::Sub(third, second), d, to + x + (3 * k + 2) * part);
        };
        const auto a1 = of(1), a2 = of(2), a3 = of(3), a4 = of(4), a5 = of(5);
        put(0, hn::Sub(of(0), a1), hn::Sub(a2, a3), hn::Sub(a4, a5));
        put(1, a1, a3, a5);
        put(2, hn::Sub(a2, a1), hn::Sub(a4, a3), hn::Sub(of(6), a5));
      }
    }
  }

  /// Of the window.
  HWY_INLINE void combine_window() {
    const std::int64_t row = 2 * std::int64_t{s_.taps}, part = s_.window_groups * row;
    const hn::ScalableTag<std::int16_t> d;
    for (int i = 0; i < s_.window_groups; ++i) {
      const std::int16_t* t = at<std::int16_t>(s_.rows) + group * i * row;
      std::int16_t* to = at<std::int16_t>(s_.tap) + i * row;
      for (std::int64_t x = 0; x < row; x += static_cast<std::int64_t>(hn::Lanes(d))) {
        const auto of = [&](int k) HWY_ATTR { return hn::LoadU(d, t + x + k * row); };
        const auto put = [&](int k, auto first, auto second) HWY_ATTR {
          hn::StoreU(first, d, to + x + 3 * k * part);
          hn::StoreU(hn::Add(first, second), d, to + x + (3 * k + 1) * part);
          hn::StoreU(second, d, to + x + (3 * k + 2) * part);
        };
        const auto t0 = of(0), t1 = of(1), t2 = of(2), t3 = of(3);
        put(0, t0, t2);
        put(1, hn::Add(t0, t1), hn::Add(t2, t3));
        put(2, t1, t3);
      }
    }
  }

  /// The products of a group of rows of shifts.
  HWY_INLINE void multiply_rows(int y) {
    constexpr int lanes = hn::MaxLanes(D());
    int x = places().from_x;
    const int until = places().until_x;
    for (; until - x > vectors * lanes - lanes; x += vectors * lanes) multiply<vectors>(x, y);
    for (; until - x > 2; x += lanes) multiply<1>(x, y);
    for (; x < until; ++x) multiply_column(x, y);
  }

  template <int count>
  HWY_INLINE void multiply(int x, int y) {
    constexpr int lanes = hn::MaxLanes(D());
    alignas(64) std::uint32_t m[parts][count * lanes] = {};
    const int first = (y - places().from_y) / group;
    for (int k = 0; k < parts; ++k) {
      typename BytePairs::Accumulator sums[count];
      for (auto& sum : sums) sum = BytePairs::zero();
      const std::int16_t* pairs = at<std::int16_t>(s_.combined) +
                                  (std::int64_t{k} * groups() + first) * row_of_pairs() + 2 * x;
      const std::int16_t* taps =
          at<std::int16_t>(s_.tap) + std::int64_t{k} * s_.window_groups * 2 * s_.taps;
      for (int j = 0; j < s_.window_groups; ++j) {
        add_row<count>(pairs, taps, sums);
        pairs += row_of_pairs();
        taps += 2 * s_.taps;
      }
      for (int v = 0; v < count; ++v) BytePairs::store_added(sums[v], m[k] + v * lanes);
    }
    std::uint32_t* HWY_RESTRICT to =
        at<std::uint32_t>(s_.product) + std::int64_t{y - places().from_y} * s_.columns + x;
    for (int i = 0; i < count * lanes; ++i) {
      to[i] = m[0][i] + m[1][i] + m[3][i] + m[4][i];
      to[i + s_.columns] = m[3][i] + m[4][i] + m[6][i] + m[7][i];
      to[i + 2 * s_.columns] = m[1][i] + m[2][i] + m[4][i] + m[5][i];
      to[i + 3 * s_.columns] = m[4][i] + m[5][i] + m[7][i] + m[8][i];
    }
  }

  /// Taps that lie a vector of shifts apart meet the same vectors of pairs, of which some stay in
  /// registers from tap to tap.
  template <int count>
  HWY_INLINE void add_row(const std::int16_t* pairs, const std::int16_t* taps,
                          BytePairs::Accumulator (&sums)[count]) {
    constexpr int lanes = hn::MaxLanes(D());
    constexpr int apart = lanes > 1 ? lanes / 2 : 1, kept = lanes > 1 ? count - 1 : 0;
    const int all = (p_.window + 1) / 2;
    for (int r = 0; r < apart; ++r) {
      V pixels[count + vectors - 1];
      const auto load = [&](int v, int i) HWY_ATTR {
        pixels[v] = BytePairs::load(pairs + 4 * i + 2 * v * lanes);
      };
      for (int v = 0; v < kept; ++v) load(v, r);
      int i = r;
      if constexpr (lanes > 1) {
        for (; i + (vectors - 1) * apart < all; i += vectors * apart) {
          for (int k = 0; k < vectors; ++k) {
            load(k + kept, i);
            const V tap = BytePairs::broadcast(taps + 2 * (i + k * apart));
            for (int v = 0; v < count; ++v) BytePairs::add(sums[v], pixels[k + v], tap);
          }
          for (int v = 0; v < kept; ++v) pixels[v] = pixels[v + vectors];
        }
      }
      for (; i < all; i += apart) {
        for (int v = kept; v < count; ++v) load(v, i);
        const V tap = BytePairs::broadcast(taps + 2 * i);
        for (int v = 0; v < count; ++v) BytePairs::add(sums[v], pixels[v], tap);
        for (int v = 0; v < kept; ++v) pixels[v] = pixels[v + 1];
      }
    }
  }

  /// A last column or two, for which whole vectors of shifts would not pay.
  HWY_INLINE void multiply_column(int x, int y) {
    for (int r = 0; r < group && y + r < places().until_y; ++r) {
      std::uint32_t sum = 0;
      auto of_lanes = BytePairs::zero();
      for (int j = 0; j < p_.window; ++j) {
        const std::uint8_t* HWY_RESTRICT f = frame_row(y + r + j) + x;
        const std::int16_t* HWY_RESTRICT t = at<std::int16_t>(s_.rows) + 2 * j * s_.taps;
        int i = 0;
        for (; i + BytePairs::pixels <= p_.window; i += BytePairs::pixels)
          BytePairs::add(of_lanes, BytePairs::load_pixels(f + i), BytePairs::load(t + i));
        for (; i < p_.window; ++i) sum += static_cast<std::uint32_t>(f[i] * t[i]);
      }
      at<std::uint32_t>(s_.product)[std::int64_t{y + r - places().from_y} * s_.columns + x] =
          sum + BytePairs::total(of_lanes);
    }
  }

  HWY_INLINE void score_row(int y, const FieldSums& reference) {
    const std::int64_t row = std::int64_t{y} * s_.columns;
    const auto* HWY_RESTRICT products =
        at<std::uint32_t>(s_.product) + row - std::int64_t{places().from_y} * s_.columns;
    const FrameSums frame = job_.frame.at(-places().from_x, y - places().from_y);
    const std::uint32_t *HWY_RESTRICT sums = frame.sums, *HWY_RESTRICT squares = frame.squares;
    double* HWY_RESTRICT scores = at<double>(s_.scores) + row;
    // window_score() in vectors: the same operations in the same order.
    const double variance = reference.n2_variance();
    const hn::CappedTag<double, 8> d;
    const hn::Rebind<std::int32_t, decltype(d)> d32;
    const auto n = hn::Set(d, reference.n), sum = hn::Set(d, reference.sum), zero = hn::Zero(d);
    // What 32 bits hold without a sign, as 32 bits with one would have it: less 2^31.
    const auto load = [&](const std::uint32_t* from) HWY_ATTR {
      const auto bits = hn::LoadU(d32, reinterpret_cast<const std::int32_t*>(from));
      const auto flipped = hn::Xor(bits, hn::Set(d32, INT32_MIN));
      return hn::Add(hn::PromoteTo(d, flipped), hn::Set(d, 2147483648.0));
    };
    for (int x = places().from_x; x < places().until_x; x += static_cast<int>(hn::Lanes(d))) {
      const auto here = load(sums + x);
      const auto covariance = hn::Sub(hn::Mul(n, load(products + x)), hn::Mul(here, sum));
      const auto own = hn::Sub(hn::Mul(n, load(squares + x)), hn::Mul(here, here));
      const auto score = hn::Div(covariance, hn::Sqrt(hn::Mul(hn::Set(d, variance), own)));
      const auto kept = hn::Min(hn::Max(score, hn::Set(d, -1)), hn::Set(d, 1));
      hn::StoreU(hn::IfThenElse(hn::Gt(own, zero), kept, zero), d, scores + x);
    }
  }

  const Job& job_;
  const stage::Displace::Problem& p_;
  const Scratch s_;
};

HWY_FLATTEN void search(const Job& job, const FieldSums& reference) { Search(job).run(reference); }

}  // namespace xcorr::cpu::displace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace displace {

HWY_EXPORT(window_sums);
HWY_EXPORT(search);

/// The mask's pixels of a window; null where all count.
const std::uint8_t* mask_of(const stage::Displace::Problem& p, const stage::Displace::Buffers& b,
                            const FieldWindow& window) {
  if (!p.masked) return nullptr;
  const std::uint8_t* mask = b.mask + std::int64_t{window.y} * p.frame.width + window.x;
  for (int y = 0; y < p.window; ++y)
    for (int x = 0; x < p.window; ++x)
      if (!mask[std::int64_t{y} * p.frame.width + x]) return mask;
  return nullptr;
}

/// The scores by the pixels that count.
void search_masked(const Job& job, const std::uint8_t* mask, FieldSums& reference) {
  const stage::Displace::Problem& p = *job.problem;
  const SearchedPlaces& places = *job.places;
  const Scratch s(p);
  const std::uint8_t* pixels = job.buffers->reference + job.window->y * p.pitch + job.window->x;
  const auto sums_at = [&](int left, int top, FieldSums& sums) {
    double product = 0;
    sums = {};
    for (int y = 0; y < p.window; ++y) {
      std::uint32_t in_row[4] = {};
      for (int x = 0; x < p.window; ++x) {
        if (!mask[std::int64_t{y} * p.frame.width + x]) continue;
        const std::uint32_t f = job.buffers->frame[(top + y) * p.frame_pitch + left + x];
        ++in_row[0];
        in_row[1] += f;
        in_row[2] += f * f;
        in_row[3] += f * pixels[y * p.pitch + x];
      }
      sums.n += in_row[0];
      sums.sum += in_row[1];
      sums.squares += in_row[2];
      product += in_row[3];
    }
    return product;
  };
  for (int y = 0; y < p.window; ++y)
    for (int x = 0; x < p.window; ++x) {
      if (!mask[std::int64_t{y} * p.frame.width + x]) continue;
      const double pixel = pixels[y * p.pitch + x];
      ++reference.n;
      reference.sum += pixel;
      reference.squares += pixel * pixel;
    }
  const double variance = reference.n2_variance();
  auto* scores = reinterpret_cast<double*>(job.memory + s.scores);
  for (int y = places.from_y; y < places.until_y; ++y)
    for (int x = places.from_x; x < places.until_x; ++x) {
      FieldSums sums;
      const double product = sums_at(places.left + x, places.top + y, sums);
      scores[std::int64_t{y} * s.columns + x] = window_score(reference, variance, sums, product);
    }
}

/// Of the windows at the places, made anew.
FrameSums sums_at(const stage::Displace::Problem& p, const stage::Displace::Buffers& b,
                  const SearchedPlaces& places, const Scratch& s, std::byte* memory) {
  const Rect shifts{places.left + places.from_x, places.top + places.from_y,
                    places.until_x - places.from_x, places.until_y - places.from_y};
  auto* const sums = reinterpret_cast<std::uint32_t*>(memory + s.sums);
  auto* const squares = reinterpret_cast<std::uint32_t*>(memory + s.squares);
  sum_windows(frame_windows(p, shifts).correlate,
              {{memory + s.of_sums, b.stream}, b.frame, nullptr, sums, squares});
  return {sums, squares, shifts.width};
}

/// The i-th window's. `frame`: of all of its windows, if there are.
FieldVector measure(const stage::Displace::Problem& p, const stage::Displace::Buffers& b,
                    const FrameSums& frame, std::int64_t i, std::byte* memory) {
  const FieldWindow& window = b.windows[i];
  const auto without = [&](FieldStatus status) { return vector_without(window, p.window, status); };
  if (window.status != FieldStatus::ok) return without(window.status);
  const SearchedPlaces places(window, p.frame, p.window, p.range);
  if (places.empty()) return without(FieldStatus::out_of_range);
  const Scratch s(p);
  Job job{&p, &b, &window, &places, {}, memory};
  FieldSums reference;
  if (const std::uint8_t* mask = mask_of(p, b, window)) {
    search_masked(job, mask, reference);
  } else {
    reference = HWY_DYNAMIC_DISPATCH(window_sums)(b.reference + window.y * p.pitch + window.x,
                                                  p.pitch, p.window);
    if (reference.n2_variance() > 0) {
      job.frame = frame.sums ? frame.at(places.left + places.from_x, places.top + places.from_y)
                             : sums_at(p, b, places, s, memory);
      HWY_DYNAMIC_DISPATCH(search)(job, reference);
    }
  }
  const bool varies = reference.n2_variance() > 0;
  auto* scores = reinterpret_cast<double*>(memory + s.scores);
  if (p.pairs > 1)
    combine(p, b, i, places, varies, scores, s.columns);
  else if (!varies)
    return without(FieldStatus::flat);
  return vector_of(p, window, places, best_of(p.subpixel, places, scores, s.columns));
}

/// Where the sums of all windows of the frame lie in the workspace.
struct Layout {
  std::size_t sums, squares, of_sums, bytes;

  Layout(const stage::Displace::Problem& p, const Device& device)
      : sums(SlotMemory::rounded(SlotMemory::total(Scratch(p).bytes))) {
    const bool whole = sums_whole_frame(p);
    const stage::WindowSums::Problem all = frame_windows(p);
    const auto places = static_cast<std::size_t>(all.correlate.shifts.size().area() + slack);
    squares = sums + (whole ? SlotMemory::rounded(4 * places) : 0);
    of_sums = squares + squares - sums;
    bytes = of_sums + (whole ? window_sums_workspace(all, device) : 0);
  }
};

std::size_t workspace(const stage::Displace::Problem& p, const Device& device) {
  return Layout(p, device).bytes;
}

Status launch(const stage::Displace::Problem& p, const Device& device,
              const stage::Displace::Buffers& b, PlanState*) {
  const SlotMemory memory(b.workspace, Scratch(p).bytes);
  FrameSums frame;
  if (sums_whole_frame(p)) {
    auto* const base = static_cast<std::byte*>(b.workspace);
    const Layout layout(p, device);
    const stage::WindowSums::Problem all = frame_windows(p);
    auto* const sums = reinterpret_cast<std::uint32_t*>(base + layout.sums);
    auto* const squares = reinterpret_cast<std::uint32_t*>(base + layout.squares);
    if (Status s = launch_window_sums(
            all, device, {{base + layout.of_sums, b.stream}, b.frame, nullptr, sums, squares});
        !s.ok())
      return s;
    frame = {sums, squares, all.correlate.shifts.width};
  }
  parallel_slots(slot_count(), p.count, [&](int slot, std::int64_t i) {
    const FieldVector vector = measure(p, b, frame, i, memory.of(slot));
    if (p.is_last()) b.vectors[i] = vector;
  });
  return {};
}

constexpr Variant<stage::Displace> table[] = {
    {{"displace", Backend::cpu, {Feature::u8, Feature::mask, Feature::ensemble}},
     supports_all,
     launch,
     workspace},
};

}  // namespace displace

Family displace_family() { return Family(displace::table); }

}  // namespace xcorr::cpu
#endif
