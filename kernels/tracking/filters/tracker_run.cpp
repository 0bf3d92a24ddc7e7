// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a Tracker looks at frames: what it enqueues, on its stream and beside it.
#include "tracking/filters/tracker_impl.hpp"

namespace xcorr {

using tracker::Look;
using tracker::Pupil;
using tracker::Search;
using tracker::Target;

/// From this PSR on what is seen is not compared with the first view: most frames are this sure.
constexpr double sure_without = 24;

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
    views.push_back(target->initial_box.view_of(box, turned(angle), target->filter));
    records.host.training_samples[i] = target->memory.next(target->filter);
  }
  if (Status s = show(frame, count); !s.ok()) return s;
  const auto& [looks, croppings, training_samples] = records.device;
  const auto windows = static_cast<int>(count);
  auto* const likenesses = likeness.as<double>();
  if (Status s = side.fork({}); !s.ok()) return s;
  if (Status s = filters.compare_colors(features.colors(), looks, croppings, windows, true,
                                        likenesses, side.stream());
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

/// Asks the filters of so many targets in so many ways, and waits for their responses.
Status Tracker::Impl::ask(int count, int ways) {
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
    for (int i = count; i < ways * count; ++i)
      if (found_peaks[i % count].psr < tracker::min_psr) {
        at[i].side = 0;
        if (settings.turns) croppings[i].samples = 0;
      }
    return ask_for(count, (ways - 1) * count);
  }
  if (Status s = ask_for(0, ways * count); !s.ok()) return s;
  return runtime(device.backend).wait({});
}

/// Looks once, for no more targets than at_a_time. \param filter_detections  of the searches
Status Tracker::Impl::look(const MatrixView& frame, std::span<const Search> searches,
                           FilterDetection* filter_detections) {
  const std::size_t count = searches.size();
  int most = 0;
  for (const Search& search : searches) most = std::max(most, search.ways.count);
  if (Status s = records.provide(device.backend, most * count); !s.ok()) return s;
  views.clear();
  for (int way = 0; way < most; ++way)
    for (const auto& [target, box, angle, ways] : searches) {
      views.push_back(target->initial_box.view_of(box, turned(angle), target->filter, ways[way]));
      if (way >= ways.count) views.back().look.side = 0;
    }
  if (Status s = show(frame, count); !s.ok()) return s;
  // In all ways to look the priors are the same: these hardly differ by what colours are where.
  if (Status s = side.fork({}); !s.ok()) return s;
  if (Status s =
          filters.find_colors(features.colors(), records.device.looks, records.device.croppings,
                              static_cast<int>(count), side.stream());
      !s.ok())
    return s;
  if (Status s = ask(static_cast<int>(count), most); !s.ok()) return s;
  const auto* const found_peaks = response_peaks.as<tracker::ResponsePeak>();
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [target, box, angle, ways] = searches[i];
    filter_detections[i] = target->initial_box.best_of(
        &views[i], found_peaks + i, static_cast<std::ptrdiff_t>(count), ways, frame.size);
    if (settings.turns) target->ways = ways.next(filter_detections[i].angle - angle);
  }
  return {};
}

/// Says what the first views have to do with detections, of no more targets than at_a_time.
Status Tracker::Impl::compare(const MatrixView& frame, std::span<const Search> searches,
                              std::span<FilterDetection> filter_detections) {
  std::vector<std::size_t> doubtful;
  views.clear();
  for (std::size_t i = 0; i < searches.size(); ++i) {
    const Target& target = *searches[i].target;
    const FilterDetection& detection = filter_detections[i];
    const bool is_doubtful = detection.psr >= tracker::min_psr && detection.psr < sure_without &&
                             tracker::is_sound(detection.box, frame.size);
    if (!is_doubtful) continue;
    doubtful.push_back(i);
    views.push_back(
        target.initial_box.view_of(detection.box, turned(detection.angle), target.filter));
  }
  if (doubtful.empty()) return {};
  if (Status s = records.provide(device.backend, doubtful.size()); !s.ok()) return s;
  if (Status s = show(frame, doubtful.size()); !s.ok()) return s;
  const auto& [looks, croppings, _] = records.device;
  const auto count = static_cast<int>(doubtful.size());
  auto* const likenesses = likeness.as<double>();
  if (Status s = side.fork({}); !s.ok()) return s;
  if (Status s = filters.compare_colors(features.colors(), looks, croppings, count, false,
                                        likenesses, side.stream());
      !s.ok())
    return s;
  const auto seen = features.enqueue(looks, croppings, 0, count);
  if (!seen.ok()) return seen.status();
  auto* const responses = response_peaks.as<tracker::ResponsePeak>();
  if (Status s = filters.ask_kept(seen.value(), responses, {}); !s.ok()) return s;
  if (Status s = side.join({}); !s.ok()) return s;
  if (Status s = runtime(device.backend).wait({}); !s.ok()) return s;
  for (std::size_t i = 0; i < doubtful.size(); ++i) {
    filter_detections[doubtful[i]].first_response_here = responses[i].response;
    filter_detections[doubtful[i]].color_likeness_here = likenesses[i];
  }
  return {};
}

}  // namespace xcorr
