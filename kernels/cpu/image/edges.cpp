// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Edges on the CPU, row by row: the five rows round one are added up to two rows of words, which
// its gradients are made of; three rows of those tell its ridges, three rows of ridges the edges of
// the row before. Plain loops that the compiler vectorises, once for each of Highway's targets.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/image/edges.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_EDGES_JOB
#define XCORR_CPU_EDGES_JOB
#include "cpu/common/common.hpp"
#include "cpu/image/edges.hpp"

namespace xcorr::cpu::edges {

inline constexpr int taps = 2 * gradient_radius + 1;
/// Columns to each side of the region that have gradients.
inline constexpr int margin = edge_radius - gradient_radius;

/// Gradients of a row, from `margin` before the region on, their squares, and where ridges are.
struct Row {
  std::int16_t *x, *y;
  std::int32_t* squares;
  std::uint8_t* ridges;
};

/// A row of a plane of the image.
struct Job {
  const std::uint8_t* rows[taps];  ///< of the image, from the first column that is read
  int before, count, after;        ///< columns past the image, inside it, past it
  std::int16_t *smooth, *slope;    ///< scratch: as many as there are columns
  Row to;
};

/// Three rows, of which the edges of the middle one are made.
struct Around {
  Row above, row, below;
  int width;  ///< of the region
  EdgeRule rule;
};

}  // namespace xcorr::cpu::edges
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::edges::HWY_NAMESPACE {

HWY_FLATTEN void add_rows(const Job& job, std::int16_t* HWY_RESTRICT smooth,
                          std::int16_t* HWY_RESTRICT slope) {
  const auto* const* rows = job.rows;
  for (int x = 0; x < job.count; ++x) {
    const auto at = [&](int k) HWY_ATTR { return static_cast<int>(rows[k][x]); };
    smooth[x] = static_cast<std::int16_t>(edge_smooth(at));
    slope[x] = static_cast<std::int16_t>(edge_slope(at));
  }
}

/// \tparam is_first  there are no gradients of other planes yet
template <bool is_first>
HWY_FLATTEN void add_columns(const Job& job, int count, std::int16_t* HWY_RESTRICT to_x,
                             std::int16_t* HWY_RESTRICT to_y, std::int32_t* HWY_RESTRICT squares) {
  const std::int16_t *const smooth = job.smooth, *const slope = job.slope;
  for (int i = 0; i < count; ++i) {
    const int x = edge_slope([&](int k) HWY_ATTR { return static_cast<int>(smooth[i + k]); });
    const int y = edge_smooth([&](int k) HWY_ATTR { return static_cast<int>(slope[i + k]); });
    const int square = x * x + y * y;
    const bool taken = is_first || takes_over(square, squares[i]);
    to_x[i] = taken ? static_cast<std::int16_t>(x) : to_x[i];
    to_y[i] = taken ? static_cast<std::int16_t>(y) : to_y[i];
    squares[i] = taken ? square : squares[i];
  }
}

void make_gradients(const Job& job, bool is_first) {
  add_rows(job, job.smooth + job.before, job.slope + job.before);
  for (std::int16_t* const row : {job.smooth, job.slope}) {
    std::fill_n(row, job.before, row[job.before]);
    std::fill_n(row + job.before + job.count, job.after, row[job.before + job.count - 1]);
  }
  const int columns = job.before + job.count + job.after;
  const auto add = is_first ? add_columns<true> : add_columns<false>;
  add(job, columns - 2 * gradient_radius, job.to.x, job.to.y, job.to.squares);
}

/// Of the region's columns and one to each side.
HWY_FLATTEN void mark(const Around& a, std::uint8_t* HWY_RESTRICT ridges) {
  const std::int16_t *const x = a.row.x, *const y = a.row.y;
  const std::int32_t* const rows[] = {a.above.squares, a.row.squares, a.below.squares};
  const EdgeRule rule = a.rule;
  for (int i = 1; i < a.width + 2 * margin - 1; ++i)
    ridges[i] =
        is_ridge(x[i], y[i], rule, [&](int dx, int dy) HWY_ATTR { return rows[1 + dy][i + dx]; });
}

void mark_ridges(const Around& a) { mark(a, a.row.ridges); }

template <bool doubled>
HWY_FLATTEN void make_vectors(const Around& a, std::uint8_t* HWY_RESTRICT to_x,
                              std::uint8_t* HWY_RESTRICT to_y) {
  EdgeRule rule = a.rule;
  rule.doubled = doubled;
  const std::int16_t *const x = a.row.x + margin, *const y = a.row.y + margin;
  const std::uint8_t* const rows[] = {a.above.ridges + margin, a.row.ridges + margin,
                                      a.below.ridges + margin};
  for (int i = 0; i < a.width; ++i) {
    const bool near_ridge =
        is_near_ridge([&](int dx, int dy) HWY_ATTR { return rows[1 + dy][i + dx]; });
    const Edge edge = edge_of(x[i], y[i], near_ridge, rule);
    to_x[i] = edge.x;
    to_y[i] = edge.y;
  }
}

void write_edges(const Around& a, const std::uint8_t* mask, std::uint8_t* x, std::uint8_t* y) {
  if (a.rule.doubled)
    make_vectors<true>(a, x, y);
  else
    make_vectors<false>(a, x, y);
  for (int i = 0; mask && i < a.width; ++i)
    if (!mask[i]) x[i] = y[i] = no_edge;
}

}  // namespace xcorr::cpu::edges::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace edges {

HWY_EXPORT(make_gradients);
HWY_EXPORT(mark_ridges);
HWY_EXPORT(write_edges);

/// Of a slot: two rows of sums, and three rows of gradients and of ridges.
struct Scratch {
  std::size_t word, square, flag, bytes;

  explicit Scratch(int width)
      : word(SlotMemory::rounded((width + 2 * edge_radius) * sizeof(std::int16_t))),
        square(SlotMemory::rounded((width + 2 * margin) * sizeof(std::int32_t))),
        flag(SlotMemory::rounded(width + 2 * margin)),
        bytes(2 * word + 3 * (2 * word + square + flag)) {}

  std::int16_t* sums(std::byte* slot, int i) const {
    return reinterpret_cast<std::int16_t*>(slot + i * word);
  }
  /// Of the row of that number, from -2 on.
  Row row(std::byte* slot, int number) const {
    std::byte* const first = slot + 2 * word + (number + 3) % 3 * (2 * word + square + flag);
    return {reinterpret_cast<std::int16_t*>(first), reinterpret_cast<std::int16_t*>(first + word),
            reinterpret_cast<std::int32_t*>(first + 2 * word),
            reinterpret_cast<std::uint8_t*>(first + 2 * word + square)};
  }
};

void make_rows(const stage::Edges::Problem& p, const stage::Edges::Buffers& b,
               const Scratch& scratch, std::byte* slot, int begin, int end) {
  const Rect& region = p.region;
  const int first = std::max(region.x - edge_radius, 0);
  const int last = std::min(region.x + region.width + edge_radius, p.size.width);
  Job job;
  job.before = first - (region.x - edge_radius);
  job.count = last - first;
  job.after = region.x + region.width + edge_radius - last;
  job.smooth = scratch.sums(slot, 0);
  job.slope = scratch.sums(slot, 1);
  const auto around = [&](int y) -> Around {
    return {scratch.row(slot, y - 1), scratch.row(slot, y), scratch.row(slot, y + 1), region.width,
            p.rule};
  };
  for (int y = begin - margin; y < end + margin; ++y) {
    job.to = scratch.row(slot, y);
    // Its ridges are still those of three rows before, which have been used.
    for (int plane = 0; plane < p.planes; ++plane) {
      for (int k = 0; k < taps; ++k) {
        const int row = std::clamp(region.y + y + k - gradient_radius, 0, p.size.height - 1);
        job.rows[k] = b.image + plane * p.plane + row * p.pitch + first;
      }
      HWY_DYNAMIC_DISPATCH(make_gradients)(job, plane == 0);
    }
    if (y >= begin) HWY_DYNAMIC_DISPATCH(mark_ridges)(around(y - 1));
    if (y < begin + margin) continue;
    const int made = y - margin;
    std::uint8_t* const edges = b.edges + made * p.edge_pitch;
    HWY_DYNAMIC_DISPATCH(write_edges)
    (around(made), p.masked ? b.mask + std::int64_t{made} * region.width : nullptr, edges,
     edges + p.edge_plane);
  }
}

Status launch(const stage::Edges::Problem& p, const Device&, const stage::Edges::Buffers& b,
              PlanState*) {
  const Scratch scratch(p.region.width);
  const SlotMemory memory(b.workspace, scratch.bytes);
  constexpr int rows_at_a_time = 32;
  parallel_slots(slot_count(), ceil_div(p.region.height, rows_at_a_time),
                 [&](int slot, std::int64_t part) {
                   const int begin = static_cast<int>(part) * rows_at_a_time;
                   make_rows(p, b, scratch, memory.of(slot), begin,
                             std::min(begin + rows_at_a_time, p.region.height));
                 });
  return {};
}

std::size_t workspace(const stage::Edges::Problem& p, const Device&) {
  return SlotMemory::total(Scratch(p.region.width).bytes);
}

constexpr Variant<stage::Edges> table[] = {
    {{.name = "edges",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::mask, Feature::planes}},
     {.launch = launch, .workspace = workspace}},
};

}  // namespace edges

std::size_t edge_scratch_bytes(int width) { return edges::Scratch(width).bytes; }

void make_edge_rows(const stage::Edges::Problem& p, const stage::Edges::Buffers& b,
                    std::byte* scratch, int begin, int end) {
  edges::make_rows(p, b, edges::Scratch(p.region.width), scratch, begin, end);
}

Family edges_family() { return Family(edges::table); }

}  // namespace xcorr::cpu
#endif
