// SPDX-License-Identifier: LGPL-2.1-or-later
#include "scenario.hpp"

#include <algorithm>
#include <cmath>

#include "stages/match/score.hpp"
#include "stages/poses/fused_coarse_search.hpp"

namespace checkcorr {

namespace stage = xcorr::stage;
using xcorr::Status;

Scenario::Scenario(const Case& c, std::uint64_t seed, bool centred, Maker maker)
    : test(c),
      values(make_inputs(c, seed, centred)),
      other(make_inputs(c, seed + 1, centred)),
      maker_(maker) {
  if (c.filter) {
    weights = weights_of(c, seed);
    return;
  }
  problem.correlate = problem_of(c);
  problem.products = centred ? ElementType::f32 : problem.correlate.output_type();
  problem.max_peaks = c.max_peaks;
  const auto distance = xcorr::peak_distance(c.distance, c.right, c.left);
  problem.distance_x = distance.width;
  problem.distance_y = distance.height;
  problem.threshold = c.threshold;
  problem.subpixel = c.subpixel;
  problem.masking = masking_of(c);
  problem.contrast.least = c.min_contrast;
  problem.lead_plane = c.lead_plane;
  // At the right border the left goes on.
  if (const Rect& inner = c.picture; !inner.empty())
    problem.overhang = {inner, {0, 0, inner.x + inner.width, c.left.height}, c.overhang};
  set_polarity();
}

void Scenario::set_polarity() {
  problem.contrast.polarity =
      xcorr::info(problem.method).centred ? test.polarity : xcorr::Polarity::same;
}

void Scenario::set_method(xcorr::Method method, bool with_error) {
  if (method == problem.method && with_error == with_error_) return;
  problem.method = method;
  with_error_ = with_error;
  set_polarity();
  for (const char* later :
       {stage::Normalise::name, stage::ContrastFilter::name, stage::OverhangScores::name,
        stage::Peaks::name, stage::Refine::name, stage::Confirm::name, stage::CoarseSearch::name,
        stage::FusedCoarseSearch::name})
    made_.erase(later);
}

Status Scenario::make_products() { return make<stage::Correlate>(problem.surfaces()); }

Status Scenario::make_window_sums() {
  return make<stage::WindowSums>({problem.correlate, problem.masking});
}

Status Scenario::make_scores() {
  if (Status s = make_products(); !s.ok()) return s;
  if (Status s = make_window_sums(); !s.ok()) return s;
  if (!made_.contains(stage::Normalise::name)) set_error();
  return make<stage::Normalise>(problem.normalisation());
}

Status Scenario::make_contrast_filtered() {
  if (Status s = make_scores(); !s.ok()) return s;
  return make<stage::ContrastFilter>(problem.contrast_filtering());
}

Status Scenario::make_overhang_scores() {
  if (Status s = make_contrast_filtered(); !s.ok()) return s;
  if (!problem.overhang) {
    values["overhang_scores"] = values["contrast_filtered"];
    return {};
  }
  return make<stage::OverhangScores>(problem.overhang_scoring());
}

Status Scenario::make_candidates() {
  if (Status s = make_overhang_scores(); !s.ok()) return s;
  if (!made_.insert(stage::Peaks::name).second) return {};
  Values inputs = values;
  inputs["scores"] = values["overhang_scores"];
  return run<stage::Peaks>(problem.peaks(), inputs, values);
}

Status Scenario::make_peaks() {
  if (Status s = make_candidates(); !s.ok()) return s;
  return make<stage::Refine>(problem.refinement());
}

xcorr::Result<const Values*> Scenario::magnitudes() {
  if (magnitudes_.empty())
    if (Status s = run<stage::Correlate>(problem.surfaces(), absolute(test, values), magnitudes_);
        !s.ok())
      return s;
  return &magnitudes_;
}

double Scenario::window_sum_at(std::size_t place) const {
  switch (xcorr::window_sum_type(problem.correlate)) {
    case ElementType::u32:
      return view<std::uint32_t>(values, "window_sums")[place];
    case ElementType::u64:
      return static_cast<double>(view<std::uint64_t>(values, "window_sums")[place]);
    default:
      return view<double>(values, "window_sums")[place];
  }
}

double Scenario::window_square_at(std::size_t place) const {
  switch (xcorr::window_square_type(problem.correlate)) {
    case ElementType::u32:
      return view<std::uint32_t>(values, "window_squares")[place];
    case ElementType::u64:
      return static_cast<double>(view<std::uint64_t>(values, "window_squares")[place]);
    default:
      return view<double>(values, "window_squares")[place];
  }
}

void Scenario::set_error() {
  auto& bytes = values["product_error"];
  bytes.clear();
  if (!with_error_) return;
  const auto middle = static_cast<std::size_t>(problem.correlate.shifts.size().area() / 2);
  const double n = static_cast<double>(problem.pixels());
  const double sum = window_sum_at(middle), squares = window_square_at(middle);
  const auto error = static_cast<float>(0.5 * xcorr::noise_share *
                                        std::sqrt(std::max(0.0, squares - sum * sum / n)));
  const auto* first = reinterpret_cast<const std::byte*>(&error);
  bytes.assign(first, first + sizeof error);
}

}  // namespace checkcorr
