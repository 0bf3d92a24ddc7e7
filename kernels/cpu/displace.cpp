// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of windows on the CPU, a window a task. What it may meet of the frame is unpacked once;
// then the products of three rows of shifts are summed at a time in registers. Sums over the
// windows of the frame slide along.
#include "cpu/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/displace.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/byte_pairs-inl.hpp"

#ifndef XCORR_CPU_DISPLACE_JOB
#define XCORR_CPU_DISPLACE_JOB
#include "cpu/common.hpp"
#include "stages/displace.hpp"

namespace xcorr::cpu::displace {

/// Sixteen registers hold the sums of that many.
constexpr int row_group = 2;  ///< rows of shifts in registers
constexpr int vectors = 4;    ///< of each
constexpr int slack = 64;     ///< how far vectors may read or write past a row

/// Scratch memory of one slot.
struct Scratch {
  int window, shifts;
  int cells;    ///< from row to row of the unpacked frame
  int columns;  ///< from row to row of shifts
  int taps;     ///< pairs of a row of the window
  std::size_t bytes = 0;
  std::size_t region, tap, product, column_sums, sums, squares, scores;

  explicit Scratch(const stage::Displace::Problem& p)
      : window(p.window),
        shifts(p.shifts()),
        cells(p.window + p.shifts() + slack),
        columns(p.shifts() + slack),
        taps((p.window + 1) / 2) {
    const auto take = [&](std::size_t size, std::int64_t count) {
      const std::size_t at = bytes;
      bytes = SlotMemory::rounded(bytes + size * static_cast<std::size_t>(count));
      return at;
    };
    const std::int64_t rows = window + shifts + row_group;
    region = take(4, rows * cells);
    tap = take(4, std::int64_t{window + 2 * (row_group - 1)} * taps);
    product = take(4, std::int64_t{shifts + row_group} * columns);
    column_sums = take(4, 2 * cells);
    sums = take(4, std::int64_t{shifts} * columns);
    squares = take(4, std::int64_t{shifts} * columns);
    scores = take(8, std::int64_t{shifts} * columns);
  }
};

struct Job {
  const stage::Displace::Problem* problem;
  const stage::Displace::Buffers* buffers;
  const FieldWindow* window;
  const SearchedPlaces* places;
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
    for (int y = places().from_y; y < places().until_y; y += row_group) multiply_rows(y);
    slide();
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

  HWY_INLINE void unpack_frame() {
    for (int y = places().from_y; y < places().until_y + p_.window + row_group - 2; ++y) {
      auto* HWY_RESTRICT cells = at<std::uint32_t>(s_.region) + std::int64_t{y} * s_.cells;
      const int from = places().from_x, until = columns();
      if (y >= rows()) {
        std::fill(cells + from, cells + s_.cells, 0);
        continue;
      }
      const std::uint8_t* HWY_RESTRICT row = frame_row(y);
      for (int x = from; x < until - 1; ++x) cells[x] = row[x] | std::uint32_t{row[x + 1]} << 16;
      cells[until - 1] = row[until - 1];
      std::fill(cells + until, cells + s_.cells, 0);
    }
  }

  HWY_INLINE void unpack_window() {
    auto* HWY_RESTRICT taps = at<std::uint32_t>(s_.tap);
    const int around = row_group - 1;
    std::fill(taps, taps + around * s_.taps, 0);
    std::fill(taps + (around + p_.window) * s_.taps, taps + (2 * around + p_.window) * s_.taps, 0);
    const std::uint8_t* pixels =
        job_.buffers->reference + job_.window->y * p_.pitch + job_.window->x;
    for (int y = 0; y < p_.window; ++y) {
      const std::uint8_t* HWY_RESTRICT row = pixels + y * p_.pitch;
      std::uint32_t* HWY_RESTRICT to = taps + (around + y) * s_.taps;
      for (int i = 0; i < p_.window / 2; ++i)
        to[i] = row[2 * i] | std::uint32_t{row[2 * i + 1]} << 16;
      if (p_.window % 2) to[p_.window / 2] = row[p_.window - 1];
    }
  }

  /// The products of row_group rows of shifts.
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
    BytePairs::Accumulator sums[row_group][count];
    for (auto& row : sums)
      for (auto& sum : row) sum = BytePairs::zero();
    for (int j = 0; j < p_.window + row_group - 1; ++j) {
      const auto* cells = at<std::uint32_t>(s_.region) + std::int64_t{y + j} * s_.cells + x;
      const auto* taps = at<std::uint32_t>(s_.tap) + j * s_.taps;  // of the last row of shifts
      for (int i = 0; i < s_.taps; ++i) {
        V pixels[count];
        for (int v = 0; v < count; ++v) pixels[v] = BytePairs::load(cells + 2 * i + v * lanes);
        for (int r = 0; r < row_group; ++r) {
          const V tap = BytePairs::broadcast(taps[(row_group - 1 - r) * s_.taps + i]);
          for (int v = 0; v < count; ++v) BytePairs::add(sums[r][v], pixels[v], tap);
        }
      }
    }
    for (int r = 0; r < row_group; ++r)
      for (int v = 0; v < count; ++v) {
        auto* to = at<std::uint32_t>(s_.product) + std::int64_t{y + r} * s_.columns + x + v * lanes;
        std::fill_n(to, lanes, 0);
        BytePairs::store_added(sums[r][v], to);
      }
  }

  /// A last column or two, for which whole vectors of shifts would not pay.
  HWY_INLINE void multiply_column(int x, int y) {
    for (int r = 0; r < row_group && y + r < places().until_y; ++r) {
      std::uint32_t sum = 0;
      for (int j = 0; j < p_.window; ++j) {
        const std::uint8_t* HWY_RESTRICT f = frame_row(y + r + j) + x;
        const std::uint8_t* HWY_RESTRICT t =
            job_.buffers->reference + (job_.window->y + j) * p_.pitch + job_.window->x;
        std::uint32_t in_row = 0;
        for (int i = 0; i < p_.window; ++i) in_row += std::uint32_t{f[i]} * t[i];
        sum += in_row;
      }
      at<std::uint32_t>(s_.product)[std::int64_t{y + r} * s_.columns + x] = sum;
    }
  }

  /// The sums of the windows of the frame: of columns of pixels, which slide down, and of as many
  /// of these, which slide to the right.
  HWY_INLINE void slide() {
    const int from = places().from_x, until = columns();
    auto* HWY_RESTRICT sums = at<std::uint32_t>(s_.column_sums);
    auto* HWY_RESTRICT squares = sums + s_.cells;
    std::fill(sums, sums + 2 * s_.cells, 0);
    for (int y = places().from_y; y < rows(); ++y) {
      const std::uint8_t* HWY_RESTRICT added = frame_row(y);
      const bool full = y - places().from_y >= p_.window;
      const std::uint8_t* HWY_RESTRICT gone = full ? frame_row(y - p_.window) : nullptr;
      if (full)
        for (int x = from; x < until; ++x) {
          const std::uint32_t in = added[x], out = gone[x];
          sums[x] += in - out;
          squares[x] += in * in - out * out;
        }
      else
        for (int x = from; x < until; ++x) {
          const std::uint32_t in = added[x];
          sums[x] += in;
          squares[x] += in * in;
        }
      const int row = y - p_.window + 1;
      if (row >= places().from_y) slide_along(row, sums, squares);
    }
  }

  HWY_INLINE void slide_along(int row, const std::uint32_t* HWY_RESTRICT column_sums,
                              const std::uint32_t* HWY_RESTRICT column_squares) {
    auto* HWY_RESTRICT sums = at<std::uint32_t>(s_.sums) + std::int64_t{row} * s_.columns;
    auto* HWY_RESTRICT squares = at<std::uint32_t>(s_.squares) + std::int64_t{row} * s_.columns;
    std::uint32_t sum = 0, square = 0;
    const int from = places().from_x;
    for (int i = 0; i < p_.window; ++i) {
      sum += column_sums[from + i];
      square += column_squares[from + i];
    }
    for (int x = from;; ++x) {
      sums[x] = sum;
      squares[x] = square;
      if (x + 1 == places().until_x) break;
      sum += column_sums[x + p_.window] - column_sums[x];
      square += column_squares[x + p_.window] - column_squares[x];
    }
  }

  HWY_INLINE void score_row(int y, const FieldSums& reference) {
    const std::int64_t row = std::int64_t{y} * s_.columns;
    const auto* HWY_RESTRICT products = at<std::uint32_t>(s_.product) + row;
    const auto* HWY_RESTRICT sums = at<std::uint32_t>(s_.sums) + row;
    const auto* HWY_RESTRICT squares = at<std::uint32_t>(s_.squares) + row;
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

FoundPlace best_of(const SearchedPlaces& places, const double* scores, int pitch) {
  FoundPlace found{places.from_x, places.from_y, -1, {}};
  const auto score_at = [&](int x, int y) { return scores[std::int64_t{y} * pitch + x]; };
  double best = -2;
  for (int y = places.from_y; y < places.until_y; ++y)
    for (int x = places.from_x; x < places.until_x; ++x)
      if (const double here = score_at(x, y); here > best) {
        best = here;
        found.x = x;
        found.y = y;
      }
  for (int y = places.from_y; y < places.until_y; ++y)
    for (int x = places.from_x; x < places.until_x; ++x)
      if (!FoundPlace::is_near(x - found.x, y - found.y))
        found.second = std::max(found.second, score_at(x, y));
  for (int i = 0; i < 9; ++i) {
    const int x = found.x + i % 3 - 1, y = found.y + i / 3 - 1;
    if (places.contains(x, y)) found.scores[i] = score_at(x, y);
  }
  return found;
}

FieldVector measure(const stage::Displace::Problem& p, const stage::Displace::Buffers& b,
                    const FieldWindow& window, std::byte* memory) {
  const auto without = [&](FieldStatus status) { return vector_without(window, p.window, status); };
  if (window.status != FieldStatus::ok) return without(window.status);
  const SearchedPlaces places(window, p.frame, p.window, p.range);
  if (places.empty()) return without(FieldStatus::out_of_range);
  const Job job{&p, &b, &window, &places, memory};
  FieldSums reference;
  if (const std::uint8_t* mask = mask_of(p, b, window)) {
    search_masked(job, mask, reference);
  } else {
    reference = HWY_DYNAMIC_DISPATCH(window_sums)(b.reference + window.y * p.pitch + window.x,
                                                  p.pitch, p.window);
    if (reference.n2_variance() > 0) HWY_DYNAMIC_DISPATCH(search)(job, reference);
  }
  if (!(reference.n2_variance() > 0)) return without(FieldStatus::flat);
  const Scratch s(p);
  const FoundPlace found =
      best_of(places, reinterpret_cast<const double*>(memory + s.scores), s.columns);
  return vector_of(p, window, places, found);
}

std::size_t workspace(const stage::Displace::Problem& p, const Device&) {
  return SlotMemory::total(Scratch(p).bytes);
}

Status launch(const stage::Displace::Problem& p, const Device&, const stage::Displace::Buffers& b,
              PlanState*) {
  const SlotMemory memory(b.workspace, Scratch(p).bytes);
  parallel_slots(slot_count(), p.count, [&](int slot, std::int64_t i) {
    b.vectors[i] = measure(p, b, b.windows[i], memory.of(slot));
  });
  return {};
}

constexpr Variant<stage::Displace> table[] = {
    {{"displace", Backend::cpu, {Feature::u8, Feature::mask}}, supports_all, launch, workspace},
};

}  // namespace displace

Family displace_family() { return Family(displace::table); }

}  // namespace xcorr::cpu
#endif
