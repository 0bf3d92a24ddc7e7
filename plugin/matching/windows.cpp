// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/windows.h"

#include <algorithm>
#include <cmath>

namespace cudaxcorr {
namespace {

/// Peaks of one window: its target, and others that come close.
constexpr int max_window_peaks = 8;

/// The least multiple of the usual margin by a power of two: a matcher is prepared for few sizes.
int margin_for(double reach, int usual, int most) {
  int margin = usual;
  while (margin < reach && margin < most) margin *= 2;
  return margin;
}

/// Whether only the pixels decide how close they are.
bool compares_plainly(const xcorr::MatchSettings& settings, const LumaImage& image) {
  return image.mask.empty() && settings.match_on == xcorr::MatchOn::luma &&
         settings.polarity == xcorr::Polarity::same && settings.min_contrast == 0 &&
         settings.prefilter_sigma == 0 && settings.min_confidence < 0;
}

/// Where a window of that length begins once shifted into the area, which is at least as long.
int moved_inside(double begin, int length, int area_begin, int area_length) {
  const double last = area_begin + area_length - length;
  return static_cast<int>(std::lround(std::clamp<double>(begin, area_begin, last)));
}

}  // namespace

void Windows::set_templates(Images images, LiveTemplates live) {
  images_ = std::move(images);
  live_ = std::move(live);
  loaded_ = false;
  poses_.clear();
  of_images_.clear();
  enqueued_.clear();
}

xcorr::Status Windows::provide_matcher() {
  if (!matcher_) {
    auto made = xcorr::WindowMatcher::create(device_);
    if (!made.ok()) return made.status();
    matcher_ = std::move(made.value());
  }
  if (loaded_) return {};
  const auto status = set_templates_of(*matcher_, *images_, live_);
  loaded_ = status.ok();
  return status;
}

xcorr::Status Windows::prepare(xcorr::Size frame, const xcorr::MatchSettings& settings,
                               const xcorr::TrackSettings& tracking) {
  frame_ = frame;
  settings_ = settings;
  settings_.max_peaks = std::min(settings.max_peaks, max_window_peaks);
  // Tuning would stall the stream once for every size of window.
  if (settings.kernel == "tune") settings_.kernel = "auto";
  area_ = xcorr::searched_region(frame, settings.search_region);
  margin_ = tracking.search_margin;
  following_ = {settings.poses, tracking};
  poses_.clear();
  if (images_->empty()) return {};
  if (auto status = provide_matcher(); !status.ok()) return status;
  if (auto status = matcher_->prepare(images_->front().type, frame_, settings_); !status.ok())
    return status;
  const auto provide = [this] {
    std::vector<xcorr::SearchWindow> windows;
    for (std::uint32_t i = 0; i < images_->size(); ++i) {
      if (!fits(i)) continue;
      xcorr::TemplatePlace anywhere{i, 0, 0};
      anywhere.seen.pose = following_.usual();
      windows.push_back(window_around(anywhere, 0));
    }
    return matcher_->provide(windows);
  };
  const auto status = provide();
  if (status.code() != xcorr::Code::invalid_argument) return status;
  following_.give_up();
  return provide();
}

bool Windows::fits(std::uint32_t index) const {
  const xcorr::Size size = (*images_)[index].size;
  return size.width <= area_.width && size.height <= area_.height;
}

xcorr::Rect Windows::region_around(const xcorr::TemplatePlace& expected, xcorr::Size extent) const {
  const int margin = margin_for(expected.reach, margin_, std::max(area_.width, area_.height));
  const int width = std::min(extent.width + 2 * margin, area_.width);
  const int height = std::min(extent.height + 2 * margin, area_.height);
  // Its bounds grow and shrink round the middle of the last ones.
  const auto begin = [margin](double place, int seen, int length) {
    return place + 0.5 * (seen - length) - margin;
  };
  const double x = begin(expected.x, expected.seen.width, extent.width),
               y = begin(expected.y, expected.seen.height, extent.height);
  return {moved_inside(x, width, area_.x, area_.width),
          moved_inside(y, height, area_.y, area_.height), width, height};
}

xcorr::SearchWindow Windows::window_around(const xcorr::TemplatePlace& expected,
                                           std::size_t which) {
  const std::uint32_t index = expected.template_index;
  const xcorr::Size size = (*images_)[index].size;
  xcorr::PoseRange& poses = poses_[{index, which}];
  poses = following_.around(size, expected.seen.pose, expected.frames, poses);
  return {index, region_around(expected, xcorr::bounds_of(size, poses)), poses};
}

xcorr::Status Windows::enqueue(const xcorr::MatrixView& frame,
                               std::span<const xcorr::TemplatePlace> expectations) {
  enqueued_.clear();
  std::vector<std::size_t> used(images_->size());
  std::vector<xcorr::SearchWindow> windows;
  for (const xcorr::TemplatePlace& expected : expectations)
    if (const std::uint32_t index = expected.template_index; fits(index))
      windows.push_back(window_around(expected, used[index]++));
  if (windows.empty()) return {};
  if (auto status = matcher_->enqueue(frame, windows); !status.ok()) return status;
  enqueued_ = std::move(windows);
  return {};
}

xcorr::Status Windows::collect(std::vector<xcorr::Peak>& peaks) {
  if (!enqueued_.empty()) {
    std::vector<std::vector<xcorr::Peak>> found;
    if (auto status = matcher_->collect(found); !status.ok()) return status;
    for (std::size_t i = 0; i < found.size(); ++i)
      for (const xcorr::Peak& peak : found[i])
        if (!at_inner_edge(peak, enqueued_[i].region)) peaks.push_back(peak);
  }
  if (settings_.best_template) xcorr::keep_best_templates(peaks, settings_.poses.max_overlap);
  return {};
}

xcorr::Result<xcorr::WindowMatcher*> Windows::matcher_of_image(std::uint32_t index,
                                                               xcorr::Memory memory) {
  const std::pair key{index, memory};
  if (const auto known = of_images_.find(key); known != of_images_.end()) return &known->second;
  auto made =
      xcorr::WindowMatcher::create(memory == xcorr::Memory::host ? xcorr::Device{} : device_);
  if (!made.ok()) return made.status();
  if (auto status = set_templates_of(made.value(), {&(*images_)[index], 1}, {}); !status.ok())
    return status;
  return &of_images_.emplace(key, std::move(made.value())).first->second;
}

xcorr::Result<double> Windows::similarity_of_image(const xcorr::MatrixView& frame,
                                                   const xcorr::TemplatePlace& part) {
  const LumaImage& image = (*images_)[part.template_index];
  const int x = static_cast<int>(std::lround(part.x)), y = static_cast<int>(std::lround(part.y));
  if (compares_plainly(settings_, image)) {
    const auto similarity = xcorr::similarity_at(frame, x, y, image.view(), settings_.method);
    if (similarity) return *similarity;
  }
  const auto matcher = matcher_of_image(part.template_index, frame.memory);
  if (!matcher.ok()) return matcher.status();
  xcorr::MatchSettings settings = settings_;
  // There is one place, which the definition takes least for.
  settings.kernel = frame.memory == xcorr::Memory::host ? "direct" : "auto";
  settings.threshold = -1;
  settings.max_peaks = 1;
  settings.subpixel = xcorr::Subpixel::none;
  // How similar it is, is asked, not whether it stays; and as an upright template may be.
  settings.confirm_threshold = 0;
  settings.weights = settings.weights && image.type == xcorr::ElementType::u8;
  const xcorr::SearchWindow window{0, {x, y, image.size.width, image.size.height}};
  std::vector<std::vector<xcorr::Peak>> found;
  if (auto status = matcher.value()->prepare(image.type, frame.size, settings); !status.ok())
    return status;
  if (auto status = matcher.value()->enqueue(frame, {&window, 1}); !status.ok()) return status;
  if (auto status = matcher.value()->collect(found); !status.ok()) return status;
  return found.front().empty() ? -1 : found.front().front().similarity;
}

/// A peak at an edge inside the searched area may be the slope of a larger one beyond it, so its
/// place would be wrong. (At the edge of the searched area places are whole pixels.)
bool Windows::at_inner_edge(const xcorr::Peak& peak, const xcorr::Rect& region) const {
  const auto at = [](double place, int extent, int begin, int length, int area_begin,
                     int area_length) {
    const int end = begin + length, area_end = area_begin + area_length;
    return (place <= begin && begin > area_begin) || (place + extent >= end && end < area_end);
  };
  return at(peak.x, peak.width, region.x, region.width, area_.x, area_.width) ||
         at(peak.y, peak.height, region.y, region.height, area_.y, area_.height);
}

}  // namespace cudaxcorr
