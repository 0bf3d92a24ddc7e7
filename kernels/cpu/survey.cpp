// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The best places of cells, in plain C++ that the compiler vectorises: a row of cells at a time, of
// which the windows' norms are computed once for all pictures. The file is compiled once for each
// of Highway's targets, of which only the compiler settings are used.
#include "cpu/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/survey.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_SURVEY_JOB
#define XCORR_CPU_SURVEY_JOB
#include "cpu/common.hpp"
#include "stages/survey.hpp"

namespace xcorr::cpu::survey {

/// A row of cells, with memory for it.
struct Job {
  const stage::Survey::Problem* problem;
  const stage::Survey::Buffers* buffers;
  int row;
  float* norms;         ///< of the windows of SurveyCells::side rows
  float* best;          ///< of each column of shifts
  std::uint8_t* depth;  ///< how far down the cell that is

  static std::size_t bytes(int width) {
    return width * ((SurveyCells::side + 1) * sizeof(float) + sizeof(std::uint8_t));
  }
};

}  // namespace xcorr::cpu::survey
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::survey::HWY_NAMESPACE {

/// The shifts of the cells' rows that exist.
struct Rows {
  int first, last;  ///< of them
  int top;          ///< the shift of row 0

  explicit Rows(const Job& job) {
    const Problem& p = job.problem->correlate;
    top = SurveyCells::shift(job.row, 0, p.right.height);
    first = std::max(0, -top);
    last = std::min(SurveyCells::side, p.shifts.height - top);
  }
};

template <Method method>
HWY_FLATTEN void measure_windows(const Job& job, const Rows& rows) {
  const int width = job.problem->correlate.shifts.width;
  const auto n = static_cast<double>(job.problem->pixels());
  for (int j = rows.first; j < rows.last; ++j) {
    const std::int64_t at = std::int64_t{rows.top + j} * width;
    const auto* sums = static_cast<const std::uint32_t*>(job.buffers->window_sums) + at;
    const auto* squares = static_cast<const std::uint32_t*>(job.buffers->window_squares) + at;
    float* HWY_RESTRICT norms = job.norms + j * width;
    for (int x = 0; x < width; ++x) norms[x] = SurveyScore::norm(method, n, sums[x], squares[x]);
  }
}

/// The best of each column of shifts in the row of cells.
template <Method method>
HWY_FLATTEN void survey_columns(const Job& job, const Rows& rows, int r) {
  const stage::Survey::Problem& p = *job.problem;
  const int width = p.correlate.shifts.width;
  const TemplateSums& right = job.buffers->template_sums[job.buffers->first_right + r];
  const SurveyScore score(
      method, p.polarity, p.pixels(), right,
      SurveyScore::norm(method, static_cast<double>(p.pixels()), right.sum, right.squares));
  float* HWY_RESTRICT best = job.best;
  std::uint8_t* HWY_RESTRICT depth = job.depth;
  std::fill_n(best, width, -INFINITY);
  for (int j = rows.first; j < rows.last; ++j) {
    const int y = rows.top + j;
    const std::int64_t at = std::int64_t{y} * width;
    const auto* products = static_cast<const std::uint32_t*>(job.buffers->products) +
                           r * p.products_stride() + y * p.products_pitch();
    const auto* sums = static_cast<const std::uint32_t*>(job.buffers->window_sums) + at;
    const auto* squares = static_cast<const std::uint32_t*>(job.buffers->window_squares) + at;
    const float* norms = job.norms + j * width;
    for (int x = 0; x < width; ++x) {
      const float closeness = score.closeness(products[x], sums[x], squares[x], norms[x]);
      const bool better = closeness > best[x];
      best[x] = better ? closeness : best[x];
      depth[x] = better ? static_cast<std::uint8_t>(j) : depth[x];
    }
  }
}

template <Method method>
void run_method(const Job& job) {
  const stage::Survey::Problem& p = *job.problem;
  const SurveyCells cells = p.cells();
  const Rows rows(job);
  if (rows.first < rows.last) measure_windows<method>(job, rows);
  for (int r = 0; r < job.buffers->right_count; ++r) {
    const int right = job.buffers->first_right + r;
    const std::int64_t first = right * cells.count() + std::int64_t{job.row} * cells.columns;
    SurveyKey* const to = job.buffers->best + first;
    std::fill_n(to, cells.columns, SurveyKey{0});
    if (rows.first >= rows.last) continue;
    survey_columns<method>(job, rows, r);
    // How many places of cells the centre of shift 0 lies from the frame's edge: see shift().
    const int left = (p.correlate.right.width - 1) / 2;
    for (int x = 0; x < p.correlate.shifts.width; ++x) {
      const int column = (x + left) / SurveyCells::side, i = (x + left) % SurveyCells::side;
      const auto place = static_cast<std::uint32_t>(
          (p.first_picture * cells.count() + first + column) * SurveyCells::places +
          SurveyCells::side * job.depth[x] + i);
      to[column] = std::max(to[column], survey_key(job.best[x], place));
    }
  }
}

void run(const Job& job) {
  switch (job.problem->method) {
    case Method::sqdiff_normed:
      return run_method<Method::sqdiff_normed>(job);
    case Method::ccorr_normed:
      return run_method<Method::ccorr_normed>(job);
    default:
      return run_method<Method::ccoeff_normed>(job);
  }
}

}  // namespace xcorr::cpu::survey::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace survey {

HWY_EXPORT(run);

Status launch(const stage::Survey::Problem& p, const Device&, const stage::Survey::Buffers& b,
              PlanState*) {
  const int width = p.correlate.shifts.width;
  const SlotMemory memory(b.workspace, Job::bytes(width));
  parallel_slots(slot_count(), p.cells().rows, [&](int slot, std::int64_t row) {
    auto* const norms = reinterpret_cast<float*>(memory.of(slot));
    float* const best = norms + std::int64_t{SurveyCells::side} * width;
    HWY_DYNAMIC_DISPATCH(run)
    ({&p, &b, static_cast<int>(row), norms, best, reinterpret_cast<std::uint8_t*>(best + width)});
  });
  return {};
}

std::size_t workspace(const stage::Survey::Problem& p, const Device&) {
  return SlotMemory::total(Job::bytes(p.correlate.shifts.width));
}

bool supports(const stage::Survey::Problem& p, const Device&) { return p.is_countable(); }

constexpr Variant<stage::Survey> variants[] = {
    {{"survey",
      Backend::cpu,
      {Feature::u8, Feature::mask, Feature::contrast, Feature::pitched_output}},
     supports,
     launch,
     workspace},
};

}  // namespace survey

Family survey_family() { return Family(survey::variants); }

}  // namespace xcorr::cpu
#endif
