// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The sum and the sum of squares of the search region's window at each shift. Along rows a window
// is composed of pieces of 1, 2, 4, ... sums. Down columns those of integers are running sums,
// which are exact. Those of floats would carry the rounding errors of large values into later small
// ones, so nothing is ever subtracted: a window is the end of one block of rows, as high as a
// window, and the beginning of the next. Plain loops, vectorised by the compiler once for each of
// Highway's targets.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/match/window_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_WINDOW_SUMS_JOB
#define XCORR_CPU_WINDOW_SUMS_JOB
#include <bit>

#include "cpu/common/common.hpp"
#include "cpu/match/window_sums.hpp"

namespace xcorr::cpu::window_sums {

/// Some of the shifts, as a rectangle in the output.
struct Job {
  const stage::WindowSums::Problem* problem;
  const stage::WindowSums::Buffers* buffers;
  Rect tile;
  void* scratch;
};

/// Whether a column's sum of 8-bit squares may need more than 32 bits.
constexpr bool has_tall_columns(const Problem& p) { return p.right.height > 66051; }

/// Scratch memory of a tile of floats, in doubles: two lines, and the sums down to the end of a
/// block of rows, of each of them.
struct FloatScratch {
  std::size_t line, ends;

  FloatScratch(const Problem& p, Size tile_size)
      : line(std::size_t(tile_size.width) + p.right.width - 1),
        ends(line * std::min(tile_size.height, p.right.height)) {}
  std::size_t bytes() const { return sizeof(double) * (2 * line + ends); }
};

}  // namespace xcorr::cpu::window_sums
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::window_sums::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Column: the type of a column's sums.
template <class Pixel, class Column>
void add_row(const Pixel* HWY_RESTRICT row, int width, Column* HWY_RESTRICT sums,
             Column* HWY_RESTRICT squares) {
  for (int x = 0; x < width; ++x) {
    const Column f = row[x];
    sums[x] += f;
    squares[x] += f * f;
  }
}

/// Subtracts one row and adds another.
template <class Pixel, class Column>
void move_row(const Pixel* HWY_RESTRICT old_row, const Pixel* HWY_RESTRICT new_row, int width,
              Column* HWY_RESTRICT sums, Column* HWY_RESTRICT squares) {
  for (int x = 0; x < width; ++x) {
    const Column f = new_row[x], g = old_row[x];
    sums[x] += f - g;
    squares[x] += f * f - g * g;
  }
}

/// Sum: a type of vectors' lanes, Part: one that it is made of, no wider.
template <class Sum, class Part>
HWY_INLINE hn::Vec<hn::ScalableTag<Sum>> load(const Part* from) {
  const hn::ScalableTag<Sum> d;
  if constexpr (sizeof(Sum) == sizeof(Part))
    return hn::LoadU(d, from);
  else
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<Part, decltype(d)>(), from));
}

/// to[i] = the sum of `terms` of from[i], from[i + apart], ..., for i < count; 2 or 4 of them. `to`
/// may be `from`.
template <int terms, class Sum, class Part>
HWY_INLINE void add_neighbours(const Part* from, int apart, int count, Sum* to) {
  const hn::ScalableTag<Sum> d;
  constexpr int lanes = hn::MaxLanes(d);
  int i = 0;
  if constexpr (sizeof(Part) <= sizeof(Sum)) {
    for (; i + lanes <= count; i += lanes) {
      auto sum = hn::Add(load<Sum>(from + i), load<Sum>(from + i + apart));
      if constexpr (terms == 4)
        sum =
            hn::Add(sum, hn::Add(load<Sum>(from + i + 2 * apart), load<Sum>(from + i + 3 * apart)));
      hn::StoreU(sum, d, to + i);
    }
  }
  for (; i < count; ++i) {
    Sum sum = static_cast<Sum>(from[i]) + static_cast<Sum>(from[i + apart]);
    if constexpr (terms == 4)
      sum += static_cast<Sum>(from[i + 2 * apart]) + static_cast<Sum>(from[i + 3 * apart]);
    to[i] = sum;
  }
}

template <class Sum, class Part>
HWY_INLINE void add(const Part* from, int count, Sum* to) {
  const hn::ScalableTag<Sum> d;
  constexpr int lanes = hn::MaxLanes(d);
  int i = 0;
  if constexpr (sizeof(Part) <= sizeof(Sum))
    for (; i + lanes <= count; i += lanes)
      hn::StoreU(hn::Add(hn::LoadU(d, to + i), load<Sum>(from + i)), d, to + i);
  for (; i < count; ++i) to[i] += static_cast<Sum>(from[i]);
}

/// Sums of `window` elements at each of `count` places: those of 1, 2, 4, ... elements put
/// together. `parts` is scratch memory for count + window - 1 of them.
template <class Element, class Sum>
HWY_INLINE void slide(const Element* elements, int window, int count, Sum* parts, Sum* sums) {
  if (window == 1 || !std::has_single_bit(static_cast<unsigned>(window)))
    std::fill_n(sums, count, Sum{});
  int done = 0;
  // Two doublings at a time where the first is not wanted itself; the last one of a power of two is
  // the result.
  const auto double_up = [&](const auto* from, int size) HWY_ATTR {
    const bool twice = !(window & 2 * size) && 4 * size <= window;
    const int next = (twice ? 4 : 2) * size;
    Sum* const to = next == window ? sums : parts;
    if (twice)
      add_neighbours<4>(from, size, count + window - next, to);
    else
      add_neighbours<2>(from, size, count + window - next, to);
    return next;
  };
  if (window & 1) {
    add(elements, count, sums);
    done = 1;
  }
  if (window == 1) return;
  for (int size = double_up(elements, 1); size != window; size = double_up(parts, size)) {
    if (window & size) {
      add(parts + done, count, sums);
      done += size;
    }
    if (2 * size > window) return;
  }
}

/// Integers: a band of whole rows.
template <class Pixel, class Column, class Sum, class Squares>
void run_integers(const Job& job) {
  const stage::WindowSums::Problem& wanted = *job.problem;
  const Problem& p = wanted.correlate;
  const auto left = left_of<Pixel>(p, job.buffers->lefts, 0);
  const int width = p.shifts.width + p.right.width - 1;
  void* const parts = job.scratch;
  auto* sums = reinterpret_cast<Column*>(static_cast<std::uint64_t*>(parts) + width);
  Column* squares = sums + width;
  std::fill_n(sums, 2 * std::size_t(width), 0);
  const int top = p.shifts.y + job.tile.y;
  const auto row = [&](int y) { return left.row(top + y) + p.shifts.x; };
  for (int y = 0; y < p.right.height; ++y) add_row(row(y), width, sums, squares);
  for (int y = 0; y < job.tile.height; ++y) {
    if (y > 0) move_row(row(y - 1), row(y + p.right.height - 1), width, sums, squares);
    const std::int64_t at = std::int64_t{job.tile.y + y} * p.shifts.width;
    if (wanted.sums)
      slide(sums, p.right.width, p.shifts.width, static_cast<Sum*>(parts),
            static_cast<Sum*>(job.buffers->window_sums) + at);
    if (wanted.squares)
      slide(squares, p.right.width, p.shifts.width, static_cast<Squares*>(parts),
            static_cast<Squares*>(job.buffers->window_squares) + at);
  }
}

HWY_INLINE double square(double f) { return f * f; }
HWY_INLINE hn::Vec<hn::ScalableTag<double>> square(hn::Vec<hn::ScalableTag<double>> f) {
  return hn::Mul(f, f);
}

/// to[x] = from[x] + value(row[x]); `to` may be `from`.
template <class Value>
void add_values(const double* from, const float* row, std::size_t width, const Value& value,
                double* to) {
  const hn::ScalableTag<double> d;
  constexpr std::size_t lanes = hn::MaxLanes(d);
  std::size_t x = 0;
  for (; x + lanes <= width; x += lanes)
    hn::StoreU(hn::Add(hn::LoadU(d, from + x), value(load<double>(row + x))), d, to + x);
  for (; x < width; ++x) to[x] = from[x] + value(static_cast<double>(row[x]));
}

/// Float: the tile's sums of value(pixel), in blocks of rows as high as a window. A window is the
/// end of one block, from the row on that it begins with, and the beginning of the next.
template <class Value>
void run_f32(const Job& job, const Value& value, double* out) {
  const Problem& p = job.problem->correlate;
  const Rect& t = job.tile;
  const auto left = left_of<float>(p, job.buffers->lefts, 0);
  const FloatScratch sizes(p, t.size());
  const std::size_t width = sizes.line;
  double* const line = static_cast<double*>(job.scratch);
  double *const whole = line + width, *const ends = whole + width;
  const auto row = [&](int y) { return left.row(p.shifts.y + t.y + y) + p.shifts.x + t.x; };
  for (int begin = 0; begin < t.height; begin += p.right.height) {
    const int here = std::min(p.right.height, t.height - begin);
    std::fill_n(line, width, 0.0);
    for (int y = p.right.height - 1; y >= here; --y)
      add_values(line, row(begin + y), width, value, line);
    for (int y = here - 1; y >= 0; --y)
      add_values(y == here - 1 ? line : ends + (y + 1) * width, row(begin + y), width, value,
                 ends + y * width);
    std::fill_n(line, width, 0.0);
    for (int y = 0; y < here; ++y) {
      const double* window = ends;
      if (y > 0) {
        add_values(line, row(begin + p.right.height + y - 1), width, value, line);
        std::copy_n(ends + y * width, width, whole);
        add(line, static_cast<int>(width), whole);
        window = whole;
      }
      slide(window, p.right.width, t.width, whole,
            out + std::int64_t{t.y + begin + y} * p.shifts.width + t.x);
    }
  }
}

void run(const Job& job) {
  using u8 = std::uint8_t;
  using u16 = std::uint16_t;
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  const Problem& p = job.problem->correlate;
  if (p.type == ElementType::u16) return run_integers<u16, u64, u64, u64>(job);
  if (p.type == ElementType::u8) {
    if (has_tall_columns(p)) return run_integers<u8, u64, u32, u64>(job);
    return p.output_type() == ElementType::u64 ? run_integers<u8, u32, u32, u64>(job)
                                               : run_integers<u8, u32, u32, u32>(job);
  }
  if (job.problem->sums)
    run_f32(
        job, [](auto f) HWY_ATTR { return f; }, static_cast<double*>(job.buffers->window_sums));
  if (job.problem->squares)
    run_f32(
        job, [](auto f) HWY_ATTR { return square(f); },
        static_cast<double*>(job.buffers->window_squares));
}

}  // namespace xcorr::cpu::window_sums::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace window_sums {

HWY_EXPORT(run);

constexpr Variant<stage::WindowSums> variants[] = {
    {{.name = "window_sums",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::wide_sums}},
     {.launch = launch_window_sums, .workspace = window_sums_workspace}},
};

}  // namespace window_sums

/// Large compared with the window, which every tile reads again; otherwise small enough for the
/// cache.
Size window_tile(const Problem& p) {
  if (p.type == ElementType::f32)
    return {std::min(p.shifts.width, std::max(512, p.right.width)),
            std::min(p.shifts.height, std::max(64, p.right.height))};
  const int rows = ceil_div(p.shifts.height, 2 * slot_count());
  return {p.shifts.width, std::min(p.shifts.height, std::max(rows, p.right.height))};
}

std::size_t window_sums_slot(const Problem& p) {
  if (p.type == ElementType::f32) return window_sums::FloatScratch(p, window_tile(p)).bytes();
  const std::size_t column = p.type == ElementType::u16 || window_sums::has_tall_columns(p)
                                 ? sizeof(std::uint64_t)
                                 : sizeof(std::uint32_t);
  return (2 * column + sizeof(std::uint64_t)) * (std::size_t(p.shifts.width) + p.right.width - 1);
}

Status launch_window_sums(const stage::WindowSums::Problem& problem, const Device&,
                          const stage::WindowSums::Buffers& buffers, PlanState*) {
  using namespace window_sums;
  const Problem& p = problem.correlate;
  const Size tile = window_tile(p);
  const SlotMemory memory(buffers.workspace, window_sums_slot(p));
  const std::int64_t columns = ceil_div(p.shifts.width, tile.width);
  const std::int64_t rows = ceil_div(p.shifts.height, tile.height);
  parallel_slots(slot_count(), columns * rows, [&](int slot, std::int64_t index) {
    const int x = static_cast<int>(index % columns) * tile.width;
    const int y = static_cast<int>(index / columns) * tile.height;
    HWY_DYNAMIC_DISPATCH(run)
    ({&problem,
      &buffers,
      {x, y, std::min(tile.width, p.shifts.width - x), std::min(tile.height, p.shifts.height - y)},
      memory.of(slot)});
  });
  return {};
}

std::size_t window_sums_workspace(const stage::WindowSums::Problem& problem, const Device&) {
  return SlotMemory::total(window_sums_slot(problem.correlate));
}

void sum_windows(const stage::WindowSums::Problem& problem,
                 const stage::WindowSums::Buffers& buffers) {
  using namespace window_sums;
  const Size shifts = problem.correlate.shifts.size();
  HWY_DYNAMIC_DISPATCH(run)
  ({&problem, &buffers, {0, 0, shifts.width, shifts.height}, buffers.workspace});
}

Family window_sums_family() { return Family(window_sums::variants); }

}  // namespace xcorr::cpu
#endif
