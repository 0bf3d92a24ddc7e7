// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Peaks of surfaces of scores. A run of scores is skipped when none reaches the limit and beats its
// neighbours in the row; those that do are compared with all eight neighbours, and those that
// remain join a list. Two members of it are never adjacent, which bounds its length. The best of
// the list is a peak and suppresses what lies near it, then the best of what is left, and so on.
#include <atomic>
#include <functional>

#include "cpu/common/common.hpp"
#include "stages/match/peaks.hpp"
#include "stages/match/score.hpp"

namespace xcorr::cpu {
namespace {

constexpr int run = 32;  ///< scores that are tested together

/// Without an early exit, so that the loop is vectorised.
template <class Test>
bool is_any(int count, const Test& test) {
  bool any = false;
  for (int k = 0; k < count; ++k) any |= test(k);
  return any;
}

/// One template's scores. Better: std::greater or std::less.
template <class Better>
struct Surface {
  const float* scores;
  Size size;
  float limit;

  static constexpr Better better{};

  const float* row(int y) const { return scores + std::int64_t{y} * size.width; }

  bool reaches(float score) const { return !better(limit, score); }

  /// The order of positions: better first, equal ones in raster order.
  static bool before(const Candidate& a, const Candidate& b) {
    if (a.score != b.score) return better(a.score, b.score);
    return a.y != b.y ? a.y < b.y : a.x < b.x;
  }

  /// Not for the first and last column. Without branches, so that loops are vectorised.
  bool is_worth_a_look(const float* s) const {
    return reaches(s[0]) & better(s[0], s[-1]) & !better(s[1], s[0]);
  }

  /// Whether none of its eight neighbours comes before it.
  bool is_peak(int x, int y) const {
    const Candidate here{row(y)[x], x, y};
    for (int v = std::max(y - 1, 0); v <= std::min(y + 1, size.height - 1); ++v)
      for (int u = std::max(x - 1, 0); u <= std::min(x + 1, size.width - 1); ++u)
        if (before({row(v)[u], u, v}, here)) return false;
    return true;
  }
};

/// What the threads found, in no particular order.
struct Found {
  Candidate* items;
  std::atomic<std::int64_t> count{0};
};

template <class Better>
void search_row(const Surface<Better>& surface, int y, Found& found) {
  const float* s = surface.row(y);
  const int last = surface.size.width - 1;
  const auto look_at = [&](int x) {
    if (surface.reaches(s[x]) && surface.is_peak(x, y)) found.items[found.count++] = {s[x], x, y};
  };
  look_at(0);
  for (int x = 1; x < last; x += run) {
    const int count = std::min(run, last - x);
    if (!is_any(count, [&](int k) { return surface.reaches(s[x + k]); }) ||
        !is_any(count, [&](int k) { return surface.is_worth_a_look(s + x + k); }))
      continue;
    for (int k = 0; k < count; ++k)
      if (surface.is_worth_a_look(s + x + k)) look_at(x + k);
  }
  if (last > 0) look_at(last);
}

/// Takes the peaks from those found, best first; returns how many.
template <class Better>
std::uint32_t take_peaks(const stage::Peaks::Problem& problem, Found& found, Candidate* peaks) {
  const auto behind = [](const Candidate& a, const Candidate& b) {
    return Surface<Better>::before(b, a);
  };
  Candidate* const first = found.items;
  Candidate* end = first + found.count;
  std::make_heap(first, end, behind);
  std::uint32_t count = 0;
  while (first != end && count < static_cast<std::uint32_t>(problem.max_peaks)) {
    std::pop_heap(first, end--, behind);
    const Candidate& best = *end;
    if (std::none_of(peaks, peaks + count, [&](const Candidate& peak) {
          return std::abs(peak.x - best.x) < problem.distance_x &&
                 std::abs(peak.y - best.y) < problem.distance_y;
        }))
      peaks[count++] = best;
  }
  return count;
}

template <class Better>
void find(const stage::Peaks::Problem& problem, const stage::Peaks::Buffers& buffers) {
  const Problem& p = problem.correlate;
  for (int i = 0; i < buffers.right_count; ++i) {
    const int r = buffers.first_right + i;
    const Surface<Better> surface{
        buffers.scores + i * p.shifts.size().area(), p.shifts.size(),
        static_cast<float>(score_limit(problem.method, problem.threshold,
                                       static_cast<double>(problem.pixels()),
                                       sums_of_right(p, buffers.template_sums, r)))};
    Found found{static_cast<Candidate*>(buffers.workspace)};
    constexpr int rows = 16;
    parallel_slots(slot_count(), ceil_div(p.shifts.height, rows), [&](int, std::int64_t band) {
      const int first = static_cast<int>(band) * rows;
      for (int y = first; y < std::min(first + rows, p.shifts.height); ++y)
        search_row(surface, y, found);
    });
    buffers.counts[r] = take_peaks<Better>(
        problem, found, buffers.candidates + std::int64_t{r} * problem.max_peaks);
  }
}

Status launch(const stage::Peaks::Problem& problem, const Device&,
              const stage::Peaks::Buffers& buffers, PlanState*) {
  if (info(problem.method).minimum)
    find<std::less<float>>(problem, buffers);
  else
    find<std::greater<float>>(problem, buffers);
  return {};
}

std::size_t workspace(const stage::Peaks::Problem& problem, const Device&) {
  const Size size = problem.correlate.shifts.size();
  return sizeof(Candidate) * ceil_div(size.width, 2) * ceil_div(size.height, 2);
}

constexpr Variant<stage::Peaks> variants[] = {
    {{.name = "peaks", .backend = Backend::cpu, .features = match_features},
     {.launch = launch, .workspace = workspace}},
};

}  // namespace

Family peaks_family() { return Family(variants); }

}  // namespace xcorr::cpu
