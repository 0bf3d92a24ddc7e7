// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The sum and the sum of squares of the search region's window at each shift. Integers:
// running sums, down the columns and then along the row, exact in integers. Float: running sums
// would carry the rounding errors of large values into later small ones, so nothing is ever
// subtracted. Down columns a window is the end of one block of rows, as high as a window, and the
// beginning of the next; along rows it is composed of pieces of 1, 2, 4, ... sums.
// Plain loops, vectorised by the compiler once for each of Highway's targets.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/match/window_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_WINDOW_SUMS_JOB
#define XCORR_CPU_WINDOW_SUMS_JOB
#include "cpu/common/common.hpp"
#include "cpu/match/window_sums.hpp"

namespace xcorr::cpu::window_sums {

/// Some of the shifts, as a rectangle in the output.
struct Job {
  const Problem* problem;
  const stage::WindowSums::Buffers* buffers;
  Rect tile;
  void* scratch;
};

/// Whether a column's sum of 8-bit squares may need more than 32 bits.
constexpr bool has_tall_columns(const Problem& p) { return p.right.height > 66051; }

/// Scratch memory of a tile of floats, in doubles: sums down columns, and of one line.
struct FloatScratch {
  std::size_t line, columns;

  FloatScratch(const Problem& p, Size tile_size)
      : line(std::size_t(tile_size.width) + p.right.width - 1), columns(line * tile_size.height) {}
  std::size_t bytes() const { return sizeof(double) * (line + columns); }
};

}  // namespace xcorr::cpu::window_sums
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::window_sums::HWY_NAMESPACE {

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

/// Sums of `window` columns at each of `count` positions.
template <class Column, class Out>
void sum_along(const Column* columns, int window, int count, Out* HWY_RESTRICT out) {
  Out sum = 0;
  for (int x = 0; x < window; ++x) sum += static_cast<Out>(columns[x]);
  out[0] = sum;
  for (int x = 1; x < count; ++x) {
    sum += static_cast<Out>(columns[x + window - 1]) - static_cast<Out>(columns[x - 1]);
    out[x] = sum;
  }
}

/// Integers: a band of whole rows.
template <class Pixel, class Column, class Sum, class Squares>
void run_integers(const Job& job) {
  const Problem& p = *job.problem;
  const auto left = left_of<Pixel>(p, job.buffers->lefts, 0);
  const int width = p.shifts.width + p.right.width - 1;
  auto* sums = static_cast<Column*>(job.scratch);
  Column* squares = sums + width;
  std::fill_n(sums, 2 * std::size_t(width), 0);
  const int top = p.shifts.y + job.tile.y;
  const auto row = [&](int y) { return left.row(top + y) + p.shifts.x; };
  for (int y = 0; y < p.right.height; ++y) add_row(row(y), width, sums, squares);
  for (int y = 0; y < job.tile.height; ++y) {
    if (y > 0) move_row(row(y - 1), row(y + p.right.height - 1), width, sums, squares);
    const std::int64_t at = std::int64_t{job.tile.y + y} * p.shifts.width;
    sum_along(sums, p.right.width, p.shifts.width,
              static_cast<Sum*>(job.buffers->window_sums) + at);
    sum_along(squares, p.right.width, p.shifts.width,
              static_cast<Squares*>(job.buffers->window_squares) + at);
  }
}

/// sums[i] = parts[i] + parts[i + 1] + ... of `window` elements, for i < count. `parts`, of
/// count + window - 1 elements, is overwritten by the sums of 1, 2, 4, ... elements.
void slide(double* parts, int window, int count, double* HWY_RESTRICT sums) {
  std::fill_n(sums, count, 0.0);
  int done = 0;
  for (int size = 1;; size *= 2) {
    if (window & size) {
      const double* HWY_RESTRICT part = parts + done;
      for (int i = 0; i < count; ++i) sums[i] += part[i];
      done += size;
    }
    if (2 * size > window) return;
    const int left = count + window - 2 * size;
    for (int i = 0; i < left; ++i) parts[i] += parts[i + size];
  }
}

/// Adds value(pixel) of a row.
template <class Value>
void add_values(const float* HWY_RESTRICT row, std::size_t width, const Value& value,
                double* HWY_RESTRICT sums) {
  for (std::size_t x = 0; x < width; ++x) sums[x] += value(row[x]);
}

/// Sums of value(pixel) down `window` rows, from each of `count` rows on. `line` is scratch memory.
template <class Row, class Value>
void sum_down(const Row& row, std::size_t width, int window, int count, const Value& value,
              double* HWY_RESTRICT line, double* HWY_RESTRICT out) {
  for (int begin = 0; begin < count; begin += window) {
    const int here = std::min(window, count - begin);
    std::fill_n(line, width, 0.0);
    for (int y = window - 1; y >= 0; --y) {
      add_values(row(begin + y), width, value, line);
      if (y < here) std::copy_n(line, width, out + (begin + y) * width);
    }
    std::fill_n(line, width, 0.0);
    for (int y = 1; y < here; ++y) {
      add_values(row(begin + window + y - 1), width, value, line);
      double* HWY_RESTRICT sums = out + (begin + y) * width;
      for (std::size_t x = 0; x < width; ++x) sums[x] += line[x];
    }
  }
}

/// Float: the tile's sums of value(pixel).
template <class Value>
void run_f32(const Job& job, const Value& value, double* out) {
  const Problem& p = *job.problem;
  const Rect& t = job.tile;
  const auto left = left_of<float>(p, job.buffers->lefts, 0);
  const FloatScratch sizes(p, t.size());
  double* line = static_cast<double*>(job.scratch);
  double* columns = line + sizes.line;
  const auto row = [&](int y) { return left.row(p.shifts.y + t.y + y) + p.shifts.x + t.x; };
  sum_down(row, sizes.line, p.right.height, t.height, value, line, columns);
  for (int y = 0; y < t.height; ++y)
    slide(columns + y * sizes.line, p.right.width, t.width,
          out + std::int64_t{t.y + y} * p.shifts.width + t.x);
}

void run(const Job& job) {
  using u8 = std::uint8_t;
  using u16 = std::uint16_t;
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  if (job.problem->type == ElementType::u16) return run_integers<u16, u64, u64, u64>(job);
  if (job.problem->type == ElementType::u8) {
    if (has_tall_columns(*job.problem)) return run_integers<u8, u64, u32, u64>(job);
    return job.problem->output_type() == ElementType::u64 ? run_integers<u8, u32, u32, u64>(job)
                                                          : run_integers<u8, u32, u32, u32>(job);
  }
  run_f32(
      job, [](double f) HWY_ATTR { return f; }, static_cast<double*>(job.buffers->window_sums));
  run_f32(
      job, [](double f) HWY_ATTR { return f * f; },
      static_cast<double*>(job.buffers->window_squares));
}

}  // namespace xcorr::cpu::window_sums::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace window_sums {

HWY_EXPORT(run);

/// Large compared with the window, which every tile reads again; otherwise small enough for the
/// cache.
Size tile_size(const Problem& p) {
  if (p.type == ElementType::f32)
    return {std::min(p.shifts.width, std::max(128, p.right.width)),
            std::min(p.shifts.height, std::max(64, p.right.height))};
  const int rows = ceil_div(p.shifts.height, 2 * slot_count());
  return {p.shifts.width, std::min(p.shifts.height, std::max(rows, p.right.height))};
}

constexpr Variant<stage::WindowSums> variants[] = {
    {{.name = "window_sums",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::wide_sums}},
     {.launch = launch_window_sums, .workspace = window_sums_workspace}},
};

}  // namespace window_sums

std::size_t window_sums_slot(const Problem& p) {
  if (p.type == ElementType::f32)
    return window_sums::FloatScratch(p, window_sums::tile_size(p)).bytes();
  const std::size_t column = p.type == ElementType::u16 || window_sums::has_tall_columns(p)
                                 ? sizeof(std::uint64_t)
                                 : sizeof(std::uint32_t);
  return 2 * column * (std::size_t(p.shifts.width) + p.right.width - 1);
}

Status launch_window_sums(const stage::WindowSums::Problem& problem, const Device&,
                          const stage::WindowSums::Buffers& buffers, PlanState*) {
  using namespace window_sums;
  const Problem& p = problem.correlate;
  const Size tile = tile_size(p);
  const SlotMemory memory(buffers.workspace, window_sums_slot(p));
  const std::int64_t columns = ceil_div(p.shifts.width, tile.width);
  const std::int64_t rows = ceil_div(p.shifts.height, tile.height);
  parallel_slots(slot_count(), columns * rows, [&](int slot, std::int64_t index) {
    const int x = static_cast<int>(index % columns) * tile.width;
    const int y = static_cast<int>(index / columns) * tile.height;
    HWY_DYNAMIC_DISPATCH(run)
    ({&p,
      &buffers,
      {x, y, std::min(tile.width, p.shifts.width - x), std::min(tile.height, p.shifts.height - y)},
      memory.of(slot)});
  });
  return {};
}

std::size_t window_sums_workspace(const stage::WindowSums::Problem& problem, const Device&) {
  return SlotMemory::total(window_sums_slot(problem.correlate));
}

void sum_windows(const Problem& p, const stage::WindowSums::Buffers& buffers) {
  using namespace window_sums;
  HWY_DYNAMIC_DISPATCH(run)
  ({&p, &buffers, {0, 0, p.shifts.width, p.shifts.height}, buffers.workspace});
}

Family window_sums_family() { return Family(window_sums::variants); }

}  // namespace xcorr::cpu
#endif
