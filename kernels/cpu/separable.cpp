// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Separable convolution in bands of rows: a band keeps the sums across of the last rows that the
// weights down reach, so that each row is read and summed once, and both passes are the same loop:
// a weighted sum of lines, which for the pass across are one line read from different places on.
#include "cpu/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/separable.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_SEPARABLE_JOB
#define XCORR_CPU_SEPARABLE_JOB
#include "cpu/common.hpp"
#include "stages/filter_weights.hpp"

namespace xcorr::cpu::separable {

struct Job {
  const MatchProblem* problem;
  const Buffers* buffers;
  int left, begin, end;  ///< rows of the region
  void* scratch;
};

/// Lines of sums are written in whole blocks.
constexpr int block = 64;

/// Scratch memory of a band, in sums.
struct Scratch {
  std::int64_t line, sums;  ///< lengths of the pixels' line and of one of sums
  int kept;                 ///< sums across

  explicit Scratch(const MatchProblem& problem)
      : line(0),
        sums(ceil_div(problem.correlate.shifts.width, block) * block),
        kept(problem.filter->down.count()) {
    line = sums + 2 * problem.filter->across.radius;
  }
  std::size_t count() const { return line + sums * (kept + 1); }
};

}  // namespace xcorr::cpu::separable
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::separable::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class V>
HWY_INLINE V mul_add(V a, V b, V c) {
  if constexpr (hwy::IsFloat<hn::TFromV<V>>())
    return hn::MulAdd(a, b, c);
  else
    return hn::Add(hn::Mul(a, b), c);
}

/// out[x] = taps[0] line(0)[x] + taps[1] line(1)[x] + ...
template <class Sum, class Line>
HWY_INLINE void weigh(const Sum* taps, int count, const Line& line, std::int64_t width,
                      Sum* HWY_RESTRICT out) {
  const hn::CappedTag<Sum, block / 4> d;
  const std::int64_t n = hn::Lanes(d);
  for (std::int64_t x = 0; x < width; x += 4 * n) {
    auto a = hn::Zero(d), b = a, c = a, e = a;
    for (int k = 0; k < count; ++k) {
      const auto weight = hn::Set(d, taps[k]);
      const Sum* from = line(k) + x;
      a = mul_add(weight, hn::LoadU(d, from), a);
      b = mul_add(weight, hn::LoadU(d, from + n), b);
      c = mul_add(weight, hn::LoadU(d, from + 2 * n), c);
      e = mul_add(weight, hn::LoadU(d, from + 3 * n), e);
    }
    hn::StoreU(a, d, out + x);
    hn::StoreU(b, d, out + x + n);
    hn::StoreU(c, d, out + x + 2 * n);
    hn::StoreU(e, d, out + x + 3 * n);
  }
}

/// The elements [x, x + width) of a row, the nearest ones where that reaches over an end.
template <class T, class Sum>
void widen(const T* row, int row_width, int x, int width, Sum* HWY_RESTRICT out) {
  const int before = std::clamp(-x, 0, width), end = std::clamp(row_width - x, before, width);
  std::fill_n(out, before, Sum(row[0]));
  for (int i = before; i < end; ++i) out[i] = Sum(row[x + i]);
  std::fill(out + end, out + width, Sum(row[row_width - 1]));
}

template <class T, class Sum>
void store(const Sum* HWY_RESTRICT sums, int shift, int width, T* HWY_RESTRICT out) {
  if constexpr (sizeof(T) == 1) {
    const Sum half = (Sum{1} << shift) >> 1;
    for (int x = 0; x < width; ++x)
      out[x] = static_cast<T>(std::clamp((sums[x] + half) >> shift, 0, 255));
  } else {
    for (int x = 0; x < width; ++x) out[x] = static_cast<T>(sums[x]);
  }
}

template <class T, class Sum>
void run_as(const Job& job) {
  const Problem& p = job.problem->correlate;
  const Scratch sizes(*job.problem);
  const Taps<Sum> taps = taps_of<Sum>(*job.problem->filter);
  const int width = p.shifts.width, across = 2 * taps.radius_x + 1, down = 2 * taps.radius_y + 1;
  const auto picture = left_of<T>(p, job.buffers->lefts, job.left);
  Sum* line = static_cast<Sum*>(job.scratch);
  Sum* rows = line + sizes.line;
  Sum* sums = rows + sizes.sums * sizes.kept;
  std::fill(line + width + 2 * taps.radius_x, line + sizes.line, Sum{0});
  const auto kept = [&](int y) { return rows + y % sizes.kept * sizes.sums; };

  int next = std::max(0, p.shifts.y + job.begin - taps.radius_y);  // row to sum across
  T* out = static_cast<T*>(job.buffers->filtered) + job.left * job.problem->products_stride();
  for (int y = job.begin; y < job.end; ++y) {
    const int top = p.shifts.y + y - taps.radius_y, last = p.left.height - 1;
    for (; next <= std::min(last, top + down - 1); ++next) {
      widen(picture.row(next), p.left.width, p.shifts.x - taps.radius_x, width + across - 1, line);
      weigh(
          taps.across, across, [=](int k) HWY_ATTR { return line + k; }, sizes.sums, kept(next));
    }
    weigh(
        taps.down, down, [&](int k) HWY_ATTR { return kept(std::clamp(top + k, 0, last)); },
        sizes.sums, sums);
    store(sums, taps.shift, width, out + y * job.problem->products_pitch());
  }
}

void run(const Job& job) {
  if (job.problem->correlate.type == ElementType::u8) return run_as<std::uint8_t, int>(job);
  if (job.problem->correlate.type == ElementType::f64) return run_as<double, double>(job);
  if (job.problem->filter->sums == ElementType::f64) return run_as<float, double>(job);
  run_as<float, float>(job);
}

}  // namespace xcorr::cpu::separable::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace separable {

HWY_EXPORT(run);

std::size_t slot_bytes(const MatchProblem& problem) {
  const bool wide = problem.filter->sums == ElementType::f64;
  return Scratch(problem).count() * (wide ? sizeof(double) : sizeof(float));
}

Status launch(const MatchProblem& problem, const Device&, const Buffers& buffers, PlanState*) {
  const Problem& p = problem.correlate;
  // A band begins with sums across of rows that the one before has made too.
  const int least = 4 * problem.filter->down.count();
  const int height = static_cast<int>(
      std::max<std::int64_t>(least, ceil_div(p.shifts.height, 4 * std::int64_t{slot_count()})));
  const std::int64_t bands = ceil_div(p.shifts.height, height);
  const SlotMemory memory(buffers.workspace, slot_bytes(problem));
  parallel_slots(slot_count(), p.lefts * bands, [&](int slot, std::int64_t index) {
    const int begin = static_cast<int>(index % bands) * height;
    HWY_DYNAMIC_DISPATCH(run)
    ({&problem, &buffers, static_cast<int>(index / bands), begin,
      std::min(begin + height, p.shifts.height), memory.of(slot)});
  });
  return {};
}

bool supports(const MatchProblem& problem, const Device&) { return problem.filter; }

std::size_t workspace(const MatchProblem& problem, const Device&) {
  return SlotMemory::total(slot_bytes(problem));
}

constexpr Variant variants[] = {
    {"separable", Stage::filter, Backend::cpu, true, supports, workspace, launch},
};

}  // namespace separable

Family separable_family() { return separable::variants; }

}  // namespace xcorr::cpu
#endif
