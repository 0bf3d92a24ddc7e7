// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The best places of cells, a row of cells at a time, of which the windows' norms are computed once
// for all images. The file is compiled once for each of Highway's targets.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/poses/coarse_search.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/poses/coarse_search-inl.hpp"

#ifndef XCORR_CPU_COARSE_SEARCH_JOB
#define XCORR_CPU_COARSE_SEARCH_JOB
#include "cpu/common/common.hpp"

namespace xcorr::cpu::coarse_search {

/// A row of cells, with memory for it.
struct Job {
  const stage::CoarseSearch::Problem* problem;
  const stage::CoarseSearch::Buffers* buffers;
  int row;
  float* norms;  ///< of the windows of CoarseCells::side rows
  BestOfColumns best;

  static std::size_t bytes(int width) {
    return width * ((CoarseCells::side + 1) * sizeof(float) + sizeof(std::int32_t));
  }
};

}  // namespace xcorr::cpu::coarse_search
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::coarse_search::HWY_NAMESPACE {

template <Method method, int planes>
void run_method(const Job& job) {
  const stage::CoarseSearch::Problem& p = *job.problem;
  const CoarseCells cells = p.cells();
  const CellRow row(p.correlate, job.row);
  const int width = p.correlate.shifts.width;
  const auto windows = [&](int y) {
    return WindowRow<planes>::of(p.correlate, *job.buffers, std::int64_t{row.top + y} * width,
                                 job.norms + y * width);
  };
  for (int y = row.first; y < row.last; ++y)
    measure_windows<method, std::uint32_t>(static_cast<double>(p.pixels()), windows(y), width,
                                           job.norms + y * width);
  for (int r = 0; r < job.buffers->right_count; ++r) {
    const int right = job.buffers->first_right + r;
    CoarseKey* const to =
        job.buffers->best + right * cells.count() + std::int64_t{job.row} * cells.columns;
    std::fill_n(to, cells.columns, CoarseKey{0});
    if (row.first >= row.last) continue;
    const auto score = score_of<method, planes>(p, job.buffers->template_sums, right);
    std::fill_n(job.best.similarity, width, -INFINITY);
    for (int y = row.first; y < row.last; ++y) {
      const auto* products = static_cast<const std::uint32_t*>(job.buffers->products) +
                             r * p.products_stride() + (row.top + y) * p.products_pitch();
      const std::int64_t plane_stride = p.product_plane();
      const WindowRow<planes> of = windows(y);
      take_best(width, y, job.best, [&](int x) {
        double product = 0;
        for (int plane = 0; plane < planes; ++plane) product += products[plane * plane_stride + x];
        const auto window = of.template at<std::uint32_t>(x);
        if constexpr (CoarseScore<planes>::on_edges)
          return score.similarity(score.signed_product(product, window), of.norms[x]);
        else
          return score.similarity(product, window, of.norms[x]);
      });
    }
    set_keys(p, right, job.row, 0, width, job.best, to);
  }
}

void run(const Job& job) {
  with_method(*job.problem, [&](auto method, auto planes) {
    run_method<decltype(method)::value, decltype(planes)::value>(job);
  });
}

}  // namespace xcorr::cpu::coarse_search::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace coarse_search {

HWY_EXPORT(run);

Status launch(const stage::CoarseSearch::Problem& p, const Device&,
              const stage::CoarseSearch::Buffers& b, PlanState*) {
  const int width = p.correlate.shifts.width;
  const SlotMemory memory(b.workspace, Job::bytes(width));
  parallel_slots(slot_count(), p.cells().rows, [&](int slot, std::int64_t row) {
    auto* const norms = reinterpret_cast<float*>(memory.of(slot));
    float* const similarity = norms + std::int64_t{CoarseCells::side} * width;
    HWY_DYNAMIC_DISPATCH(run)
    ({&p,
      &b,
      static_cast<int>(row),
      norms,
      {similarity, reinterpret_cast<std::int32_t*>(similarity + width)}});
  });
  return {};
}

std::size_t workspace(const stage::CoarseSearch::Problem& p, const Device&) {
  return SlotMemory::total(Job::bytes(p.correlate.shifts.width));
}

bool supports(const stage::CoarseSearch::Problem& p, const Device&) { return p.is_countable(); }

constexpr Variant<stage::CoarseSearch> variants[] = {
    {{.name = "coarse_search",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::mask, Feature::contrast, Feature::planes,
                   Feature::pitched_output}},
     {.supports = supports, .launch = launch, .workspace = workspace}},
};

}  // namespace coarse_search

Family coarse_search_family() { return Family(coarse_search::variants); }

}  // namespace xcorr::cpu
#endif
