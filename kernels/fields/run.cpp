// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a FieldPlan enqueues.
#include <algorithm>

#include "fields/plan.hpp"
#include "select/select.hpp"

namespace xcorr {

Status FieldPlan::enqueue(const FieldImage& reference, const FieldImage& frame, Stream stream) {
  if (Status s = prepare(reference, frame, stream); !s.ok()) return s;
  for (int i = 0; i < passes(); ++i) {
    if (Status s = begin_pass(i, stream); !s.ok()) return s;
    if (Status s = search(i, reference, frame, stream); !s.ok()) return s;
    if (Status s = validate(passes_[i].grid, stream); !s.ok()) return s;
  }
  if (fits_) {
    for (const bool again : {false, true}) {
      const Use use = again && fit_problem_.order == 2 ? Use::bent_fit : Use::fit;
      if (Status s = predict(grid(), passes_.back(), use, stream); !s.ok()) return s;
      if (Status s = fit(reference, again, stream); !s.ok()) return s;
      if (!again)
        if (Status s = validate(grid(), stream); !s.ok()) return s;
    }
  }
  if (fits_ && weight_ > 0)
    if (Status s = smooth(grid(), measured(), stream); !s.ok()) return s;
  return finish(fits_ && weight_ == 0 ? measured() : believed(), stream);
}

Status FieldPlan::finish(const FieldVector* vectors, Stream stream) {
  return runtime_->copy(
      bytes_copy(results_.data(), vectors,
                 static_cast<std::size_t>(grid().count.area()) * sizeof(FieldVector)),
      Memory::device, Memory::host, stream);
}

// ---- an ensemble ----------------------------------------------------------------------------

Status FieldPlan::prepare_ensemble() {
  if (sums_.data()) return {};
  std::size_t sums = 0, workspace = workspace_.bytes();
  for (Pass& pass : passes_) {
    stage::WindowSearch::Problem p = pass.problem;
    p.pairs = 2;
    const auto window_search = select_variant<stage::WindowSearch>(p, device_);
    if (!window_search.ok()) return window_search.status();
    pass.window_search_ensemble = window_search.value();
    const auto shifts = static_cast<std::size_t>(p.shifts());
    sums = std::max(sums, static_cast<std::size_t>(p.count) * shifts * shifts * sizeof(float));
    workspace = std::max(workspace, pass.window_search_ensemble->workspace_bytes(p, device_));
  }
  if (Status s = workspace_.provide(device_.backend, workspace); !s.ok()) return s;
  return sums_.provide(device_.backend, sums);
}

Status FieldPlan::enqueue_pair(int pass, const FieldImage& reference, const FieldImage& frame,
                               FieldPairNumber number, Stream stream) {
  const bool first = number.pair == 0, last = number.pair + 1 == number.pairs;
  if (first)
    if (Status s = begin_pass(pass, stream); !s.ok()) return s;
  if (pass > 0 && deforms_)
    if (Status s = prepare(reference, frame, stream); !s.ok()) return s;
  if (Status s = search(pass, reference, frame, stream, number); !s.ok() || !last) return s;
  if (Status s = validate(passes_[pass].grid, stream); !s.ok() || pass + 1 < passes()) return s;
  return finish(believed(), stream);
}

// ---- its parts ------------------------------------------------------------------------------

Status FieldPlan::prepare(const FieldImage& reference, const FieldImage& frame, Stream stream) {
  const auto make_spline = [&](const FieldImage& image, const Deformed& to) {
    stage::Spline::Problem p = spline_problem_;
    p.pitch = image.pitch;
    return spline_->launch(p, device_,
                           {{workspace_.data(), stream}, image.pixels, to.coefficients.as<float>()},
                           nullptr);
  };
  if (deforms_)
    if (Status s = deforms_both_ ? make_spline(reference, reference_) : surround(reference, stream);
        !s.ok())
      return s;
  return spline_ ? make_spline(frame, frame_) : Status();
}

Status FieldPlan::surround(const FieldImage& reference, Stream stream) {
  const std::int64_t pitch = deform_problem_.pitch, margin = deform_problem_.margin;
  auto* const pixels = reference_.pixels.as<std::uint8_t>();
  return runtime_->copy({pixels + margin * pitch + margin * pixel_bytes(), pitch, reference.pixels,
                         reference.pitch, static_cast<std::size_t>(image_.width * pixel_bytes()),
                         static_cast<std::size_t>(image_.height)},
                        Memory::device, Memory::device, stream);
}

Status FieldPlan::deform(const Deformed& image, const FieldGrid& by, float share, Stream stream) {
  stage::Deform::Problem p = deform_problem_;
  p.grid = by;
  p.share = share;
  return deform_->launch(p, device_,
                         {{nullptr, stream},
                          image.coefficients.as<float>(),
                          deformed_by(),
                          image.pixels.as<std::uint8_t>()},
                         nullptr);
}

Status FieldPlan::begin_pass(int number, Stream stream) {
  if (number == 0) return {};
  const FieldGrid& before = passes_[number - 1].grid;
  if (!deforms_) return predict(before, passes_[number], Use::search, stream);
  // What differs from window to window would be amplified by each pass, since a window's mean does
  // not see it; what is found on top of a smooth field is not. And by what is wrong, right windows
  // beside it would be torn apart.
  const stage::SmoothField::Problem fill{
      before.count, 0, false,
      FieldBells::before_pass(static_cast<double>(before.window) / before.spacing,
                              passes_[number].grid.window < before.window)};
  if (Status s = smooth_->launch(fill, device_,
                                 {{nullptr, stream}, believed(), nullptr, deformed_by()}, nullptr);
      !s.ok())
    return s;
  return predict(before, passes_[number], Use::deformed_search, stream);
}

/// Calls launch(first) for one part of a problem's windows after the other, and sets its count.
/// \param row  of a grid; else 0
template <class Problem, class LaunchFrom>
Status FieldPlan::in_launches(Problem& problem, int row, double seconds, LaunchFrom launch) {
  const int all = problem.count;
  const int most =
      device_.backend == Backend::cpu ? all : windows_of_launch(all, std::max(row, 1), seconds);
  for (int first = 0; first < all; first += most) {
    problem.count = std::min(most, all - first);
    if (Status s = launch(first); !s.ok()) return s;
  }
  return {};
}

Status FieldPlan::search(int number, const FieldImage& reference, const FieldImage& frame,
                         Stream stream, FieldPairNumber pair) {
  const Pass& pass = passes_[number];
  const bool deformed = number > 0 && deforms_;
  FieldImage from = reference, to = frame;
  if (deformed) {
    const FieldGrid& by = passes_[number - 1].grid;
    if (Status s = deform(frame_, by, deforms_both_ ? 0.5F : 1.0F, stream); !s.ok()) return s;
    if (deforms_both_)
      if (Status s = deform(reference_, by, -0.5F, stream); !s.ok()) return s;
    from = {reference_.pixels.as<std::uint8_t>(), deform_problem_.pitch};
    to = {frame_.pixels.as<std::uint8_t>(), deform_problem_.pitch};
  }
  stage::WindowSearch::Problem p = pass.problem;
  p.pitch = from.pitch;
  p.frame_pitch = to.pitch;
  p.pairs = pair.pairs;
  p.pair = pair.pair;
  const auto* variant = p.pairs > 1 ? pass.window_search_ensemble : pass.window_search;
  const auto* mask = (deformed ? deformed_mask_ : mask_).as<std::uint8_t>();
  const auto* windows = (number == 0 ? pass.windows : windows_).as<InterrogationWindow>();
  return in_launches(p, p.columns, pass.seconds, [&](std::int64_t first) {
    float* const sums = p.pairs > 1 ? sums_.as<float>() + first * p.shifts() * p.shifts() : nullptr;
    const stage::WindowSearch::Buffers buffers{
        {workspace_.data(), stream}, from.pixels, to.pixels, mask, windows + first,
        measured() + first,          sums,        sums};
    return variant->launch(p, device_, buffers, nullptr);
  });
}

Status FieldPlan::validate(const FieldGrid& grid, Stream stream) {
  const stage::Validate::Buffers buffers{
      {nullptr, stream}, measured(), neighbours_.as<FieldNeighbours>(), validated()};
  if (Status s =
          validate_->launch({grid.count, limits_, explicit_places_}, device_, buffers, nullptr);
      !s.ok() || weight_ == 0)
    return s;
  return smooth(grid, validated(), stream);
}

Status FieldPlan::smooth(const FieldGrid& grid, const FieldVector* from, Stream stream) {
  return smooth_->launch({grid.count, weight_, explicit_places_}, device_,
                         {{nullptr, stream}, from, neighbours_.as<FieldNeighbours>(), smoothed()},
                         nullptr);
}

Status FieldPlan::predict(const FieldGrid& from, const Pass& to, Use use, Stream stream) {
  const FieldVector* vectors = use == Use::deformed_search ? deformed_by() : believed();
  const stage::Predict::Buffers buffers{{nullptr, stream},
                                        vectors,
                                        to.nodes.as<FieldStatus>(),
                                        to.windows.as<InterrogationWindow>(),
                                        neighbours_.as<FieldNeighbours>(),
                                        windows_.as<InterrogationWindow>(),
                                        bends_.as<FieldBend>()};
  return predict_->launch(
      {image_, from, to.grid, settings_.symmetric, explicit_places_, use == Use::bent_fit,
       use == Use::deformed_search, deform_problem_.margin},
      device_, buffers, nullptr);
}

Status FieldPlan::fit(const FieldImage& reference, bool again, Stream stream) {
  stage::Fit::Problem p = fit_problem_;
  p.pitch = reference.pitch;
  p.again = again;
  if (!again) p.order = std::min(p.order, 1);
  return in_launches(p, 0, fit_seconds_ / 2, [&](std::int64_t first) {
    const stage::Fit::Buffers buffers{{workspace_.data(), stream},
                                      reference.pixels,
                                      mask_.as<std::uint8_t>(),
                                      frame_.coefficients.as<float>(),
                                      windows_.as<InterrogationWindow>() + first,
                                      p.order == 2 ? bends_.as<FieldBend>() + first : nullptr,
                                      believed() + first,
                                      measured() + first};
    return fit_->launch(p, device_, buffers, nullptr);
  });
}

}  // namespace xcorr
