// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Separable convolution in bands of rows: a band keeps the horizontal sums of as many rows as the
// vertical weights cover, so that each row is read and summed once. Both passes are the same loop,
// a weighted sum of lines; for the horizontal pass these are one line read at different offsets.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/image/separable.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_SEPARABLE_JOB
#define XCORR_CPU_SEPARABLE_JOB
#include <cmath>

#include "cpu/common/common.hpp"
#include "stages/image/filter.hpp"

namespace xcorr::cpu::separable {

struct Job {
  const stage::Filter::Problem* problem;
  const stage::Filter::Buffers* buffers;
  int image, begin, end;  ///< rows of the region
  void* scratch;
};

/// Lines of sums are written in whole blocks of this size.
constexpr int block = 64;

/// Scratch memory of a band, in sums.
struct Scratch {
  std::int64_t line, sums;  ///< lengths of a line of pixels and of a line of sums
  int kept;                 ///< lines of horizontal sums

  explicit Scratch(const stage::Filter::Problem& problem)
      : line(0),
        sums(ceil_div(problem.region.width, block) * block),
        kept(problem.weights->down.count()) {
    line = sums + 2 * problem.weights->across.radius;
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

/// The elements [x, x + width) of a row; past either end, the nearest element.
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
  } else if constexpr (sizeof(T) == 2) {
    for (int x = 0; x < width; ++x)
      out[x] = static_cast<T>(std::clamp(std::floor(sums[x] + 0.5), 0.0, 65535.0));
  } else {
    for (int x = 0; x < width; ++x) out[x] = static_cast<T>(sums[x]);
  }
}

template <class T, class Sum>
void run_as(const Job& job) {
  const stage::Filter::Problem& p = *job.problem;
  const Scratch sizes(p);
  const Taps<Sum> taps = taps_of<Sum>(*p.weights);
  const int width = p.region.width, across = 2 * taps.radius_x + 1, down = 2 * taps.radius_y + 1;
  const Matrix<T> image{static_cast<const std::byte*>(job.buffers->images) + job.image * p.stride,
                        p.pitch, p.size};
  Sum* line = static_cast<Sum*>(job.scratch);
  Sum* rows = line + sizes.line;
  Sum* sums = rows + sizes.sums * sizes.kept;
  std::fill(line + width + 2 * taps.radius_x, line + sizes.line, Sum{0});
  const auto kept = [&](int y) { return rows + y % sizes.kept * sizes.sums; };

  int next = std::max(0, p.region.y + job.begin - taps.radius_y);  // row to sum horizontally
  T* out = static_cast<T*>(job.buffers->filtered) + job.image * p.stride_out();
  for (int y = job.begin; y < job.end; ++y) {
    const int top = p.region.y + y - taps.radius_y, last = p.size.height - 1;
    for (; next <= std::min(last, top + down - 1); ++next) {
      widen(image.row(next), p.size.width, p.region.x - taps.radius_x, width + across - 1, line);
      weigh(
          taps.across, across, [=](int k) HWY_ATTR { return line + k; }, sizes.sums, kept(next));
    }
    weigh(
        taps.down, down, [&](int k) HWY_ATTR { return kept(std::clamp(top + k, 0, last)); },
        sizes.sums, sums);
    store(sums, taps.shift, width, out + y * p.pitch_out());
  }
}

void run(const Job& job) {
  if (job.problem->type == ElementType::u8) return run_as<std::uint8_t, int>(job);
  if (job.problem->type == ElementType::u16) return run_as<std::uint16_t, double>(job);
  if (job.problem->type == ElementType::f64) return run_as<double, double>(job);
  if (job.problem->weights->sums == ElementType::f64) return run_as<float, double>(job);
  run_as<float, float>(job);
}

}  // namespace xcorr::cpu::separable::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace separable {

HWY_EXPORT(run);

std::size_t slot_bytes(const stage::Filter::Problem& problem) {
  const bool wide = problem.weights->sums == ElementType::f64;
  return Scratch(problem).count() * (wide ? sizeof(double) : sizeof(float));
}

Status launch(const stage::Filter::Problem& p, const Device&, const stage::Filter::Buffers& buffers,
              PlanState*) {
  // A band begins with horizontal sums of rows that the previous band computes, too.
  const int least = 4 * p.weights->down.count();
  const int height = static_cast<int>(
      std::max<std::int64_t>(least, ceil_div(p.region.height, 4 * std::int64_t{slot_count()})));
  const std::int64_t bands = ceil_div(p.region.height, height);
  const SlotMemory memory(buffers.workspace, slot_bytes(p));
  parallel_slots(slot_count(), p.count * bands, [&](int slot, std::int64_t index) {
    const int begin = static_cast<int>(index % bands) * height;
    HWY_DYNAMIC_DISPATCH(run)
    ({&p, &buffers, static_cast<int>(index / bands), begin,
      std::min(begin + height, p.region.height), memory.of(slot)});
  });
  return {};
}

std::size_t workspace(const stage::Filter::Problem& problem, const Device&) {
  return SlotMemory::total(slot_bytes(problem));
}

constexpr Variant<stage::Filter> variants[] = {
    {{.name = "separable",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::f64, Feature::several_images,
                   Feature::pitched_output}},
     {.launch = launch, .workspace = workspace}},
};

}  // namespace separable

Family separable_family() { return Family(separable::variants); }

}  // namespace xcorr::cpu
#endif
