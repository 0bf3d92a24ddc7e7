// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Edges on the CPU, row by row: the seven rows round one are added up to two rows of words, which
// the vectors are made of. Plain loops that the compiler vectorises, once for each of Highway's
// targets.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/image/edges.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_EDGES_JOB
#define XCORR_CPU_EDGES_JOB
#include "cpu/common/common.hpp"
#include "stages/image/edges.hpp"

namespace xcorr::cpu::edges {

inline constexpr int taps = 2 * edge_radius + 1;

/// A row of the region.
struct Job {
  const std::uint8_t* rows[taps];  ///< of the image, from the first column that is read
  int before, count, after;        ///< columns past the image, inside it, past it
  int width;
  EdgeRule rule;
  const std::uint8_t* mask;
  std::int16_t *smooth, *slope;  ///< scratch: as many as there are columns
  std::uint8_t *x, *y;
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

template <bool doubled>
HWY_FLATTEN void make_vectors(const Job& job, std::uint8_t* HWY_RESTRICT to_x,
                              std::uint8_t* HWY_RESTRICT to_y) {
  EdgeRule rule = job.rule;
  rule.doubled = doubled;
  const std::int16_t *const smooth = job.smooth, *const slope = job.slope;
  for (int x = 0; x < job.width; ++x) {
    const int across = edge_slope([&](int k) HWY_ATTR { return static_cast<int>(smooth[x + k]); });
    const int down = edge_smooth([&](int k) HWY_ATTR { return static_cast<int>(slope[x + k]); });
    const Edge edge = edge_of(edge_gradient(across), edge_gradient(down), rule);
    to_x[x] = edge.x;
    to_y[x] = edge.y;
  }
}

void make_row(const Job& job) {
  add_rows(job, job.smooth + job.before, job.slope + job.before);
  for (std::int16_t* const row : {job.smooth, job.slope}) {
    std::fill_n(row, job.before, row[job.before]);
    std::fill_n(row + job.before + job.count, job.after, row[job.before + job.count - 1]);
  }
  if (job.rule.doubled)
    make_vectors<true>(job, job.x, job.y);
  else
    make_vectors<false>(job, job.x, job.y);
  if (!job.mask) return;
  for (int x = 0; x < job.width; ++x)
    if (!job.mask[x]) job.x[x] = job.y[x] = no_edge;
}

}  // namespace xcorr::cpu::edges::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace edges {

HWY_EXPORT(make_row);

/// Of one of the two rows of scratch.
std::size_t scratch_bytes(const stage::Edges::Problem& p) {
  return SlotMemory::rounded((p.region.width + 2 * edge_radius) * sizeof(std::int16_t));
}

Status launch(const stage::Edges::Problem& p, const Device&, const stage::Edges::Buffers& b,
              PlanState*) {
  const Rect& region = p.region;
  const int first = std::max(region.x - edge_radius, 0);
  const int last = std::min(region.x + region.width + edge_radius, p.size.width);
  const SlotMemory memory(b.workspace, 2 * scratch_bytes(p));
  constexpr int rows_at_a_time = 16;
  parallel_slots(
      slot_count(), ceil_div(region.height, rows_at_a_time), [&](int slot, std::int64_t part) {
        const int begin = static_cast<int>(part) * rows_at_a_time;
        for (int y = begin; y < std::min(begin + rows_at_a_time, region.height); ++y) {
          Job job;
          for (int k = 0; k < taps; ++k) {
            const int row = std::clamp(region.y + y + k - edge_radius, 0, p.size.height - 1);
            job.rows[k] = b.image + row * p.pitch + first;
          }
          job.before = first - (region.x - edge_radius);
          job.count = last - first;
          job.after = region.x + region.width + edge_radius - last;
          job.width = region.width;
          job.rule = p.rule;
          job.mask = p.masked ? b.mask + std::int64_t{y} * region.width : nullptr;
          job.smooth = reinterpret_cast<std::int16_t*>(memory.of(slot));
          job.slope = reinterpret_cast<std::int16_t*>(memory.of(slot) + scratch_bytes(p));
          job.x = b.edges + y * p.edge_pitch;
          job.y = job.x + p.edge_plane;
          HWY_DYNAMIC_DISPATCH(make_row)(job);
        }
      });
  return {};
}

std::size_t workspace(const stage::Edges::Problem& p, const Device&) {
  return SlotMemory::total(2 * scratch_bytes(p));
}

constexpr Variant<stage::Edges> table[] = {
    {{.name = "edges", .backend = Backend::cpu, .features = {Feature::u8, Feature::mask}},
     {.launch = launch, .workspace = workspace}},
};

}  // namespace edges

Family edges_family() { return Family(edges::table); }

}  // namespace xcorr::cpu
#endif
