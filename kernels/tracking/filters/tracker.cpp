// SPDX-License-Identifier: LGPL-2.1-or-later
#include <xcorr/exceptions.hpp>
#include <xcorr/tracker.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "device/speed.hpp"
#include "match/image.hpp"
#include "tracking/filters/filter_store.hpp"
#include "tracking/filters/initial_box.hpp"
#include "tracking/filters/sample_memory.hpp"
#include "tracking/filters/window_records.hpp"

namespace xcorr {
namespace {

using tracker::Look;
using tracker::View;

/// The side of a window, as a multiple of the square root of the target's area; but it holds the
/// target with a margin.
constexpr double window_share = 4, least_share = 1.25;

/// From this PSR on what is seen is not compared with the first view: most frames are this sure.
constexpr double sure_without = 24;

/// So many targets are looked for or taught at a time. A window takes 0.4 MB on the way.
constexpr std::size_t at_a_time = 64;

/// A target that has a filter, or gets one.
struct Target {
  tracker::InitialBox initial_box;
  int filter;  ///< its number
  tracker::SampleMemory memory;
  double first_response = 1, color_likeness = 1;  ///< as of FilterDetection

  /// \param samples  to remember
  Target(const Box& box, int number, int samples)
      : initial_box{box.width, box.height, 0}, filter(number), memory(samples) {
    initial_box.side = std::max(window_share * std::sqrt(box.width * box.height),
                                least_share * std::max(box.width, box.height));
  }
  tracker::FilterShape shape() const {
    return {initial_box.width / initial_box.side * tracker::grid,
            initial_box.height / initial_box.side * tracker::grid};
  }
};

Status check(const MatrixView& frame, std::span<const TargetBox> targets) {
  if (!frame.data || frame.size.empty()) return {Code::invalid_argument, "the frame has no data"};
  if (frame.type != ElementType::u8)
    return {Code::invalid_argument,
            std::string("a frame of ") + name_of(frame.type) + "; filters look at frames of u8"};
  if (Status s = check_rows(frame, "the frame"); !s.ok()) return s;
  for (const auto& [target, box, angle] : targets)
    if (!tracker::is_sound(box, frame.size) || !std::isfinite(angle))
      return {
          Code::invalid_argument,
          "the box of target " + std::to_string(target) +
              " is outside the frame, larger than it, smaller than a pixel or, as its angle may "
              "be, not finite"};
  return {};
}

/// A target to be taught, as it is at that box.
struct Pupil {
  Target* target;
  Box box;
  double angle;
  bool first;  ///< whether it knows nothing yet
};

/// A target that is looked for around a box.
struct Search {
  const Target* target;
  Box box;
  double angle;
};

}  // namespace

struct __attribute__((visibility("hidden"))) Tracker::Impl {
  Device device;
  TrackerSettings settings;
  FeatureExtractor features;
  FilterStore filters;
  std::map<std::uint64_t, Target> targets;

  std::vector<View> views;
  tracker::WindowRecords records;
  Block response_peaks, likeness;  ///< in memory that host and device reach
  SideStream side;                 ///< histograms, and what hangs on nothing else, run beside

  std::vector<int> free_numbers(std::size_t count) const;
  double turned(double angle) const { return settings.turns ? angle : 0; }
  /// Samples that are a little turned against each other respond to angles alike.
  int samples() const { return settings.turns ? 1 : tracker::samples_kept; }
  int ways() const { return settings.turns ? tracker::with_angles : tracker::sizes; }
  Status provide(std::size_t windows);
  Status show(const MatrixView& frame, std::size_t middles);
  Status ask_first_filters(const SeenWindows& seen);
  Status teach(const MatrixView& frame, std::span<const Pupil> pupils);
  Status ask(int count);
  Status compare(const MatrixView& frame, std::span<const Search> searches,
                 std::span<FilterDetection> filter_detections);
  Status look(const MatrixView& frame, std::span<const Search> searches,
              FilterDetection* filter_detections);
};

Tracker::Tracker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tracker::Tracker(Tracker&&) noexcept = default;
Tracker& Tracker::operator=(Tracker&&) noexcept = default;
Tracker::~Tracker() = default;

Result<Tracker> Tracker::create(const Device& device, const TrackerSettings& settings) try {
  auto impl = std::make_unique<Impl>();
  impl->device = device;
  impl->settings = settings;
  auto features = FeatureExtractor::make(device, settings.turns);
  if (!features.ok()) return features.status();
  impl->features = std::move(features.value());
  auto filters = FilterStore::make(device);
  if (!filters.ok()) return filters.status();
  impl->filters = std::move(filters.value());
  auto side = SideStream::make(device.backend);
  if (!side.ok()) return side.status();
  impl->side = std::move(side.value());
  return Tracker(std::move(impl));
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

/// Numbers of filters that no target has, ascending.
std::vector<int> Tracker::Impl::free_numbers(std::size_t count) const {
  std::set<int> taken;
  for (const auto& [_, target] : targets) taken.insert(target.filter);
  std::vector<int> free;
  for (int number = 0; free.size() < count; ++number)
    if (!taken.contains(number)) free.push_back(number);
  return free;
}

/// Memory for looking at so many windows.
Status Tracker::Impl::provide(std::size_t windows) {
  const Backend backend = device.backend;
  if (Status s = records.provide(backend, windows); !s.ok()) return s;
  if (Status s =
          response_peaks.provide(backend, windows * sizeof(tracker::ResponsePeak), Memory::host);
      !s.ok())
    return s;
  if (Status s = likeness.provide(backend, windows * sizeof(double), Memory::host); !s.ok())
    return s;
  return features.provide(static_cast<int>(windows));
}

/// Brings the views, and what they see of a frame, to the device. \param middles  of these first
/// views all others are
Status Tracker::Impl::show(const MatrixView& frame, std::size_t middles) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    const auto& [look, angle] = views[i];
    records.host.looks[i] =
        settings.turns ? tracker::look_at_image(look, static_cast<int>(i)) : look;
    records.host.croppings[i] = {look, angle};
  }
  if (Status s = records.upload(device.backend); !s.ok()) return s;
  return features.take(frame, std::span(views).first(middles));
}

/// Asks filters as they were kept, beside what is enqueued from now on.
Status Tracker::Impl::ask_first_filters(const SeenWindows& seen) {
  if (Status s = side.fork({}); !s.ok()) return s;
  return filters.ask_kept(seen, response_peaks.as<tracker::ResponsePeak>(), side.stream());
}

Status Tracker::Impl::teach(const MatrixView& frame, std::span<const Pupil> pupils) {
  const std::size_t count = pupils.size();
  if (Status s = records.provide(device.backend, count); !s.ok()) return s;
  views.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [target, box, angle, first] = pupils[i];
    views.push_back(target->initial_box.view_of(box, turned(angle), 0, target->filter));
    records.host.training_samples[i] = target->memory.next(target->filter);
  }
  if (Status s = show(frame, count); !s.ok()) return s;
  const auto& [looks, croppings, training_samples] = records.device;
  const auto windows = static_cast<int>(count);
  auto* const likenesses = likeness.as<double>();
  if (Status s = side.fork({}); !s.ok()) return s;
  if (Status s = filters.teach_colors(features.colors(), looks, croppings, windows, likenesses,
                                      side.stream());
      !s.ok())
    return s;
  const auto seen = features.enqueue(looks, croppings, 0, windows);
  if (!seen.ok()) return seen.status();
  // The first filters are there already, but for targets that are new.
  const bool some_new = std::ranges::any_of(pupils, &Pupil::first);
  if (!some_new)
    if (Status s = ask_first_filters(seen.value()); !s.ok()) return s;
  if (Status s = filters.teach(seen.value(), training_samples); !s.ok()) return s;
  for (const Pupil& pupil : pupils)
    if (pupil.first)
      if (Status s = filters.keep(pupil.target->filter); !s.ok()) return s;
  if (some_new)
    if (Status s = ask_first_filters(seen.value()); !s.ok()) return s;
  if (Status s = side.join({}); !s.ok()) return s;
  if (Status s = runtime(device.backend).wait({}); !s.ok()) return s;
  const auto* const first_responses = response_peaks.as<tracker::ResponsePeak>();
  for (std::size_t i = 0; i < count; ++i) {
    pupils[i].target->first_response = first_responses[i].response;
    pupils[i].target->color_likeness = likenesses[i];
  }
  return {};
}

Status Tracker::train(const MatrixView& frame, std::span<const TargetBox> targets) try {
  if (Status s = check(frame, targets); !s.ok() || targets.empty()) return s;
  const std::vector<int> free = impl_->free_numbers(targets.size());
  std::map<std::uint64_t, Target> added;
  std::vector<Pupil> pupils;
  std::set<std::uint64_t> numbers;
  int most = 0;
  for (const auto& [number, box, angle] : targets) {
    if (!numbers.insert(number).second)
      return {Code::invalid_argument, "target " + std::to_string(number) + " is there twice"};
    auto known = impl_->targets.find(number);
    const bool first = known == impl_->targets.end();
    if (first) known = added.try_emplace(number, box, free[added.size()], impl_->samples()).first;
    pupils.push_back({&known->second, box, angle, first});
    most = std::max(most, known->second.filter);
  }
  // Everything that can fail, but for the device itself, comes before the first filter changes.
  if (Status s = impl_->filters.provide(most + 1); !s.ok()) return s;
  const std::size_t windows = std::min(pupils.size(), at_a_time);
  if (Status s = impl_->provide(windows); !s.ok()) return s;
  if (Status s = impl_->filters.provide_teaching(static_cast<int>(windows)); !s.ok()) return s;
  if (Status s = impl_->filters.provide_asking(static_cast<int>(windows)); !s.ok()) return s;
  for (const auto& [_, target] : added)
    if (Status s = impl_->filters.set(target.filter, target.shape()); !s.ok()) return s;
  for (std::span<const Pupil> rest = pupils; !rest.empty();) {
    const std::size_t count = std::min(rest.size(), at_a_time);
    if (Status s = impl_->teach(frame, rest.first(count)); !s.ok()) return s;
    rest = rest.subspan(count);
  }
  impl_->targets.merge(added);
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

/// Asks the filters of so many targets in all ways, and waits for their responses.
Status Tracker::Impl::ask(int count) {
  Look* const at = records.device.looks;
  tracker::Cropping* const croppings = records.device.croppings;
  auto* const found_peaks = response_peaks.as<tracker::ResponsePeak>();
  const auto ask_for = [&](int first, int windows) {
    const auto seen = features.enqueue(at, croppings, first, windows);
    if (!seen.ok()) return seen.status();
    if (Status s = side.join({}); !s.ok()) return s;
    return filters.ask(seen.value(), found_peaks + first);
  };
  if (device.backend == Backend::cpu) {
    // Where a window costs as much as the launch of all, ways that will not count are left out.
    if (Status s = ask_for(0, count); !s.ok()) return s;
    for (int i = count; i < ways() * count; ++i)
      if (found_peaks[i % count].psr < tracker::min_psr) {
        at[i].side = 0;
        if (settings.turns) croppings[i].samples = 0;
      }
    return ask_for(count, (ways() - 1) * count);
  }
  if (Status s = ask_for(0, ways() * count); !s.ok()) return s;
  return runtime(device.backend).wait({});
}

/// Looks once, for no more targets than at_a_time. \param filter_detections  of the searches
Status Tracker::Impl::look(const MatrixView& frame, std::span<const Search> searches,
                           FilterDetection* filter_detections) {
  const std::size_t count = searches.size();
  if (Status s = records.provide(device.backend, ways() * count); !s.ok()) return s;
  views.clear();
  for (int way = 0; way < ways(); ++way)
    for (const auto& [target, box, angle] : searches)
      views.push_back(target->initial_box.view_of(box, turned(angle), way, target->filter));
  if (Status s = show(frame, count); !s.ok()) return s;
  // In all ways to look the priors are the same: these hardly differ by what colours are where.
  if (Status s = side.fork({}); !s.ok()) return s;
  if (Status s =
          filters.find_colors(features.colors(), records.device.looks, records.device.croppings,
                              static_cast<int>(count), side.stream());
      !s.ok())
    return s;
  if (Status s = ask(static_cast<int>(count)); !s.ok()) return s;
  const auto* const found_peaks = response_peaks.as<tracker::ResponsePeak>();
  for (std::size_t i = 0; i < count; ++i)
    filter_detections[i] = searches[i].target->initial_box.best_of(
        &views[i], found_peaks + i, static_cast<std::ptrdiff_t>(count), ways(), frame.size);
  return {};
}

/// Says what the first views have to do with detections, of no more targets than at_a_time.
Status Tracker::Impl::compare(const MatrixView& frame, std::span<const Search> searches,
                              std::span<FilterDetection> filter_detections) {
  std::vector<FilterDetection*> compared;
  views.clear();
  for (std::size_t i = 0; i < searches.size(); ++i) {
    FilterDetection& detection = filter_detections[i];
    if (detection.psr < tracker::min_psr || detection.psr >= sure_without ||
        !tracker::is_sound(detection.box, frame.size))
      continue;
    const Target& target = *searches[i].target;
    views.push_back(
        target.initial_box.view_of(detection.box, turned(detection.angle), 0, target.filter));
    compared.push_back(&detection);
  }
  if (compared.empty()) return {};
  if (Status s = records.provide(device.backend, compared.size()); !s.ok()) return s;
  if (Status s = show(frame, compared.size()); !s.ok()) return s;
  const auto& [looks, croppings, _] = records.device;
  const auto count = static_cast<int>(compared.size());
  auto* const likenesses = likeness.as<double>();
  if (Status s = side.fork({}); !s.ok()) return s;
  if (Status s = filters.compare_colors(features.colors(), looks, croppings, count, likenesses,
                                        side.stream());
      !s.ok())
    return s;
  const auto seen = features.enqueue(looks, croppings, 0, count);
  if (!seen.ok()) return seen.status();
  auto* const responses = response_peaks.as<tracker::ResponsePeak>();
  if (Status s = filters.ask_kept(seen.value(), responses, {}); !s.ok()) return s;
  if (Status s = side.join({}); !s.ok()) return s;
  if (Status s = runtime(device.backend).wait({}); !s.ok()) return s;
  for (std::size_t i = 0; i < compared.size(); ++i) {
    compared[i]->first_response_here = responses[i].response;
    compared[i]->color_likeness_here = likenesses[i];
  }
  return {};
}

Status Tracker::locate(const MatrixView& frame, std::span<const TargetBox> targets,
                       std::vector<FilterDetection>& filter_detections) const try {
  if (Status s = check(frame, targets); !s.ok()) return s;
  std::vector<Search> searches;
  for (const auto& [number, box, angle] : targets) {
    const auto known = impl_->targets.find(number);
    if (known == impl_->targets.end())
      return {Code::invalid_argument, "target " + std::to_string(number) + " has no filter"};
    searches.push_back({&known->second, box, angle});
  }
  const std::size_t most = impl_->ways() * std::min(targets.size(), at_a_time);
  if (Status s = impl_->provide(most); !s.ok()) return s;
  if (Status s = impl_->filters.provide_asking(static_cast<int>(most)); !s.ok()) return s;
  const auto look = [&](std::span<const Search> asked) -> Result<std::vector<FilterDetection>> {
    std::vector<FilterDetection> found(asked.size());
    for (std::size_t first = 0; first < asked.size(); first += at_a_time) {
      const std::size_t count = std::min(asked.size() - first, at_a_time);
      if (Status s = impl_->look(frame, asked.subspan(first, count), &found[first]); !s.ok())
        return s;
    }
    return found;
  };
  auto found = look(searches);
  if (!found.ok()) return found.status();

  std::vector<std::size_t> again;
  std::vector<Search> once_more;
  for (std::size_t i = 0; i < searches.size(); ++i)
    if (const FilterDetection& filter_detection = found.value()[i];
        tracker::is_worth_another_look(filter_detection, frame.size)) {
      again.push_back(i);
      once_more.push_back({searches[i].target, filter_detection.box, filter_detection.angle});
    }
  const auto second = look(once_more);
  if (!second.ok()) return second.status();
  for (std::size_t i = 0; i < again.size(); ++i)
    if (FilterDetection& first = found.value()[again[i]]; second.value()[i].psr > first.psr)
      first = second.value()[i];
  for (std::size_t i = 0; i < searches.size(); ++i) {
    const Target& target = *searches[i].target;
    found.value()[i].first_response = target.first_response;
    found.value()[i].color_likeness = target.color_likeness;
  }
  for (std::size_t first = 0; first < searches.size(); first += at_a_time) {
    const std::size_t count = std::min(searches.size() - first, at_a_time);
    if (Status s = impl_->compare(frame, std::span(searches).subspan(first, count),
                                  std::span(found.value()).subspan(first, count));
        !s.ok())
      return s;
  }
  filter_detections = std::move(found.value());
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

double Tracker::seconds(std::size_t targets) const {
  constexpr double products = 3e7;  // of f32, for a target
  return static_cast<double>(targets) * products /
         speed_of(impl_->device, ElementType::f32).products;
}

void Tracker::keep_only(std::span<const std::uint64_t> targets) {
  std::erase_if(impl_->targets, [&](const auto& entry) {
    return std::ranges::find(targets, entry.first) == targets.end();
  });
}

}  // namespace xcorr
