// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sums of products of squares of bytes at all places of a search, and scores. Four rows of shifts
// are summed at a time, by nine products of rows for each four rows of the square instead of
// sixteen: of two rows of shifts,
//   a0 t0 + a1 t1 = (a0 - a1) t0 + a1 (t0 + t1),   a1 t0 + a2 t1 = a1 (t0 + t1) + (a2 - a1) t1,
// which takes three products instead of four, and once more so of these. All of it is integers
// modulo 2^32, so the sums are exact.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fields/window_search_products.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/common/byte_pairs-inl.hpp"

#ifndef XCORR_CPU_DISPLACE_PRODUCTS_JOB
#define XCORR_CPU_DISPLACE_PRODUCTS_JOB
#include "cpu/fields/window_search_bytes.hpp"

namespace xcorr::cpu::window_search_products {

constexpr int group = SquareScratch::group, parts = SquareScratch::parts;
constexpr int across = 4;  ///< vectors of shifts in registers
constexpr int down = 2;    ///< of groups of rows of shifts

struct Job {
  const SquareScratch* scratch;
  std::byte* memory;
  Bytes square, frame;
  const SearchedPlaces* places;
  std::uint32_t* sums;
};

}  // namespace xcorr::cpu::window_search_products
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::window_search_products::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using byte_pairs::HWY_NAMESPACE::BytePairs;

HWY_FLATTEN FieldSums sums_of(const Bytes& square, int side) {
  std::uint32_t sum = 0, squares = 0;
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      const std::uint32_t pixel = square.pixels[y * square.pitch + x];
      sum += pixel;
      squares += pixel * pixel;
    }
  return {double(side) * side, double(sum), double(squares)};
}

class Products {
 public:
  explicit Products(const Job& job) : job_(job), places_(*job.places), s_(*job.scratch) {}

  HWY_INLINE void run() {
    unpack_frame();
    unpack_square();
    combine_frame();
    combine_square();
    int first = 0;
    for (; first + down <= shift_groups(); first += down) multiply_rows<down>(first);
    for (; first < shift_groups(); ++first) multiply_rows<1>(first);
  }

 private:
  using V = BytePairs::V;
  using D = BytePairs::D;
  static constexpr int lanes = hn::MaxLanes(D());

  template <class T>
  T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(job_.memory + offset);
  }
  const std::uint8_t* frame_row(int y) const {
    return job_.frame.pixels + (places_.top + y) * job_.frame.pitch + places_.left;
  }
  /// Of the searched part of the frame: from from_x, from_y of the places on.
  int columns() const { return places_.until_x - 1 + s_.side; }
  int rows() const { return places_.until_y - 1 + s_.side; }

  int shift_groups() const {
    return static_cast<int>(ceil_div(places_.until_y - places_.from_y, group));
  }
  int groups() const { return shift_groups() + s_.square_groups - 1; }
  std::int64_t row_of_pairs() const { return 2 * std::int64_t{s_.cells}; }
  std::int64_t row_of_taps() const { return 2 * std::int64_t{s_.taps}; }

  /// Pairs of each pixel and its right neighbour, from row from_y on. What lies beside these is
  /// multiplied only by zeros, or for sums of places that there are not.
  HWY_INLINE void unpack_frame() {
    const int from = places_.from_x, last = columns() - 1;
    for (int y = 0; y < group * (groups() + 1); ++y) {
      auto* HWY_RESTRICT to = at<BytePairs::Cell>(s_.region) + std::int64_t{y} * s_.cells;
      if (places_.from_y + y >= rows()) {
        std::fill(to + from, to + last + 1, 0);
        continue;
      }
      const std::uint8_t* HWY_RESTRICT row = frame_row(places_.from_y + y);
      // Of whole vectors the last one repeats what it must.
      int x = from;
      for (; last - from >= lanes && x < last; x += lanes) {
        x = std::min(x, last - lanes);
        BytePairs::store(BytePairs::cells(row + x), to + x);
      }
      for (; x < last; ++x) to[x] = BytePairs::cell(row + x);
      to[last] = row[last];
    }
  }

  /// With a group of rows of zeros above and below.
  HWY_INLINE void unpack_square() {
    std::int16_t* HWY_RESTRICT to = at<std::int16_t>(s_.rows);
    std::fill(to, to + group * (s_.square_groups + 2) * row_of_taps(), 0);
    to += group * row_of_taps();
    for (int y = 0; y < s_.side; ++y) {
      const std::uint8_t* HWY_RESTRICT row = job_.square.pixels + y * job_.square.pitch;
      for (int x = 0; x < s_.side; ++x) to[y * row_of_taps() + x] = row[x];
    }
  }

  /// Rows of the frame for each part, as the sums above have them: twice by two rows.
  HWY_INLINE void combine_frame() {
    const std::int64_t row = row_of_pairs(), part = groups() * row;
    const hn::ScalableTag<std::int16_t> d;
    for (int i = 0; i < groups(); ++i) {
      const std::int16_t* a = at<std::int16_t>(s_.region) + group * i * row;
      std::int16_t* to = at<std::int16_t>(s_.combined) + i * row;
      for (std::int64_t x = 2 * std::int64_t{places_.from_x}; x < 2 * columns();
           x += static_cast<std::int64_t>(hn::Lanes(d))) {
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

  /// Of the square.
  HWY_INLINE void combine_square() {
    const std::int64_t row = row_of_taps(), part = s_.square_groups * row;
    const hn::ScalableTag<std::int16_t> d;
    for (int i = 0; i < s_.square_groups; ++i) {
      const std::int16_t* t = at<std::int16_t>(s_.rows) + group * (i + 1) * row;
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

  /// The products of `high` groups of rows of shifts.
  template <int high>
  HWY_INLINE void multiply_rows(int first) {
    int x = places_.from_x;
    const int until = places_.until_x;
    for (; until - x > (across - 1) * lanes; x += across * lanes) multiply<across, high>(x, first);
    for (; until - x > lanes; x += 2 * lanes) multiply<2, high>(x, first);
    for (; until - x > 2; x += lanes) multiply<1, high>(x, first);
    for (; x < until; ++x)
      for (int g = first; g < first + high; ++g) multiply_column(x, g);
  }

  /// Sums of a part, of `wide` vectors in each of `high` groups. Where these are few, several sums
  /// take turns: an instruction that adds to a sum waits for the one before.
  template <int wide, int high>
  struct Sums {
    static constexpr int turns = std::max(1, 8 / (wide * high));
    BytePairs::Accumulator of[turns][high][wide];

    HWY_INLINE V total(int g, int v) const {
      V sum = BytePairs::sum(of[0][g][v]);
      for (int k = 1; k < turns; ++k) sum = hn::Add(sum, BytePairs::sum(of[k][g][v]));
      return sum;
    }
  };

  template <int wide, int high>
  HWY_INLINE void multiply(int x, int first) {
    V m[parts][high][wide];
    for (int k = 0; k < parts; ++k) {
      Sums<wide, high> sums;
      for (auto& turn : sums.of)
        for (auto& row : turn)
          for (auto& sum : row) sum = BytePairs::zero();
      const std::int16_t* pairs = at<std::int16_t>(s_.combined) +
                                  (std::int64_t{k} * groups() + first) * row_of_pairs() + 2 * x;
      const std::int16_t* taps = at<std::int16_t>(s_.tap) + k * s_.square_groups * row_of_taps();
      // A row of the frame meets a row of the square for each of the groups, of which the first and
      // the last have fewer.
      const int last = s_.square_groups + high - 1;
      for (int j = 0; j < last; ++j, pairs += row_of_pairs(), taps += row_of_taps()) {
        if (high == 1 || (j >= 1 && j < s_.square_groups))
          add_row<wide, high, 0, high>(pairs, taps, sums);
        else if (j < 1)
          add_row<wide, high, 0, 1>(pairs, taps, sums);
        else
          add_row<wide, high, high - 1, high>(pairs, taps, sums);
      }
      for (int g = 0; g < high; ++g)
        for (int v = 0; v < wide; ++v) m[k][g][v] = sums.total(g, v);
    }
    std::uint32_t* to = job_.sums + std::int64_t{places_.from_y + group * first} * s_.columns + x;
    for (int g = 0; g < high; ++g, to += group * s_.columns)
      for (int v = 0; v < wide; ++v) {
        const auto put = [&](int row, int a, int b, int c, int d) HWY_ATTR {
          const V sum = hn::Add(hn::Add(m[a][g][v], m[b][g][v]), hn::Add(m[c][g][v], m[d][g][v]));
          hn::StoreU(sum, D(), reinterpret_cast<std::int32_t*>(to + row * s_.columns + v * lanes));
        };
        put(0, 0, 1, 3, 4);
        put(1, 3, 4, 6, 7);
        put(2, 1, 2, 4, 5);
        put(3, 4, 5, 7, 8);
      }
  }

  /// For the groups from `from` to before `until`.
  template <int wide, int high, int from, int until>
  HWY_INLINE void add_row(const std::int16_t* pairs, const std::int16_t* taps,
                          Sums<wide, high>& sums) {
    constexpr int turns = Sums<wide, high>::turns;
    const int all = (s_.side + 1) / 2;  // behind them taps are 0
    for (int first = 0; first < all; first += turns)
      for (int k = 0; k < turns; ++k) {
        const int i = first + k;
        V tap[high];
        for (int g = from; g < until; ++g)
          tap[g] = BytePairs::broadcast(taps - g * row_of_taps() + 2 * i);
        for (int v = 0; v < wide; ++v) {
          const V pixels = BytePairs::load_once(pairs + 4 * i + 2 * v * lanes);
          for (int g = from; g < until; ++g) BytePairs::add(sums.of[k][g][v], pixels, tap[g]);
        }
      }
  }

  /// A last column or two, for which whole vectors of shifts would not pay. A row of the frame is
  /// used for all rows of a group.
  HWY_INLINE void multiply_column(int x, int first) {
    const int from = places_.from_y + group * first;
    BytePairs::Accumulator sums[group];
    for (auto& sum : sums) sum = BytePairs::zero();
    const int end = std::min(s_.side + group - 1, rows() - from);
    for (int j = 0; j < end; ++j) {
      const std::uint8_t* f = frame_row(from + j) + x;
      const std::int16_t* t = at<std::int16_t>(s_.rows) + (group + j) * row_of_taps();
      for (int i = 0; i < s_.side; i += BytePairs::pixels) {
        const V pixels = i + BytePairs::pixels <= s_.side
                             ? BytePairs::load_pixels(f + i)
                             : BytePairs::load_first_pixels(f + i, s_.side - i);
        for (int r = 0; r < group; ++r)
          BytePairs::add(sums[r], pixels, BytePairs::load(t + i - r * row_of_taps()));
      }
    }
    for (int r = 0; r < group; ++r)
      job_.sums[std::int64_t{from + r} * s_.columns + x] = BytePairs::total(sums[r]);
  }

  const Job& job_;
  const SearchedPlaces& places_;
  const SquareScratch& s_;
};

HWY_FLATTEN void multiply(const Job& job) { Products(job).run(); }

/// A row: window_score() in vectors, the same operations in the same order.
HWY_INLINE void score_row(const FieldSums& reference, const std::uint32_t* const* products,
                          std::size_t count, std::int64_t row, const ByteFrameSums& frame, int from,
                          int until, double* HWY_RESTRICT scores) {
  const std::uint32_t *HWY_RESTRICT sums = frame.sums, *HWY_RESTRICT squares = frame.squares;
  const hn::CappedTag<double, 8> d;
  const hn::Rebind<std::int32_t, decltype(d)> d32;
  const auto n = hn::Set(d, reference.n), sum = hn::Set(d, reference.sum), zero = hn::Zero(d);
  const auto variance = hn::Set(d, reference.n2_variance());
  const auto load = [&](const std::uint32_t* at) HWY_ATTR {
    return hn::LoadU(d32, reinterpret_cast<const std::int32_t*>(at));
  };
  // What 32 bits hold without a sign, as 32 bits with one would have it: less 2^31.
  const auto whole = [&](auto bits) HWY_ATTR {
    const auto flipped = hn::Xor(bits, hn::Set(d32, INT32_MIN));
    return hn::Add(hn::PromoteTo(d, flipped), hn::Set(d, 2147483648.0));
  };
  for (int x = from; x < until; x += static_cast<int>(hn::Lanes(d))) {
    auto product = load(products[0] + row + x);
    for (std::size_t i = 1; i < count; ++i) product = hn::Add(product, load(products[i] + row + x));
    const auto here = whole(load(sums + x));
    const auto covariance = hn::Sub(hn::Mul(n, whole(product)), hn::Mul(here, sum));
    const auto own = hn::Sub(hn::Mul(n, whole(load(squares + x))), hn::Mul(here, here));
    const auto score = hn::Div(covariance, hn::Sqrt(hn::Mul(variance, own)));
    const auto kept = hn::Min(hn::Max(score, hn::Set(d, -1)), hn::Set(d, 1));
    hn::StoreU(hn::IfThenElse(hn::Gt(own, zero), kept, zero), d, scores + row + x);
  }
}

HWY_FLATTEN void score(const SquareScratch& s, const FieldSums& reference,
                       const std::uint32_t* const* products, std::size_t count,
                       const ByteFrameSums& frame, const SearchedPlaces& places, double* scores) {
  for (int y = places.from_y; y < places.until_y; ++y)
    score_row(reference, products, count, std::int64_t{y} * s.columns,
              frame.at(-places.from_x, y - places.from_y), places.from_x, places.until_x, scores);
}

}  // namespace xcorr::cpu::window_search_products::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace window_search_products {
HWY_EXPORT(sums_of);
HWY_EXPORT(multiply);
HWY_EXPORT(score);
}  // namespace window_search_products

SquareScratch::SquareScratch(int square, int shifts)
    : side(square),
      columns(shifts + slack),
      sums(static_cast<std::size_t>(shifts + group) * columns),
      cells(static_cast<int>(ceil_div(square + shifts + slack, 32)) * 32),
      taps(static_cast<int>(ceil_div(square, 32)) * 16),
      square_groups(static_cast<int>(ceil_div(square, group))) {
  SlotParts of_slot;
  const auto add = [&](std::int64_t pairs) {
    return of_slot.add(2 * sizeof(std::int16_t) * static_cast<std::size_t>(pairs));
  };
  const std::int64_t groups = square_groups + ceil_div(shifts, group) - 1;
  region = add(group * (groups + 1) * cells);
  combined = add(parts * groups * cells);
  tap = add(std::int64_t{parts} * square_groups * taps);
  rows = add(group * (square_groups + std::int64_t{2}) * taps);
  bytes = of_slot.bytes;
}

void multiply_square(const SquareScratch& scratch, std::byte* memory, const Bytes& square,
                     const Bytes& frame, const SearchedPlaces& places, std::uint32_t* sums) {
  using namespace window_search_products;
  HWY_DYNAMIC_DISPATCH(multiply)({&scratch, memory, square, frame, &places, sums});
}

void score_places(const SquareScratch& scratch, const FieldSums& reference,
                  std::span<const std::uint32_t* const> products, const ByteFrameSums& frame,
                  const SearchedPlaces& places, double* scores) {
  using namespace window_search_products;
  HWY_DYNAMIC_DISPATCH(score)
  (scratch, reference, products.data(), products.size(), frame, places, scores);
}

FieldSums sums_of_square(const Bytes& square, int side) {
  using namespace window_search_products;
  return HWY_DYNAMIC_DISPATCH(sums_of)(square, side);
}

}  // namespace xcorr::cpu
#endif
