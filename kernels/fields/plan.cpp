// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fields/plan.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <string_view>

#include "device/speed.hpp"
#include "fields/neighbours.hpp"
#include "match/frame_reader.hpp"
#include "select/select.hpp"

namespace xcorr {
namespace {

/// How many pixels of a window count.
class CountedPixels {
 public:
  CountedPixels(Size image, const std::vector<std::uint8_t>& mask) : pitch_(image.width + 1) {
    if (mask.empty()) return;
    above_.resize(pitch_ * (image.height + 1));
    for (int y = 0; y < image.height; ++y)
      for (int x = 0; x < image.width; ++x)
        above_[(y + 1) * pitch_ + x + 1] = above_[(y + 1) * pitch_ + x] +
                                           above_[y * pitch_ + x + 1] - above_[y * pitch_ + x] +
                                           (mask[std::size_t(y) * image.width + x] != 0);
  }

  /// masked, or ok.
  FieldStatus status_of(const InterrogationWindow& window, int size, double min_counted) const {
    if (above_.empty()) return FieldStatus::ok;
    const std::size_t x = window.x, y = window.y, right = x + size, bottom = y + size;
    const std::uint32_t counted = above_[bottom * pitch_ + right] - above_[bottom * pitch_ + x] -
                                  above_[y * pitch_ + right] + above_[y * pitch_ + x];
    return counted == 0 || counted < min_counted * size * size ? FieldStatus::masked
                                                               : FieldStatus::ok;
  }

 private:
  std::size_t pitch_;
  std::vector<std::uint32_t> above_;  ///< of all pixels above and to the left
};

/// The windows of a grid, of which nothing is expected.
std::vector<InterrogationWindow> windows_of(const FieldGrid& grid) {
  std::vector<InterrogationWindow> windows;
  for (int row = 0; row < grid.count.height; ++row)
    for (int column = 0; column < grid.count.width; ++column)
      windows.push_back({grid.left + column * grid.spacing, grid.top + row * grid.spacing});
  return windows;
}

/// Those at places, as far as they are inside the image.
std::vector<InterrogationWindow> windows_at(std::span<const FieldPlace> places, int size,
                                            Size image) {
  std::vector<InterrogationWindow> windows;
  for (const FieldPlace& place : places)
    windows.push_back({std::clamp(field_corner(place.x, size), 0, image.width - size),
                       std::clamp(field_corner(place.y, size), 0, image.height - size)});
  return windows;
}

/// A mask with a margin, in which nothing counts.
std::vector<std::uint8_t> surrounded(const std::vector<std::uint8_t>& mask, Size image,
                                     int margin) {
  const std::ptrdiff_t pitch = image.width + 2 * margin;
  std::vector<std::uint8_t> to(static_cast<std::size_t>(pitch * (image.height + 2 * margin)));
  for (int y = 0; y < image.height; ++y)
    std::copy_n(mask.begin() + std::ptrdiff_t{y} * image.width, image.width,
                to.begin() + (y + margin) * pitch + margin);
  return to;
}

}  // namespace

FieldGrid field_grid(Size image, int window, int spacing) {
  const int across = image.width - window, down = image.height - window;
  return {{across / spacing + 1, down / spacing + 1},
          across % spacing / 2,
          down % spacing / 2,
          spacing,
          window};
}

int field_corner(float center, int window) {
  return SearchedPlaces::whole(center - 0.5F * static_cast<float>(window - 1));
}

Result<FieldPlan> FieldPlan::make(const Device& device, Size image, const FieldSettings& settings,
                                  const std::vector<std::uint8_t>& mask,
                                  std::span<const FieldPlace> places, Stream stream) {
  FieldPlan plan;
  plan.device_ = device;
  plan.runtime_ = &runtime(device.backend);
  plan.image_ = image;
  plan.settings_ = settings;
  plan.masked_ = !mask.empty();
  plan.explicit_places_ = !places.empty();
  plan.fits_ = settings.subpixel == FieldSubpixel::least_squares;
  plan.deforms_ = settings.deformation && settings.windows.size() > 1;
  plan.deforms_both_ = plan.deforms_ && settings.symmetric;
  plan.limits_ = {static_cast<float>(settings.median_limit),
                  static_cast<float>(settings.median_noise), static_cast<float>(settings.min_score),
                  static_cast<float>(settings.min_ratio)};
  if (settings.smoothing > 0) {
    const double steps = 1 / settings.smoothing;
    plan.weight_ = static_cast<float>(std::exp(-0.5 * steps * steps));
  }
  const int margin = settings.later_range;
  plan.deform_problem_ = {image,
                          margin,
                          padded_pitch((image.width + 2 * margin) * plan.pixel_bytes()),
                          settings.spline_degree,
                          {},
                          1,
                          settings.type};
  const CountedPixels counted(image, mask);
  const int last = settings.windows.back();
  for (const int window : settings.windows) {
    const auto spacing = static_cast<std::int64_t>(settings.spacing) * window / last;
    const FieldGrid grid =
        plan.explicit_places_
            ? FieldGrid{{static_cast<int>(places.size()), 1}, 0, 0, 1, window}
            : field_grid(image, window, static_cast<int>(std::min<std::int64_t>(spacing, 1 << 20)));
    std::vector<InterrogationWindow> windows =
        plan.explicit_places_ ? windows_at(places, window, image) : windows_of(grid);
    for (InterrogationWindow& w : windows)
      w.status = counted.status_of(w, window, settings.min_counted);
    if (Status s = plan.add_pass(window, windows, grid, stream); !s.ok()) return s;
  }
  if (plan.explicit_places_) {
    const auto neighbours = neighbours_between(windows_at(places, last, image));
    if (!neighbours.ok()) return neighbours.status();
    if (Status s = plan.upload(plan.neighbours_, neighbours.value(), stream); !s.ok()) return s;
  }
  if (plan.masked_)
    if (Status s = plan.upload(plan.mask_, mask, stream); !s.ok()) return s;
  if (plan.masked_ && plan.deforms_)
    if (Status s = plan.upload(plan.deformed_mask_, surrounded(mask, image, margin), stream);
        !s.ok())
      return s;
  if (Status s = plan.choose_stages(); !s.ok()) return s;
  for (Pass& pass : plan.passes_) plan.seconds_ += pass.seconds = plan.seconds_of(pass);
  plan.seconds_ += plan.fit_seconds_ = plan.seconds_of_fit();
  if (Status s =
          check_work(plan.seconds_, settings.budget,
                     "the field of " + std::to_string(plan.grid().count.area()) + " windows of " +
                         std::to_string(last) + "x" + std::to_string(last) + " pixels");
      !s.ok())
    return s;
  if (Status s = plan.allocate(); !s.ok()) return s;
  return plan;
}

Status FieldPlan::add_pass(int window, const std::vector<InterrogationWindow>& windows,
                           const FieldGrid& grid, Stream stream) {
  Pass pass;
  pass.grid = grid;
  const bool first = passes_.empty(), final = passes_.size() + 1 == settings_.windows.size();
  stage::WindowSearch::Problem& p = pass.problem;
  p.frame = first || !deforms_ ? image_ : deform_problem_.deformed_size();
  p.window = window;
  p.range = first ? settings_.search_range : settings_.later_range;
  // Least squares begin at a Gauss curve's place.
  const bool curve = !final || fits_;
  p.subpixel = curve ? FieldSubpixel::gauss : settings_.subpixel;
  // Deformed images show the middle of the way at its place.
  p.symmetric = settings_.symmetric && (first || !deforms_);
  p.masked = masked_;
  p.count = static_cast<int>(grid.count.area());
  p.type = settings_.type;
  // The first pass expects nothing, later ones only what images were deformed by.
  if (!explicit_places_ && (first || deforms_)) {
    p.spacing = grid.spacing;
    p.columns = grid.count.width;
  }
  const auto window_search = select_variant<stage::WindowSearch>(p, device_);
  if (!window_search.ok()) return window_search.status();
  pass.window_search = window_search.value();
  if (first || explicit_places_)
    if (Status s = upload(pass.windows, windows, stream); !s.ok()) return s;
  if (!explicit_places_) {
    std::vector<FieldStatus> nodes;
    for (const InterrogationWindow& w : windows) nodes.push_back(w.status);
    if (Status s = upload(pass.nodes, nodes, stream); !s.ok()) return s;
  }
  passes_.push_back(std::move(pass));
  return {};
}

double FieldPlan::seconds_of(const Pass& pass) const {
  const auto square = [](double side) { return side * side; };
  const auto count = static_cast<double>(pass.grid.count.area());
  const std::string_view name = pass.window_search->name;
  // Windows that overlap share the sums of blocks, which are added up along both axes.
  const double pixels = name.starts_with("window_search_blocks")
                            ? static_cast<double>(image_.area()) +
                                  2 * count * pass.problem.window / pass.problem.spacing
                            : count * square(pass.problem.window);
  const double products = pixels * square(pass.problem.shifts());
  return name == "window_search_tensor_u16"
             ? byte_products * products / speed_of(device_, ElementType::u8).products
             : products / speed_of(device_, settings_.type).products;
}

/// Of both fits.
double FieldPlan::seconds_of_fit() const {
  if (!fits_) return 0;
  // Products for a pixel of a window: the spline's, in some rounds. A GPU's launches are cut by
  // it, for which rather too many are counted.
  const double of_pixel = device_.backend == Backend::cpu ? 400 : 1000;
  const double window = settings_.windows.back();
  return of_pixel * static_cast<double>(grid().count.area()) * window * window /
         speed_of(device_, ElementType::f32).products;
}

int windows_of_launch(int windows, int row, double seconds) {
  constexpr double longest = 0.02;
  const int rows = (windows + row - 1) / row;
  return row * std::max(1, static_cast<int>(rows / std::max(1.0, seconds / longest)));
}

template <class Record>
Status FieldPlan::upload(Block& block, const std::vector<Record>& from, Stream stream) {
  const std::size_t bytes = from.size() * sizeof(Record);
  if (Status s = block.provide(device_.backend, bytes); !s.ok()) return s;
  if (Status s = runtime_->copy(bytes_copy(block.data(), from.data(), bytes), Memory::host,
                                Memory::device, stream);
      !s.ok())
    return s;
  return runtime_->wait(stream);
}

Status FieldPlan::choose_stages() {
  const auto choose = [&]<class Stage>(const Variant<Stage>*& to,
                                       const typename Stage::Problem& problem, bool needed) {
    if (!needed) return Status();
    const auto selected = select_variant<Stage>(problem, device_);
    if (selected.ok()) to = selected.value();
    return selected.status();
  };
  spline_problem_ = {image_, 0, settings_.spline_degree, settings_.type};
  deform_problem_.grid = grid();
  // Passes with deformation follow bends within a window, so fits after them do as well.
  fit_problem_ = {image_,
                  0,
                  settings_.windows.back(),
                  deforms_ && settings_.order == 1 ? 2 : settings_.order,
                  settings_.spline_degree,
                  static_cast<float>(settings_.weight_sigma),
                  settings_.symmetric,
                  masked_,
                  false,
                  limits_,
                  static_cast<int>(grid().count.area()),
                  settings_.type};
  if (Status s = choose(validate_, {}, true); !s.ok()) return s;
  if (Status s = choose(smooth_, {}, weight_ > 0 || deforms_); !s.ok()) return s;
  if (Status s = choose(predict_, {}, true); !s.ok()) return s;
  if (Status s = choose(spline_, spline_problem_, fits_ || deforms_); !s.ok()) return s;
  if (Status s = choose(deform_, deform_problem_, deforms_); !s.ok()) return s;
  return choose(fit_, fit_problem_, fits_);
}

Status FieldPlan::allocate() {
  std::int64_t most = 0;
  std::size_t workspace = 0;
  for (const Pass& pass : passes_) {
    most = std::max(most, pass.grid.count.area());
    workspace = std::max(workspace, pass.window_search->workspace_bytes(pass.problem, device_));
  }
  if (spline_) workspace = std::max(workspace, spline_->workspace_bytes(spline_problem_, device_));
  if (fit_) workspace = std::max(workspace, fit_->workspace_bytes(fit_problem_, device_));
  const std::size_t vectors = static_cast<std::size_t>(most) * sizeof(FieldVector);
  const std::size_t coefficients = static_cast<std::size_t>(image_.area()) * sizeof(float);
  const auto pixels =
      static_cast<std::size_t>(deform_problem_.pitch * deform_problem_.deformed_size().height);
  const std::size_t bends = fits_ && fit_problem_.order == 2
                                ? static_cast<std::size_t>(grid().count.area()) * sizeof(FieldBend)
                                : 0;
  struct Request {
    Block* block;
    std::size_t bytes;
    Memory memory = Memory::device;
  };
  for (const Request& r :
       {Request{&windows_, static_cast<std::size_t>(most) * sizeof(InterrogationWindow)},
        Request{&measured_, vectors}, Request{&validated_, vectors},
        Request{&smoothed_, weight_ > 0 ? vectors : 0},
        Request{&deformed_by_, deforms_ ? vectors : 0}, Request{&bends_, bends},
        Request{&frame_.coefficients, spline_ ? coefficients : 0},
        Request{&frame_.pixels, deforms_ ? pixels : 0},
        Request{&reference_.coefficients, deforms_both_ ? coefficients : 0},
        Request{&reference_.pixels, deforms_ ? pixels : 0}, Request{&workspace_, workspace},
        Request{&results_, vectors, Memory::host}})
    if (Status s = r.block->provide(device_.backend, r.bytes, r.memory); !s.ok()) return s;
  return {};
}

}  // namespace xcorr
