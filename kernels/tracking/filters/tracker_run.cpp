// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a Tracker looks at frames: what it enqueues, on its stream and beside it.
#include <utility>

#include "tracking/filters/tracker_impl.hpp"

namespace xcorr {

using tracker::AskedWindows;
using tracker::Pupil;
using tracker::Search;
using tracker::Target;
using tracker::WindowsKey;

/// From this PSR on what is seen is not compared with the first view: most frames are this sure.
constexpr double sure_without = 24;

Status tracker::AskedWindows::provide(Backend backend, std::size_t windows) {
  if (Status s = records.provide(backend, windows); !s.ok()) return s;
  if (Status s = response_peaks.provide(backend, windows * sizeof(ResponsePeak), Memory::host);
      !s.ok())
    return s;
  if (Status s = likeness.provide(backend, windows * sizeof(double), Memory::host); !s.ok())
    return s;
  return features.provide(static_cast<int>(windows));
}

/// Memory for looking at so many windows, or for teaching.
Status Tracker::Impl::provide(std::size_t windows) {
  if (Status s = looked.provide(device.backend, windows); !s.ok()) return s;
  return filters.provide_asking(static_cast<int>(windows));
}

Status Tracker::Impl::provide_teaching(std::size_t windows) {
  if (Status s = taught.provide(device.backend, windows); !s.ok()) return s;
  if (Status s = filters.provide_teaching(static_cast<int>(windows)); !s.ok()) return s;
  return filters.provide_asking(static_cast<int>(windows));
}

/// Says what the views are, and brings what they see to the device. \param middles  of these first
/// views all others are
Status Tracker::Impl::read(AskedWindows& windows, std::size_t middles) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    const auto& [look, angle] = views[i];
    windows.records.host.looks[i] = look;
    windows.records.host.croppings[i] = {look, angle};
  }
  return reader.read(std::span(views).first(middles));
}

/// Of few windows launches take the host longer than the device takes for them.
template <class Enqueue>
Status Tracker::Impl::run(Recordings<WindowsKey>& recordings, const WindowsKey& key, Stream stream,
                          const Enqueue& enqueue) {
  constexpr int few = 16;
  if (key.windows > few) return enqueue(stream);
  return recordings.run(device.backend, key, stream, enqueue);
}

/// What is enqueued from now on comes after what filters learn.
Status Tracker::Impl::join_learning() {
  return std::exchange(learns, false) ? learning.join({}) : Status();
}

/// Waits for all that has been enqueued, and notes how much of what was taught is as it was first.
Status Tracker::Impl::wait_for_all() {
  const std::vector<Target*> noted = std::exchange(pupils, {});
  if (Status s = join_learning(); !s.ok()) return s;
  if (Status s = runtime(device.backend).wait({}); !s.ok()) return s;
  const auto* const first_responses = taught.response_peaks.as<tracker::ResponsePeak>();
  const auto* const likenesses = taught.likeness.as<double>();
  for (std::size_t i = 0; i < noted.size(); ++i)
    if (noted[i]) {
      noted[i]->first_response = first_responses[i].response;
      noted[i]->color_likeness = likenesses[i];
    }
  return {};
}

/// Before the windows of what was taught last are needed again.
Status Tracker::Impl::end_teaching() { return pupils.empty() ? Status() : wait_for_all(); }

/// Enqueues what the channels of so many windows are made by. \param enqueue_colors  enqueues on
/// the side stream what their colours are for, which is to be joined
template <class EnqueueColors>
Status Tracker::Impl::see(AskedWindows& windows, int count, Stream stream,
                          const EnqueueColors& enqueue_colors) {
  const auto& [looks, croppings, _] = windows.records.device;
  if (Status s = windows.records.upload(device.backend, stream); !s.ok()) return s;
  if (Status s = side.fork(stream); !s.ok()) return s;
  // First what is waited for: of a recording each branch begins when those before are launched.
  if (Status s = windows.features.enqueue(reader.seen(), looks, croppings, 0, count, stream);
      !s.ok())
    return s;
  return enqueue_colors();
}

/// Enqueues the teaching of no more targets than at_a_time.
Status Tracker::Impl::teach(std::span<const Pupil> taught_now) {
  if (Status s = end_teaching(); !s.ok()) return s;
  const std::size_t count = taught_now.size();
  pupils.reserve(count);
  if (Status s = taught.provide(device.backend, count); !s.ok()) return s;
  views.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [target, box, angle, first] = taught_now[i];
    views.push_back(target->initial_box.view_of(box, turned(angle), target->filter));
    taught.records.host.training_samples[i] = target->memory.next(target->filter);
  }
  if (Status s = read(taught, count); !s.ok()) return s;
  const auto& [looks, croppings, training_samples] = taught.records.device;
  const auto windows = static_cast<int>(count);
  auto* const first_responses = taught.response_peaks.as<tracker::ResponsePeak>();
  const WindowsKey key{reader.seen(), windows, windows, taught.bytes() + filters.bytes()};
  const bool are_new = std::ranges::any_of(taught_now, &Pupil::first);
  const SeenWindows seen = taught.features.seen(looks, 0, windows);
  const auto learn_colors = [&]() -> Status {
    if (Status s = filters.compare_colors(reader.seen(), looks, croppings, windows, true,
                                          taught.likeness.as<double>(), side.stream());
        !s.ok())
      return s;
    return colors_learnt.record(side.stream());
  };
  const auto keep_new = [&](Stream stream) -> Status {
    for (const Pupil& pupil : taught_now)
      if (pupil.first)
        if (Status s = filters.keep(pupil.target->filter, stream); !s.ok()) return s;
    return {};
  };
  const auto lesson = [&](Stream stream) -> Status {
    if (Status s = see(taught, windows, stream, learn_colors); !s.ok()) return s;
    if (Status s = side.fork(stream); !s.ok()) return s;
    if (!reader.copies())
      if (Status s = frame_read.record(side.stream()); !s.ok()) return s;
    if (Status s = filters.teach(seen, training_samples, stream); !s.ok()) return s;
    if (are_new) {
      if (Status s = keep_new(stream); !s.ok()) return s;
      if (Status s = side.fork(stream); !s.ok()) return s;
    }
    if (Status s = filters.ask_kept(seen, first_responses, side.stream()); !s.ok()) return s;
    if (Status s = side.join(stream); !s.ok()) return s;
    return learnt.record(stream);
  };
  if (reader.copies())
    if (Status s = frame_read.record({}); !s.ok()) return s;
  learns = true;
  if (Status s = learning.fork({}); !s.ok()) return s;
  if (Status s = are_new ? lesson(learning.stream()) : run(lessons, key, learning.stream(), lesson);
      !s.ok())
    return s;
  for (const Pupil& pupil : taught_now) pupils.push_back(pupil.target);
  return {};
}

/// Asks the filters of so many targets in so many ways.
Status Tracker::Impl::ask(int targets, int ways) {
  const auto& [looks, croppings, _] = looked.records.device;
  auto* const found_peaks = looked.response_peaks.as<tracker::ResponsePeak>();
  const int windows = ways * targets;
  const auto ask_for = [&](int first, int count, Stream stream) {
    return filters.ask(looked.features.seen(looks, first, count), targets, found_peaks + first,
                       stream);
  };
  // In all ways to look the priors are the same: these hardly differ by what colours are where.
  const auto find_colors = [&]() -> Status {
    if (Status s = colors_learnt.delay(side.stream()); !s.ok()) return s;
    return filters.find_colors(reader.seen(), looks, croppings, targets, side.stream());
  };
  if (device.backend == Backend::cpu) {
    // Where a window costs as much as the launch of all, ways that will not count are left out.
    if (Status s = see(looked, targets, {}, find_colors); !s.ok()) return s;
    if (Status s = ask_for(0, targets, {}); !s.ok()) return s;
    for (int i = targets; i < windows; ++i)
      if (found_peaks[i % targets].psr < tracker::min_psr) looks[i].side = 0;
    if (Status s = looked.features.enqueue(reader.seen(), looks, croppings, targets,
                                           windows - targets, {});
        !s.ok())
      return s;
    return ask_for(targets, windows - targets, {});
  }
  const WindowsKey key{reader.seen(), targets, windows, looked.bytes() + filters.bytes()};
  const auto look = [&](Stream stream) -> Status {
    if (Status s = see(looked, windows, stream, find_colors); !s.ok()) return s;
    if (Status s = side.join(stream); !s.ok()) return s;
    if (Status s = learnt.delay(stream); !s.ok()) return s;
    return ask_for(0, windows, stream);
  };
  if (Status s = run(this->looks, key, {}, look); !s.ok()) return s;
  learns = false;  // since what has been enqueued waits for it
  return {};
}

/// Enqueues one look, for no more targets than at_a_time.
Status Tracker::Impl::begin_look(std::span<const Search> searches) {
  const std::size_t count = searches.size();
  int most = 0;
  for (const Search& search : searches) most = std::max(most, search.ways.count);
  if (Status s = looked.records.provide(device.backend, most * count); !s.ok()) return s;
  views.clear();
  for (int way = 0; way < most; ++way)
    for (const auto& [target, box, angle, ways] : searches) {
      views.push_back(target->initial_box.view_of(box, turned(angle), target->filter, ways[way]));
      if (way >= ways.count) views.back().look.side = 0;
    }
  if (Status s = read(looked, count); !s.ok()) return s;
  return ask(static_cast<int>(count), most);
}

/// Waits for that look, of which there are the views still. \param filter_detections  of the
/// searches
Status Tracker::Impl::end_look(std::span<const Search> searches,
                               FilterDetection* filter_detections) {
  if (Status s = wait_for_all(); !s.ok()) return s;
  const auto* const found_peaks = looked.response_peaks.as<tracker::ResponsePeak>();
  for (std::size_t i = 0; i < searches.size(); ++i) {
    const auto& [target, box, angle, ways] = searches[i];
    filter_detections[i] = target->initial_box.best_of(&views[i], found_peaks + i,
                                                       static_cast<std::ptrdiff_t>(searches.size()),
                                                       ways, reader.frame().size);
    if (settings.turns) target->ways = ways.next(filter_detections[i].angle - angle);
  }
  return {};
}

/// Says what the first views have to do with detections, of no more targets than at_a_time.
Status Tracker::Impl::compare(std::span<const Search> searches,
                              std::span<FilterDetection> filter_detections) {
  std::vector<std::size_t> doubtful;
  views.clear();
  for (std::size_t i = 0; i < searches.size(); ++i) {
    const Target& target = *searches[i].target;
    const FilterDetection& detection = filter_detections[i];
    const bool is_doubtful = detection.psr >= tracker::min_psr && detection.psr < sure_without &&
                             tracker::is_sound(detection.box, reader.frame().size);
    if (!is_doubtful) continue;
    doubtful.push_back(i);
    views.push_back(
        target.initial_box.view_of(detection.box, turned(detection.angle), target.filter));
  }
  if (doubtful.empty()) return {};
  if (Status s = looked.records.provide(device.backend, doubtful.size()); !s.ok()) return s;
  if (Status s = read(looked, doubtful.size()); !s.ok()) return s;
  const auto& [looks, croppings, _] = looked.records.device;
  const auto count = static_cast<int>(doubtful.size());
  auto* const likenesses = looked.likeness.as<double>();
  const auto compare_colors = [&] {
    return filters.compare_colors(reader.seen(), looks, croppings, count, false, likenesses,
                                  side.stream());
  };
  if (Status s = see(looked, count, {}, compare_colors); !s.ok()) return s;
  if (Status s = side.join({}); !s.ok()) return s;
  auto* const responses = looked.response_peaks.as<tracker::ResponsePeak>();
  if (Status s = filters.ask_kept(looked.features.seen(looks, 0, count), responses, {}); !s.ok())
    return s;
  if (Status s = runtime(device.backend).wait({}); !s.ok()) return s;
  for (std::size_t i = 0; i < doubtful.size(); ++i) {
    filter_detections[doubtful[i]].first_response_here = responses[i].response;
    filter_detections[doubtful[i]].color_likeness_here = likenesses[i];
  }
  return {};
}

}  // namespace xcorr
