// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/frame_search.h"

#include <algorithm>
#include <utility>

namespace cudaxcorr {
namespace {

/// Those of them with these indices.
template <class Items>
Items some_of(const Items& items, const std::vector<std::uint32_t>& indices) {
  Items some;
  for (const std::uint32_t index : indices) some.push_back(items[index]);
  return some;
}

}  // namespace

xcorr::Result<FrameSearch> FrameSearch::create(const std::vector<xcorr::Device>& devices) {
  FrameSearch search;
  if (auto status = search.set_depth(1, devices); !status.ok()) return status;
  return search;
}

xcorr::Status FrameSearch::set_depth(std::size_t frames,
                                     const std::vector<xcorr::Device>& devices) {
  first_ = devices.front();
  while (slots_.size() > frames) slots_.pop_back();
  while (slots_.size() < frames) {
    auto matcher = xcorr::MultiMatcher::create(devices);
    if (!matcher.ok()) return matcher.status();
    slots_.push_back({std::move(matcher.value()), std::nullopt});
  }
  return {};
}

xcorr::Status FrameSearch::set_templates(const LoadedTemplates& templates) {
  rules_.clear();
  things_ = templates.things;
  whole_.clear();
  regions_.clear();
  for (std::uint32_t i = 0; i < templates.images->size(); ++i) {
    rules_.push_back((*templates.template_set)[i].rules);
    (rules_.back().region.empty() ? whole_ : regions_).push_back(i);
  }
  if (regions_.empty()) {
    for (Slot& slot : slots_) {
      slot.regions.reset();
      const auto status = set_templates_of(slot.whole, *templates.images, templates.live);
      if (!status.ok()) return status;
    }
    return {};
  }
  const auto images_of_whole = some_of(*templates.images, whole_),
             images_of_regions = some_of(*templates.images, regions_);
  const auto live_of_whole = some_of(templates.live, whole_),
             live_of_regions = some_of(templates.live, regions_);
  for (Slot& slot : slots_) {
    if (!slot.regions) {
      auto made = xcorr::WindowMatcher::create(first_);
      if (!made.ok()) return made.status();
      slot.regions = std::move(made.value());
    }
    if (auto s = set_templates_of(slot.whole, images_of_whole, live_of_whole); !s.ok()) return s;
    if (auto s = set_templates_of(*slot.regions, images_of_regions, live_of_regions); !s.ok())
      return s;
  }
  return {};
}

/// What finds all that any of these templates asks for.
xcorr::MatchSettings FrameSearch::loosest(xcorr::MatchSettings match,
                                          const std::vector<std::uint32_t>& templates) const {
  if (!filters_ || templates.empty()) return match;
  match.threshold = 1;
  for (const std::uint32_t index : templates)
    match.threshold = std::min(match.threshold, threshold_of(index));
  match.best_template = false;  // done when all peaks that are none are gone
  return match;
}

xcorr::Status FrameSearch::prepare(xcorr::ElementType type, xcorr::Size frame,
                                   const xcorr::MatchSettings& match, bool for_tracks) {
  begun_ = finished_ = 0;
  match_ = match;
  thresholds_.clear();
  has_samples_ = !things_.empty() && std::ranges::max(things_) + 1 < things_.size();
  filters_ = !regions_.empty();
  for (const TemplateRules& rules : rules_) {
    thresholds_.push_back(for_tracks ? match.threshold : rules.threshold.value_or(match.threshold));
    filters_ |= thresholds_.back() != match.threshold;
  }
  windows_.clear();
  for (std::uint32_t i = 0; i < regions_.size(); ++i)
    windows_.push_back({i, rules_[regions_[i]].region, match.poses});
  const xcorr::MatchSettings for_whole = loosest(match, whole_);
  xcorr::MatchSettings for_regions = loosest(match, regions_);
  // Tuning would stall the stream once for every size of region.
  if (match.kernel == "tune") for_regions.kernel = "auto";
  for (Slot& slot : slots_) {
    if (searches_whole())
      if (auto status = slot.whole.prepare(type, frame, for_whole); !status.ok()) return status;
    if (windows_.empty()) continue;
    if (auto status = slot.regions->prepare(type, frame, for_regions); !status.ok()) return status;
    if (auto status = slot.regions->provide(windows_); !status.ok()) return status;
  }
  return {};
}

xcorr::Status FrameSearch::begin(const xcorr::MatrixView& frame) {
  Slot& slot = slots_[begun_ % slots_.size()];
  if (searches_whole())
    if (auto status = slot.whole.enqueue(frame); !status.ok()) return status;
  if (!windows_.empty()) {
    const auto status = slot.regions->enqueue(frame, windows_);
    if (!status.ok()) {  // nothing may read the frame any more
      std::vector<xcorr::Peak> unused;
      if (searches_whole()) static_cast<void>(slot.whole.collect(unused));
      return status;
    }
  }
  ++begun_;
  return {};
}

/// In the order of templates, best first within each.
xcorr::Status FrameSearch::collect(Slot& slot, std::vector<xcorr::Peak>& peaks) {
  peaks.clear();
  xcorr::Status status;
  if (searches_whole()) {
    status = slot.whole.collect(peaks);
    if (!regions_.empty())
      for (xcorr::Peak& peak : peaks) peak.template_index = whole_[peak.template_index];
  }
  if (windows_.empty()) return status;
  std::vector<std::vector<xcorr::Peak>> found;
  if (auto s = slot.regions->collect(found); !s.ok() && status.ok()) status = s;
  for (std::uint32_t i = 0; i < found.size(); ++i)
    for (xcorr::Peak& peak : found[i]) {
      peak.template_index = regions_[i];
      peaks.push_back(peak);
    }
  std::ranges::stable_sort(peaks, {}, &xcorr::Peak::template_index);
  return status;
}

xcorr::Status FrameSearch::finish(std::vector<xcorr::Peak>& peaks) {
  if (auto s = collect(slots_[finished_++ % slots_.size()], peaks); !s.ok()) return s;
  if (filters_) {
    std::erase_if(peaks, [this](const xcorr::Peak& peak) {
      return peak.similarity < threshold_of(peak.template_index);
    });
    if (match_.best_template) xcorr::keep_best_templates(peaks, match_.poses.max_overlap);
  }
  if (has_samples_)
    xcorr::keep_best_samples(peaks, things_, match_.poses.max_overlap, match_.max_peaks);
  return {};
}

std::string FrameSearch::kernel() const {
  const Slot& slot = slots_[(finished_ + slots_.size() - 1) % slots_.size()];
  return searches_whole() ? slot.whole.kernel() : slot.regions->kernel();
}

xcorr::Status FrameSearch::respond(const xcorr::MatrixView& frame, std::uint32_t template_index,
                                   xcorr::Response& response) {
  const auto at = std::ranges::find(whole_, template_index);
  if (at == whole_.end())
    return {xcorr::Code::unsupported,
            "the template has a region of its own, which is all that is searched for it"};
  return slots_.front().whole.respond(frame, static_cast<std::uint32_t>(at - whole_.begin()),
                                      response);
}

}  // namespace cudaxcorr
