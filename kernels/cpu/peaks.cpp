// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Non-maximum suppression: the best positions that no better one lies near. A run of scores is
// skipped when none reaches the limit and beats its neighbours in the row; those that do are
// compared with all eight neighbours, which rejects nearly all, then row by row outwards. Each slot
// keeps its best max_peaks in a heap, and the heaps are merged.
#include <functional>

#include "cpu/common.hpp"
#include "stages/peaks.hpp"
#include "stages/score.hpp"

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
  int reach_x, reach_y;  ///< how far others can suppress
  float limit;

  static constexpr Better better{};

  const float* row(int y) const { return scores + std::int64_t{y} * size.width; }

  bool reaches(float score) const { return !better(limit, score); }

  /// The order of positions: better first, equal ones in raster order.
  static bool before(const Candidate& a, const Candidate& b) {
    if (a.score != b.score) return better(a.score, b.score);
    return a.y != b.y ? a.y < b.y : a.x < b.x;
  }

  /// Whether any of a row's scores [begin, end) beats `score`, or equals it when `or_equal`.
  bool is_beaten_in(int y, int begin, int end, float score, bool or_equal) const {
    const float* s = row(y);
    for (int x = begin; x < end; x += run)
      if (is_any(std::min(run, end - x),
                 [&](int k) { return better(s[x + k], score) || (or_equal && s[x + k] == score); }))
        return true;
    return false;
  }

  bool is_beaten_within(int x, int y, int reach, int rows, float score) const {
    const int begin = std::max(0, x - reach), end = std::min(size.width, x + reach + 1);
    if (is_beaten_in(y, begin, x, score, true) || is_beaten_in(y, x + 1, end, score, false))
      return true;
    for (int dy = 1; dy <= rows; ++dy) {
      if (y - dy >= 0 && is_beaten_in(y - dy, begin, end, score, true)) return true;
      if (y + dy < size.height && is_beaten_in(y + dy, begin, end, score, false)) return true;
    }
    return false;
  }

  /// Not for the first and last column. Without branches, so that loops are vectorised.
  bool is_worth_a_look(const float* s) const {
    return reaches(s[0]) & ((reach_x == 0) | (better(s[0], s[-1]) & !better(s[1], s[0])));
  }

  bool is_peak(int x, int y) const {
    const float score = row(y)[x];
    return !is_beaten_within(x, y, std::min(reach_x, 1), std::min(reach_y, 1), score) &&
           !is_beaten_within(x, y, reach_x, reach_y, score);
  }
};

/// The best `capacity` candidates seen so far: a heap with the worst of them on top.
template <class Better>
struct Best {
  Candidate* items;
  std::uint32_t& count;
  std::uint32_t capacity;

  void add(const Candidate& candidate) {
    constexpr auto before = Surface<Better>::before;
    if (count == capacity) {
      if (!before(candidate, items[0])) return;
      std::pop_heap(items, items + count, before);
      --count;
    }
    items[count++] = candidate;
    std::push_heap(items, items + count, before);
  }
};

template <class Better>
void search_row(const Surface<Better>& surface, int y, Best<Better>& best) {
  const float* s = surface.row(y);
  const int last = surface.size.width - 1;
  const auto look_at = [&](int x) {
    if (surface.reaches(s[x]) && surface.is_peak(x, y)) best.add({s[x], x, y});
  };
  look_at(0);
  for (int x = 1; x < last; x += run) {
    const int count = std::min(run, last - x);
    if (!is_any(count, [&](int k) { return surface.reaches(s[x + k]); }) ||
        !is_any(count, [&](int k) { return surface.is_worth_a_look(s + x + k); }))
      continue;
    int places[run], found = 0;
    for (int k = 0; k < count; ++k) {
      places[found] = x + k;
      found += surface.is_worth_a_look(s + x + k);
    }
    for (int k = 0; k < found; ++k) look_at(places[k]);
  }
  if (last > 0) look_at(last);
}

/// Scratch memory of a slot: a count, on a line of its own, and the heap.
std::size_t slot_bytes(const stage::Peaks::Problem& problem) {
  return SlotMemory::line + sizeof(Candidate) * problem.max_peaks;
}

template <class Better>
void find_peaks(const stage::Peaks::Problem& problem, const stage::Peaks::Buffers& buffers) {
  const Problem& p = problem.correlate;
  const int slots = slot_count();
  const SlotMemory memory(buffers.workspace, slot_bytes(problem));
  const auto capacity = static_cast<std::uint32_t>(problem.max_peaks);
  const auto best_of = [&](int slot) {
    std::byte* piece = memory.of(slot);
    return Best<Better>{reinterpret_cast<Candidate*>(piece + SlotMemory::line),
                        *reinterpret_cast<std::uint32_t*>(piece), capacity};
  };
  for (int i = 0; i < buffers.right_count; ++i) {
    const int r = buffers.first_right + i;
    const Surface<Better> surface{
        buffers.scores + i * p.shifts.size().area(), p.shifts.size(), problem.distance_x - 1,
        problem.distance_y - 1,
        static_cast<float>(score_limit(problem.method, problem.threshold,
                                       static_cast<double>(problem.pixels()),
                                       buffers.template_sums[r]))};
    for (int slot = 0; slot < slots; ++slot) best_of(slot).count = 0;
    constexpr int rows = 16;
    parallel_slots(slots, ceil_div(p.shifts.height, rows), [&](int slot, std::int64_t band) {
      Best<Better> best = best_of(slot);
      const int first = static_cast<int>(band) * rows;
      for (int y = first; y < std::min(first + rows, p.shifts.height); ++y)
        search_row(surface, y, best);
    });
    std::uint32_t& count = buffers.counts[r];
    count = 0;
    Best<Better> best{buffers.candidates + std::int64_t{r} * problem.max_peaks, count, capacity};
    for (int slot = 0; slot < slots; ++slot) {
      const Best<Better> part = best_of(slot);
      for (std::uint32_t k = 0; k < part.count; ++k) best.add(part.items[k]);
    }
    std::sort_heap(best.items, best.items + count, Surface<Better>::before);
  }
}

Status launch(const stage::Peaks::Problem& problem, const Device&,
              const stage::Peaks::Buffers& buffers, PlanState*) {
  if (info(problem.method).minimum)
    find_peaks<std::less<float>>(problem, buffers);
  else
    find_peaks<std::greater<float>>(problem, buffers);
  return {};
}

std::size_t workspace(const stage::Peaks::Problem& problem, const Device&) {
  return SlotMemory::total(slot_bytes(problem));
}

constexpr Variant<stage::Peaks> variants[] = {
    {{"peaks", Backend::cpu, match_features}, supports_all, launch, workspace},
};

}  // namespace

Family peaks_family() { return Family(variants); }

}  // namespace xcorr::cpu
