// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The window sums of masked windows. The mask is a list of runs, each of adjacent pixels of a row
// that count. For integers the rows' prefix sums come first; then a run costs two differences
// for a window, whatever its length. Those of u8 wrap around in 32 bits, which their differences
// undo as long as those fit: a run's sum of squares does up to 66,051 pixels, so runs are at most
// that long. A run of weights is one of equal ones. Floating-point pixels are summed one by one,
// since a difference of prefix sums would lose precision where the window is dark and its row is
// not. Loops over adjacent windows are plain C++ that the compiler vectorises; the file is compiled
// once for each of Highway's targets.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/match/masked_window_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_MASKED_WINDOW_SUMS_JOB
#define XCORR_CPU_MASKED_WINDOW_SUMS_JOB
#include "cpu/common/common.hpp"
#include "stages/match/mask_runs.hpp"
#include "stages/match/window_sums.hpp"

namespace xcorr::cpu::masked_window_sums {

/// The sums and squares of a row of windows: those at shifts (0, y), (1, y), ...
struct Job {
  const stage::WindowSums::Problem* problem;
  const std::vector<MaskRun>* runs;
  const void* left;  ///< f32: the left; others: its prefix sums
  int y;
  void* sums;
  void* squares;
};

/// The prefix sums of integers: of pixels and of squares, interleaved by rows, each one
/// element longer than a row. T: 32 bits for u8, 64 for u16.
template <class T>
struct PrefixRows {
  T* data;
  std::int64_t length;

  PrefixRows(const Problem& p, void* memory)
      : data(static_cast<T*>(memory)), length(p.left.width + 1) {}
  T* sums(std::int64_t y) const { return data + 2 * y * length; }
  T* squares(std::int64_t y) const { return sums(y) + length; }
  static std::size_t bytes(const Problem& p) {
    return sizeof(T) * 2 * (p.left.width + std::size_t{1}) * p.left.height;
  }
};

}  // namespace xcorr::cpu::masked_window_sums
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::masked_window_sums::HWY_NAMESPACE {

template <class PrefixSum, class Sum, class Squares, bool weighted = false>
HWY_FLATTEN void integers(const Job& job) {
  const Problem& p = job.problem->correlate;
  const PrefixRows<PrefixSum> rows(p, const_cast<void*>(job.left));
  auto* HWY_RESTRICT sums = static_cast<Sum*>(job.sums);
  auto* HWY_RESTRICT squares = static_cast<Squares*>(job.squares);
  const int count = p.shifts.width;
  std::fill_n(sums, count, 0);
  std::fill_n(squares, count, 0);
  for (const MaskRun& run : *job.runs) {
    const std::int64_t y = p.shifts.y + job.y + run.y, x = p.shifts.x + run.x;
    const PrefixSum* HWY_RESTRICT sum = rows.sums(y) + x;
    const PrefixSum* HWY_RESTRICT square = rows.squares(y) + x;
    const int length = run.length;
    const auto times = static_cast<Sum>(weighted ? run.weight : 1);
    for (int i = 0; i < count; ++i) sums[i] += times * (sum[i + length] - sum[i]);
    for (int i = 0; i < count; ++i) squares[i] += times * (square[i + length] - square[i]);
  }
}

HWY_FLATTEN void floats(const Job& job) {
  const Problem& p = job.problem->correlate;
  auto* HWY_RESTRICT sums = static_cast<double*>(job.sums);
  auto* HWY_RESTRICT squares = static_cast<double*>(job.squares);
  const int count = p.shifts.width;
  std::fill_n(sums, count, 0);
  std::fill_n(squares, count, 0);
  const auto left = left_of<float>(p, job.left, 0);
  for (const MaskRun& run : *job.runs)
    for (int k = 0; k < run.length; ++k) {
      const float* HWY_RESTRICT f = left.row(p.shifts.y + job.y + run.y) + p.shifts.x + run.x + k;
      for (int i = 0; i < count; ++i) {
        const double v = f[i];
        sums[i] += v;
        squares[i] += v * v;
      }
    }
}

void run(const Job& job) {
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  const ElementType type = job.problem->correlate.type;
  if (type == ElementType::f32)
    floats(job);
  else if (type == ElementType::u16)
    integers<u64, u64, u64>(job);
  else if (job.problem->masking.weighted)
    integers<u32, u64, u64, true>(job);
  else if (job.problem->square_type() == ElementType::u64)
    integers<u32, u32, u64>(job);
  else
    integers<u32, u32, u32>(job);
}

}  // namespace xcorr::cpu::masked_window_sums::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace masked_window_sums {

HWY_EXPORT(run);

class Runs final : public PlanState {
 public:
  explicit Runs(Size size) : size_(size) {}
  Status set_rights(const void* mask, Stream) override {
    runs = mask_runs(static_cast<const std::uint8_t*>(mask), size_);
    return {};
  }
  std::vector<MaskRun> runs;

 private:
  Size size_;
};

template <class Pixel, class PrefixSum>
void make_prefix_sums(const Problem& p, const stage::WindowSums::Buffers& b) {
  const auto left = left_of<Pixel>(p, b.lefts, 0);
  const PrefixRows<PrefixSum> rows(p, b.workspace);
  parallel_for(0, p.left.height, [&](int y) {
    const Pixel* f = left.row(y);
    PrefixSum *sums = rows.sums(y), *squares = rows.squares(y);
    sums[0] = squares[0] = 0;
    for (int x = 0; x < p.left.width; ++x) {
      sums[x + 1] = sums[x] + f[x];
      squares[x + 1] = squares[x] + PrefixSum{f[x]} * f[x];
    }
  });
}

Status launch(const stage::WindowSums::Problem& problem, const Device&,
              const stage::WindowSums::Buffers& b, PlanState* state) {
  const Problem& p = problem.correlate;
  if (p.type == ElementType::u8) make_prefix_sums<std::uint8_t, std::uint32_t>(p, b);
  if (p.type == ElementType::u16) make_prefix_sums<std::uint16_t, std::uint64_t>(p, b);
  const std::size_t sum = size_of(problem.sum_type()), square = size_of(problem.square_type());
  parallel_for(0, p.shifts.height, [&](int y) {
    const std::int64_t place = std::int64_t{y} * p.shifts.width;
    HWY_DYNAMIC_DISPATCH(run)
    ({&problem, &static_cast<const Runs*>(state)->runs, is_integral(p.type) ? b.workspace : b.lefts,
      y, static_cast<std::byte*>(b.window_sums) + place * static_cast<std::int64_t>(sum),
      static_cast<std::byte*>(b.window_squares) + place * static_cast<std::int64_t>(square)});
  });
  return {};
}

std::size_t workspace(const stage::WindowSums::Problem& problem, const Device&) {
  const Problem& p = problem.correlate;
  if (p.type == ElementType::u16) return PrefixRows<std::uint64_t>::bytes(p);
  return is_integral(p.type) ? PrefixRows<std::uint32_t>::bytes(p) : 0;
}

Result<std::unique_ptr<PlanState>> plan(const stage::WindowSums::Problem& problem, const Device&) {
  return std::unique_ptr<PlanState>(std::make_unique<Runs>(problem.correlate.right));
}

bool supports(const stage::WindowSums::Problem& problem, const Device&) {
  return problem.masking && problem.masking.allows(problem.correlate.type);
}

constexpr Variant<stage::WindowSums> variants[] = {
    {{.name = "masked_window_sums",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::wide_sums, Feature::mask,
                   Feature::weights}},
     {.supports = supports, .launch = launch, .workspace = workspace, .plan = plan}},
};

}  // namespace masked_window_sums

Family masked_window_sums_family() { return Family(masked_window_sums::variants); }

}  // namespace xcorr::cpu
#endif
