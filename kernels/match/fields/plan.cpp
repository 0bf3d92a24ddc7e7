// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/fields/plan.hpp"

#include <algorithm>
#include <initializer_list>

#include "select/select.hpp"

namespace xcorr {
namespace {

/// Which windows have enough pixels that count.
std::vector<FieldStatus> nodes_of(const FieldGrid& grid, Size picture, double min_counted,
                                  const std::vector<std::uint8_t>& mask) {
  std::vector<FieldStatus> nodes(static_cast<std::size_t>(grid.count.area()), FieldStatus::ok);
  if (mask.empty()) return nodes;
  // Counts of all pixels above and to the left.
  const std::size_t pitch = picture.width + 1;
  std::vector<std::uint32_t> above(pitch * (picture.height + 1));
  for (int y = 0; y < picture.height; ++y)
    for (int x = 0; x < picture.width; ++x)
      above[(y + 1) * pitch + x + 1] = above[(y + 1) * pitch + x] + above[y * pitch + x + 1] -
                                       above[y * pitch + x] +
                                       (mask[std::size_t(y) * picture.width + x] != 0);
  const double least = min_counted * grid.window * grid.window;
  for (int row = 0; row < grid.count.height; ++row)
    for (int column = 0; column < grid.count.width; ++column) {
      const std::size_t x = grid.left + column * grid.spacing, y = grid.top + row * grid.spacing;
      const std::size_t right = x + grid.window, bottom = y + grid.window;
      const std::uint32_t counted = above[bottom * pitch + right] - above[bottom * pitch + x] -
                                    above[y * pitch + right] + above[y * pitch + x];
      if (counted == 0 || counted < least)
        nodes[std::size_t(row) * grid.count.width + column] = FieldStatus::masked;
    }
  return nodes;
}

/// The windows of the first pass, of which nothing is expected.
std::vector<FieldWindow> first_windows(const FieldGrid& grid,
                                       const std::vector<FieldStatus>& nodes) {
  std::vector<FieldWindow> windows;
  for (int row = 0; row < grid.count.height; ++row)
    for (int column = 0; column < grid.count.width; ++column) {
      FieldWindow window{grid.left + column * grid.spacing, grid.top + row * grid.spacing};
      window.status = nodes[windows.size()];
      windows.push_back(window);
    }
  return windows;
}

}  // namespace

FieldGrid field_grid(Size picture, int window, int spacing) {
  const int across = picture.width - window, down = picture.height - window;
  return {{across / spacing + 1, down / spacing + 1},
          across % spacing / 2,
          down % spacing / 2,
          spacing,
          window};
}

// ---- making ---------------------------------------------------------------------------------

Result<FieldPlan> FieldPlan::make(const Device& device, Size picture, const FieldSettings& settings,
                                  const std::vector<std::uint8_t>& mask, Stream stream) {
  FieldPlan plan;
  plan.device_ = device;
  plan.runtime_ = &runtime(device.backend);
  plan.picture_ = picture;
  plan.settings_ = settings;
  plan.masked_ = !mask.empty();
  plan.limits_ = {static_cast<float>(settings.median_limit),
                  static_cast<float>(settings.median_noise), static_cast<float>(settings.min_score),
                  static_cast<float>(settings.min_ratio)};
  const int last = settings.windows.back();
  for (const int window : settings.windows) {
    Pass pass;
    const bool first = plan.passes_.empty(),
               final = plan.passes_.size() + 1 == settings.windows.size();
    const auto spacing = static_cast<std::int64_t>(settings.spacing) * window / last;
    pass.grid =
        field_grid(picture, window, static_cast<int>(std::min<std::int64_t>(spacing, 1 << 20)));
    stage::Displace::Problem& p = pass.problem;
    p.frame = picture;
    p.window = window;
    p.range = first ? settings.search_range : settings.later_range;
    // Least squares begin at a Gauss curve's place.
    const bool curve = !final || settings.subpixel == FieldSubpixel::least_squares;
    p.subpixel = curve ? FieldSubpixel::gauss : settings.subpixel;
    p.symmetric = settings.symmetric;
    p.masked = plan.masked_;
    p.count = static_cast<int>(pass.grid.count.area());
    const auto displace = select_variant<stage::Displace>(p, device);
    if (!displace.ok()) return displace.status();
    pass.displace = displace.value();
    const std::vector<FieldStatus> nodes = nodes_of(pass.grid, picture, settings.min_counted, mask);
    if (Status s = plan.upload(pass.nodes, nodes.data(), nodes.size() * sizeof nodes[0], stream);
        !s.ok())
      return s;
    if (first) {
      const std::vector<FieldWindow> windows = first_windows(pass.grid, nodes);
      if (Status s = plan.upload(plan.first_windows_, windows.data(),
                                 windows.size() * sizeof windows[0], stream);
          !s.ok())
        return s;
    }
    plan.passes_.push_back(std::move(pass));
  }
  if (plan.masked_)
    if (Status s = plan.upload(plan.mask_, mask.data(), mask.size(), stream); !s.ok()) return s;
  if (Status s = plan.allocate(); !s.ok()) return s;
  return plan;
}

Status FieldPlan::upload(Block& block, const void* from, std::size_t bytes, Stream stream) {
  if (Status s = block.provide(device_.backend, bytes); !s.ok()) return s;
  if (Status s = runtime_->copy(bytes_copy(block.data(), from, bytes), Memory::host, Memory::device,
                                stream);
      !s.ok())
    return s;
  return runtime_->wait(stream);
}

Status FieldPlan::allocate() {
  const auto validate = select_variant<stage::Validate>({}, device_);
  if (!validate.ok()) return validate.status();
  validate_ = validate.value();
  const auto predict = select_variant<stage::Predict>({}, device_);
  if (!predict.ok()) return predict.status();
  predict_ = predict.value();
  std::int64_t most = 0;
  std::size_t workspace = 0;
  for (const Pass& pass : passes_) {
    most = std::max(most, pass.grid.count.area());
    workspace = std::max(workspace, pass.displace->workspace_bytes(pass.problem, device_));
  }
  std::size_t coefficients = 0;
  if (settings_.subpixel == FieldSubpixel::least_squares) {
    spline_problem_ = {picture_, 0, settings_.spline_degree};
    fit_problem_ = {picture_,
                    0,
                    settings_.windows.back(),
                    settings_.order,
                    settings_.spline_degree,
                    static_cast<float>(settings_.weight_sigma),
                    settings_.symmetric,
                    masked_,
                    false,
                    limits_,
                    static_cast<int>(grid().count.area())};
    const auto spline = select_variant<stage::Spline>(spline_problem_, device_);
    if (!spline.ok()) return spline.status();
    spline_ = spline.value();
    const auto fit = select_variant<stage::Fit>(fit_problem_, device_);
    if (!fit.ok()) return fit.status();
    fit_ = fit.value();
    coefficients = static_cast<std::size_t>(picture_.area()) * sizeof(float);
    workspace = std::max({workspace, spline_->workspace_bytes(spline_problem_, device_),
                          fit_->workspace_bytes(fit_problem_, device_)});
  }
  const std::size_t vectors = static_cast<std::size_t>(most) * sizeof(FieldVector);
  struct Request {
    Block* block;
    std::size_t bytes;
    Memory memory = Memory::device;
  };
  for (const Request& r : {Request{&windows_, static_cast<std::size_t>(most) * sizeof(FieldWindow)},
                           Request{&measured_, vectors}, Request{&validated_, vectors},
                           Request{&coefficients_, coefficients}, Request{&workspace_, workspace},
                           Request{&results_, vectors, Memory::host}})
    if (Status s = r.block->provide(device_.backend, r.bytes, r.memory); !s.ok()) return s;
  return {};
}

// ---- a field --------------------------------------------------------------------------------

Status FieldPlan::enqueue(const FieldPicture& reference, const FieldPicture& frame, Stream stream) {
  const bool fits = fit_ != nullptr;
  if (fits) {
    stage::Spline::Problem p = spline_problem_;
    p.pitch = frame.pitch;
    if (Status s = spline_->launch(
            p, device_, {{workspace_.data(), stream}, frame.pixels, coefficients_.as<float>()},
            nullptr);
        !s.ok())
      return s;
  }
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    if (i > 0)
      if (Status s = predict(passes_[i - 1].grid, passes_[i], stream); !s.ok()) return s;
    if (Status s = search(passes_[i], reference, frame, stream); !s.ok()) return s;
    if (Status s = validate(passes_[i].grid, stream); !s.ok()) return s;
  }
  if (fits) {
    for (const bool again : {false, true}) {
      if (Status s = predict(grid(), passes_.back(), stream); !s.ok()) return s;
      if (Status s = fit(reference, again, stream); !s.ok()) return s;
      if (!again)
        if (Status s = validate(grid(), stream); !s.ok()) return s;
    }
  }
  const FieldVector* results = fits ? measured() : validated();
  return runtime_->copy(
      bytes_copy(results_.data(), results,
                 static_cast<std::size_t>(grid().count.area()) * sizeof(FieldVector)),
      Memory::device, Memory::host, stream);
}

Status FieldPlan::search(const Pass& pass, const FieldPicture& reference, const FieldPicture& frame,
                         Stream stream) {
  stage::Displace::Problem p = pass.problem;
  p.pitch = reference.pitch;
  p.frame_pitch = frame.pitch;
  const Block& windows = &pass == passes_.data() ? first_windows_ : windows_;
  const stage::Displace::Buffers buffers{
      {workspace_.data(), stream}, reference.pixels,          frame.pixels,
      mask_.as<std::uint8_t>(),    windows.as<FieldWindow>(), measured()};
  return pass.displace->launch(p, device_, buffers, nullptr);
}

Status FieldPlan::validate(const FieldGrid& grid, Stream stream) {
  return validate_->launch({grid.count, limits_}, device_,
                           {{nullptr, stream}, measured(), validated()}, nullptr);
}

Status FieldPlan::predict(const FieldGrid& from, const Pass& to, Stream stream) {
  const stage::Predict::Buffers buffers{
      {nullptr, stream}, validated(), to.nodes.as<FieldStatus>(), windows_.as<FieldWindow>()};
  return predict_->launch({picture_, from, to.grid, settings_.symmetric}, device_, buffers,
                          nullptr);
}

Status FieldPlan::fit(const FieldPicture& reference, bool again, Stream stream) {
  stage::Fit::Problem p = fit_problem_;
  p.pitch = reference.pitch;
  p.again = again;
  const stage::Fit::Buffers buffers{{workspace_.data(), stream},
                                    reference.pixels,
                                    mask_.as<std::uint8_t>(),
                                    coefficients_.as<float>(),
                                    windows_.as<FieldWindow>(),
                                    validated(),
                                    measured()};
  return fit_->launch(p, device_, buffers, nullptr);
}

}  // namespace xcorr
