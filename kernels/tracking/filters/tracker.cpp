// SPDX-License-Identifier: LGPL-2.1-or-later
#include <xcorr/exceptions.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "device/speed.hpp"
#include "match/image.hpp"
#include "tracking/filters/color_frame.hpp"
#include "tracking/filters/tracker_impl.hpp"

namespace xcorr {

using tracker::at_a_time;
using tracker::Pupil;
using tracker::Search;
using tracker::Target;
using tracker::Ways;

namespace {

Status check(const MatrixView& frame, std::span<const TargetBox> targets) {
  if (!frame.data || frame.size.empty()) return {Code::invalid_argument, "the frame has no data"};
  if (frame.type != ElementType::u8)
    return {Code::invalid_argument,
            std::string("a frame of ") + name_of(frame.type) + "; filters look at frames of u8"};
  if (Status s = check_rows(frame, "the frame"); !s.ok()) return s;
  for (const auto& [target, box, angle, _] : targets)
    if (!tracker::is_sound(box, frame.size) || !std::isfinite(angle))
      return {
          Code::invalid_argument,
          "the box of target " + std::to_string(target) +
              " is outside the frame, larger than it, smaller than a pixel or, as its angle may "
              "be, not finite"};
  return {};
}

}  // namespace

Tracker::Tracker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tracker::Tracker(Tracker&&) noexcept = default;
Tracker& Tracker::operator=(Tracker&&) noexcept = default;
Tracker::~Tracker() = default;

Result<Tracker> Tracker::create(const Device& device, const TrackerSettings& settings) try {
  auto impl = std::make_unique<Impl>();
  impl->device = device;
  impl->settings = settings;
  impl->reader = ViewReader(device, settings.turns);
  for (tracker::AskedWindows* const windows : {&impl->looked, &impl->taught}) {
    auto features = FeatureExtractor::make(device);
    if (!features.ok()) return features.status();
    windows->features = std::move(features.value());
  }
  auto filters = FilterStore::make(device);
  if (!filters.ok()) return filters.status();
  impl->filters = std::move(filters.value());
  for (SideStream* const stream : {&impl->side, &impl->learning}) {
    auto made = SideStream::make(device.backend);
    if (!made.ok()) return made.status();
    *stream = std::move(made.value());
  }
  for (Event* const event : {&impl->frame_read, &impl->colors_learnt, &impl->learnt}) {
    auto made = Event::make(device.backend);
    if (!made.ok()) return made.status();
    *event = std::move(made.value());
  }
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

Status Tracker::train(const MatrixView& frame, std::span<const TargetBox> targets) {
  if (Status s = enqueue_training(frame, targets); !s.ok()) return s;
  return wait();
}

Status Tracker::wait() const { return impl_->frame_read.wait(); }

Status Tracker::enqueue_training(const MatrixView& frame, std::span<const TargetBox> targets) try {
  if (Status s = check(frame, targets); !s.ok() || targets.empty()) return s;
  impl_->reader.show(frame);
  return impl_->train(targets);
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status Tracker::enqueue_training(std::span<const TargetBox> targets) try {
  if (Status s = check(impl_->reader.frame(), targets); !s.ok() || targets.empty()) return s;
  return impl_->train(targets);
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

/// With the frame that is shown.
Status Tracker::Impl::train(std::span<const TargetBox> asked) {
  const std::vector<int> free = free_numbers(asked.size());
  std::map<std::uint64_t, Target> added;
  std::vector<Pupil> taught;
  std::set<std::uint64_t> numbers;
  int most = 0;
  for (const auto& [number, box, angle, _] : asked) {
    if (!numbers.insert(number).second)
      return {Code::invalid_argument, "target " + std::to_string(number) + " is there twice"};
    auto known = targets.find(number);
    const bool first = known == targets.end();
    if (first) known = added.try_emplace(number, box, free[added.size()], settings.turns).first;
    taught.push_back({&known->second, box, angle, first});
    most = std::max(most, known->second.filter);
  }
  if (Status s = end_teaching(); !s.ok()) return s;
  // Everything that can fail, but for the device itself, comes before the first filter changes.
  if (Status s = filters.provide(most + 1); !s.ok()) return s;
  const std::size_t windows = std::min(taught.size(), at_a_time);
  if (Status s = provide_teaching(windows); !s.ok()) return s;
  for (const auto& [_, target] : added)
    if (Status s = filters.set(target.filter, target.shape()); !s.ok()) return s;
  for (std::span<const Pupil> rest = taught; !rest.empty();) {
    const std::size_t count = std::min(rest.size(), at_a_time);
    if (Status s = teach(rest.first(count)); !s.ok()) {
      static_cast<void>(wait_for_all());  // the device may still be reading the frame
      return s;
    }
    rest = rest.subspan(count);
  }
  targets.merge(added);
  return {};
}

Result<std::vector<Search>> Tracker::Impl::searches_of(std::span<const TargetBox> asked) {
  std::vector<Search> searches;
  for (const auto& [number, box, angle, _] : asked) {
    const auto known = targets.find(number);
    if (known == targets.end())
      return Status(Code::invalid_argument, "target " + std::to_string(number) + " has no filter");
    searches.push_back({&known->second, box, angle});
  }
  return searches;
}

Status Tracker::locate(const MatrixView& frame, std::span<const TargetBox> targets,
                       std::vector<FilterDetection>& filter_detections) const {
  if (Status s = enqueue(frame, targets); !s.ok()) return s;
  return collect(filter_detections);
}

Status Tracker::enqueue(const MatrixView& frame, std::span<const TargetBox> targets) const try {
  if (Status s = check(frame, targets); !s.ok()) return s;
  auto searches = impl_->searches_of(targets);
  if (!searches.ok()) return searches.status();
  if (!impl_->searches.empty())  // which nothing has collected
    if (Status s = impl_->wait_for_all(); !s.ok()) return s;
  impl_->reader.show(frame);
  impl_->searches = std::move(searches.value());
  const std::size_t count = std::min(targets.size(), at_a_time);
  if (count == 0) return {};
  const std::size_t most = Ways::first_of(impl_->settings.turns).count * count;
  Status status = impl_->provide(most);
  if (status.ok()) status = impl_->begin_look(std::span(impl_->searches).first(count));
  if (!status.ok()) {
    impl_->searches.clear();
    static_cast<void>(impl_->wait_for_all());  // the device may still be reading the frame
  }
  return status;
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

/// Looks once. \param begun  whether that has begun
Result<std::vector<FilterDetection>> Tracker::Impl::look(std::span<const Search> asked,
                                                         bool begun) {
  std::vector<FilterDetection> found(asked.size());
  for (std::size_t first = 0; first < asked.size(); first += at_a_time) {
    const auto some = asked.subspan(first, std::min(asked.size() - first, at_a_time));
    if (!std::exchange(begun, false))
      if (Status s = begin_look(some); !s.ok()) return s;
    if (Status s = end_look(some, &found[first]); !s.ok()) return s;
  }
  return found;
}

Status Tracker::collect(std::vector<FilterDetection>& filter_detections) const try {
  const Size frame = impl_->reader.frame().size;
  const std::vector<Search> searches = std::exchange(impl_->searches, {});
  auto found = impl_->look(searches, true);
  if (!found.ok()) return found.status();

  std::vector<std::size_t> again;
  std::vector<Search> once_more;
  for (std::size_t i = 0; i < searches.size(); ++i)
    if (const FilterDetection& filter_detection = found.value()[i];
        searches[i].target->initial_box.is_worth_another_look(filter_detection, searches[i].box,
                                                              frame)) {
      again.push_back(i);
      once_more.push_back({searches[i].target, filter_detection.box, filter_detection.angle});
    }
  const auto second = impl_->look(once_more, false);
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
    if (Status s = impl_->compare(std::span(searches).subspan(first, count),
                                  std::span(found.value()).subspan(first, count));
        !s.ok())
      return s;
  }
  filter_detections = std::move(found.value());
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status Tracker::seek_colors(const MatrixView& frame, std::span<const TargetBox> targets,
                            std::uint64_t turn, std::vector<TargetBox>& places) const try {
  if (Status s = check(frame, targets); !s.ok()) return s;
  auto searches = impl_->searches_of(targets);
  if (!searches.ok()) return searches.status();
  places.clear();
  if (tracker::ColorFrame(frame).layout().colors == tracker::Colors::none) return {};
  impl_->reader.show(frame);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    auto found = impl_->seek_colors(searches.value()[i], turn);
    if (!found.ok()) return found.status();
    for (const Box& box : found.value())
      places.push_back({targets[i].target, box, targets[i].angle, true});
  }
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

double Tracker::seconds(std::size_t targets) const {
  constexpr double products = 6e7;  // of f32, for a target
  return static_cast<double>(targets) * products /
         speed_of(impl_->device, ElementType::f32).products;
}

int Tracker::most_targets(const Budget& budget) const {
  double most = std::numeric_limits<int>::max();
  if (budget.max_work > 0) most = std::min(most, budget.max_work / seconds(1));
  if (budget.max_memory > 0)
    most = std::min(most, static_cast<double>(budget.max_memory) / FilterStore::bytes_of_one());
  return static_cast<int>(most);
}

void Tracker::keep_only(std::span<const std::uint64_t> targets) {
  std::erase_if(impl_->targets, [&](const auto& entry) {
    const auto& [number, target] = entry;
    const bool goes = std::ranges::find(targets, number) == targets.end();
    const auto is_it = [&](const Target* pupil) { return pupil == &target; };
    if (goes) std::ranges::replace_if(impl_->pupils, is_it, nullptr);
    return goes;
  });
}

}  // namespace xcorr
