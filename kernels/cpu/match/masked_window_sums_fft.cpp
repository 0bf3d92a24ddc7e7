// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The window sums of bytes under a mask of many runs: those of a mask of noise are as many as its
// pixels, and so may those of weights be. Window sums are products with the mask, so three
// transforms there and back take the same time whatever the mask: of the pixels, and of the
// squares' upper and lower bytes.
#include <vector>

#include "cpu/common/common.hpp"
#include "cpu/correlate/fft.hpp"
#include "stages/match/window_sums.hpp"

namespace xcorr::cpu {
namespace masked_window_sums_fft {

/// Adding up a run for all windows takes as long as transforming so many of their pixels.
constexpr double transformed_in_a_run = 1.0 / 750;

stage::Correlate::Problem products_of(const stage::WindowSums::Problem& problem) {
  stage::Correlate::Problem made;
  made.correlate = problem.correlate;
  made.correlate.form = Form::one_to_one;
  made.correlate.rights = 1;
  made.correlate.right_pitch = made.correlate.right.width;
  made.correlate.right_stride = made.correlate.right.area();
  made.products = made.correlate.output_type();
  return made;
}

/// Parts of the workspace.
struct Layout {
  SlotParts parts;
  std::size_t products, bytes, transform;

  Layout(const stage::Correlate::Problem& p, const Device& device)
      : products(parts.add(p.correlate.shifts.size().area() * size_of(p.products))),
        bytes(parts.add(p.correlate.left.area())),
        transform(parts.add(fft::of_bytes().workspace_bytes(p, device))) {}
};

template <class Product, class Sum, class Square>
class WindowSumsOf {
 public:
  WindowSumsOf(const stage::WindowSums::Problem& problem, const Device& device,
               const stage::WindowSums::Buffers& buffers, PlanState* state)
      : problem_(products_of(problem)),
        device_(device),
        buffers_(buffers),
        state_(state),
        layout_(problem_, device),
        memory_(buffers.workspace, layout_.parts.bytes),
        products_(reinterpret_cast<Product*>(memory_.of(0) + layout_.products)),
        bytes_(reinterpret_cast<std::uint8_t*>(memory_.of(0) + layout_.bytes)) {}

  Status run() {
    auto* sums = static_cast<Sum*>(buffers_.window_sums);
    if (Status s = multiply(buffers_.lefts, problem_); !s.ok()) return s;
    each_row([&](std::int64_t i) { sums[i] = static_cast<Sum>(products_[i]); });
    auto* squares = static_cast<Square*>(buffers_.window_squares);
    if (Status s = multiply_squares(8); !s.ok()) return s;
    each_row([&](std::int64_t i) { squares[i] = Square{products_[i]} << 8; });
    if (Status s = multiply_squares(0); !s.ok()) return s;
    each_row([&](std::int64_t i) { squares[i] += products_[i]; });
    return {};
  }

 private:
  Status multiply(const void* left, const stage::Correlate::Problem& problem) {
    return fft::of_bytes().launch(
        problem, device_,
        {{{memory_.of(0) + layout_.transform, buffers_.stream}}, left, nullptr, products_}, state_);
  }

  /// Of a byte of each pixel's square.
  Status multiply_squares(int shift) {
    const Problem& p = problem_.correlate;
    const auto left = left_of<std::uint8_t>(p, buffers_.lefts, 0);
    parallel_for(0, p.left.height, [&](int y) {
      const std::uint8_t* from = left.row(y);
      std::uint8_t* to = bytes_ + std::int64_t{y} * p.left.width;
      for (int x = 0; x < p.left.width; ++x)
        to[x] = static_cast<std::uint8_t>(from[x] * from[x] >> shift);
    });
    stage::Correlate::Problem dense = problem_;
    dense.correlate.left_pitch = p.left.width;
    return multiply(bytes_, dense);
  }

  template <class Body>
  void each_row(const Body& body) const {
    const Size windows = problem_.correlate.shifts.size();
    parallel_for(0, windows.height, [&](int y) {
      for (std::int64_t i = std::int64_t{y} * windows.width, end = i + windows.width; i < end; ++i)
        body(i);
    });
  }

  stage::Correlate::Problem problem_;
  const Device& device_;
  const stage::WindowSums::Buffers& buffers_;
  PlanState* state_;
  Layout layout_;
  SlotMemory memory_;
  Product* products_;
  std::uint8_t* bytes_;
};

Status launch(const stage::WindowSums::Problem& problem, const Device& device,
              const stage::WindowSums::Buffers& b, PlanState* state) {
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  const bool wide = problem.correlate.output_type() == ElementType::u64;
  if (problem.masking.weighted)
    return wide ? WindowSumsOf<u64, u64, u64>(problem, device, b, state).run()
                : WindowSumsOf<u32, u64, u64>(problem, device, b, state).run();
  return wide ? WindowSumsOf<u64, u32, u64>(problem, device, b, state).run()
              : WindowSumsOf<u32, u32, u32>(problem, device, b, state).run();
}

std::size_t workspace(const stage::WindowSums::Problem& problem, const Device& device) {
  return SlotMemory::line + SlotMemory::rounded(Layout(products_of(problem), device).parts.bytes);
}

Result<std::unique_ptr<PlanState>> plan(const stage::WindowSums::Problem& problem,
                                        const Device& device) {
  return fft::of_bytes().make_plan(products_of(problem), device);
}

bool supports(const stage::WindowSums::Problem& problem, const Device&) {
  const double ones = fft::error_bound_of_ones(problem.correlate);
  return problem.masking && ones * (problem.masking.weighted ? 255 : 1) < 0.25;
}

bool is_preferred(const stage::WindowSums::Problem& problem, const Device&) {
  const Problem& p = problem.correlate;
  const auto in_runs =
      static_cast<double>(problem.masking.runs) * static_cast<double>(p.shifts.size().area());
  return in_runs * transformed_in_a_run > static_cast<double>(p.left.area());
}

constexpr Variant<stage::WindowSums> variants[] = {
    {{.name = "masked_window_sums_fft",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::wide_sums, Feature::mask, Feature::weights},
      .rank = 1},
     {.supports = supports,
      .launch = launch,
      .workspace = workspace,
      .plan = plan,
      .is_preferred = is_preferred}},
};

}  // namespace masked_window_sums_fft

Family masked_window_sums_fft_family() { return Family(masked_window_sums_fft::variants); }

}  // namespace xcorr::cpu
