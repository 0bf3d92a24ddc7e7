// SPDX-License-Identifier: LGPL-2.1-or-later
#include <xcorr/exceptions.hpp>
#include <xcorr/tracker.hpp>

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "device/runtime.hpp"
#include "match/image.hpp"
#include "match/tracker/channels.hpp"
#include "match/tracker/filter.hpp"
#include "match/tracker/window.hpp"

namespace xcorr {
namespace {

/// The side of a window, as a multiple of the square root of the target's area; but it holds the
/// target with a margin.
constexpr double window_share = 4, least_share = 1.25;

/// From one size to the next, and what a size that differs has to be better by.
constexpr double size_step = 1.02, price_of_size = 0.99;

/// A sharpness below which other sizes need not be tried, and one below which a sight may be of a
/// target that is faded out by the window's edge: the window is moved there, and looked at again.
constexpr double dull = 7, sharp = 19;

struct Target {
  double width, height;  ///< of the box that it was shown by
  double side;           ///< of the window then
  std::unique_ptr<tracker::Filter> filter;

  explicit Target(const Box& box)
      : width(box.width),
        height(box.height),
        side(std::max(window_share * std::sqrt(width * height),
                      least_share * std::max(width, height))),
        filter(tracker::make_filter(width / side * tracker::grid, height / side * tracker::grid)) {}

  double scale_of(const Box& box) const {
    return std::sqrt(box.width * box.height / (width * height));
  }
};

bool is_sound(const Box& box, Size frame) {
  const bool finite = std::isfinite(box.x) && std::isfinite(box.y) && std::isfinite(box.width) &&
                      std::isfinite(box.height);
  return finite && box.width >= 1 && box.height >= 1 &&
         (box.width <= frame.width || box.height <= frame.height) && box.x < frame.width &&
         box.y < frame.height && box.x + box.width > 0 && box.y + box.height > 0;
}

Status check(const MatrixView& frame, std::span<const TargetBox> targets) {
  if (!frame.data || frame.size.empty()) return {Code::invalid_argument, "the frame has no data"};
  if (frame.type != ElementType::u8)
    return {Code::invalid_argument,
            std::string("a frame of ") + name_of(frame.type) + "; filters look at frames of u8"};
  if (Status s = check_rows(frame, "the frame"); !s.ok()) return s;
  for (const auto& [target, box] : targets)
    if (!is_sound(box, frame.size))
      return {Code::invalid_argument,
              "the box of target " + std::to_string(target) +
                  " is outside the frame, larger than it, smaller than a pixel or not finite"};
  return {};
}

/// Of all indexes at once; the first error, if any.
Status for_each(std::size_t count, const std::function<Status(std::size_t)>& body) {
  std::vector<Status> results(count);
  tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) { results[i] = body(i); });
  for (Status& result : results)
    if (!result.ok()) return std::move(result);
  return {};
}

}  // namespace

struct __attribute__((visibility("hidden"))) Tracker::Impl {
  const Runtime* runtime;
  std::map<std::uint64_t, Target> targets;

  Result<std::vector<float>> channels_of(const MatrixView& frame, const Square& part) const {
    const auto window = window_of(frame, *runtime, part, tracker::window_size);
    if (!window.ok()) return window.status();
    return tracker::channels_of(window.value());
  }

  Result<Sight> look(const MatrixView& frame, const Target& target, const Box& box) const;
  Result<Sight> look_at_size(const MatrixView& frame, const Target& target, const Box& box,
                             double scale) const;
};

Tracker::Tracker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tracker::Tracker(Tracker&&) noexcept = default;
Tracker& Tracker::operator=(Tracker&&) noexcept = default;
Tracker::~Tracker() = default;

Result<Tracker> Tracker::create(const Device& device) try {
  auto impl = std::make_unique<Impl>();
  impl->runtime = &runtime(device.backend);
  return Tracker(std::move(impl));
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status Tracker::train(const MatrixView& frame, std::span<const TargetBox> targets) try {
  if (Status s = check(frame, targets); !s.ok()) return s;
  // Everything that can fail comes before the first filter changes.
  std::vector<std::vector<float>> channels(targets.size());
  std::map<std::uint64_t, Target> added;
  std::vector<Target*> taught;
  for (const auto& [number, box] : targets) {
    const auto known = impl_->targets.find(number);
    taught.push_back(known != impl_->targets.end() ? &known->second
                                                   : &added.try_emplace(number, box).first->second);
  }
  if (Status s = for_each(targets.size(),
                          [&](std::size_t i) -> Status {
                            const Box& box = targets[i].box;
                            auto seen = impl_->channels_of(
                                frame, {box.x + box.width / 2, box.y + box.height / 2,
                                        taught[i]->side * taught[i]->scale_of(box)});
                            if (!seen.ok()) return seen.status();
                            channels[i] = std::move(seen.value());
                            return {};
                          });
      !s.ok())
    return s;
  tbb::parallel_for(std::size_t{0}, targets.size(),
                    [&](std::size_t i) { taught[i]->filter->train(channels[i]); });
  impl_->targets.merge(added);
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Result<Sight> Tracker::Impl::look_at_size(const MatrixView& frame, const Target& target,
                                          const Box& box, double scale) const {
  const double side = target.side * scale;
  const Square part{box.x + box.width / 2, box.y + box.height / 2, side};
  const auto channels = channels_of(frame, part);
  if (!channels.ok()) return channels.status();
  const tracker::Answer answer = target.filter->locate(channels.value());
  const double width = target.width * scale, height = target.height * scale;
  const double pixels = side / tracker::grid;
  return Sight{{part.x + answer.x * pixels - width / 2, part.y + answer.y * pixels - height / 2,
                width, height},
               answer.response,
               answer.sharpness};
}

Result<Sight> Tracker::Impl::look(const MatrixView& frame, const Target& target,
                                  const Box& box) const {
  const double scale = target.scale_of(box);
  auto best = look_at_size(frame, target, box, scale);
  if (!best.ok() || best.value().sharpness < dull) return best;
  for (double step : {1 / size_step, size_step}) {
    auto other = look_at_size(frame, target, box, scale * step);
    if (!other.ok()) return other;
    if (other.value().response * price_of_size > best.value().response &&
        is_sound(other.value().box, frame.size))
      best = std::move(other);
  }
  return best;
}

Status Tracker::locate(const MatrixView& frame, std::span<const TargetBox> targets,
                       std::vector<Sight>& sights) const try {
  if (Status s = check(frame, targets); !s.ok()) return s;
  for (const TargetBox& target : targets)
    if (!impl_->targets.contains(target.target))
      return {Code::invalid_argument, "target " + std::to_string(target.target) + " has no filter"};
  std::vector<Sight> found(targets.size());
  if (Status s = for_each(targets.size(),
                          [&](std::size_t i) -> Status {
                            const Target& target = impl_->targets.at(targets[i].target);
                            auto sight = impl_->look(frame, target, targets[i].box);
                            if (!sight.ok()) return sight.status();
                            found[i] = sight.value();
                            if (found[i].sharpness >= sharp || !is_sound(found[i].box, frame.size))
                              return {};
                            sight = impl_->look(frame, target, found[i].box);
                            if (!sight.ok()) return sight.status();
                            if (sight.value().sharpness > found[i].sharpness)
                              found[i] = sight.value();
                            return {};
                          });
      !s.ok())
    return s;
  sights = std::move(found);
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

void Tracker::keep_only(std::span<const std::uint64_t> targets) {
  std::erase_if(impl_->targets, [&](const auto& entry) {
    return std::ranges::find(targets, entry.first) == targets.end();
  });
}

}  // namespace xcorr
