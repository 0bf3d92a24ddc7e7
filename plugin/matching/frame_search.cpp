// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/frame_search.h"

#include <utility>

namespace cudaxcorr {

xcorr::Result<FrameSearch> FrameSearch::create(const std::vector<xcorr::Device>& devices) {
  FrameSearch search;
  if (auto status = search.set_depth(1, devices); !status.ok()) return status;
  return search;
}

xcorr::Status FrameSearch::set_depth(std::size_t frames,
                                     const std::vector<xcorr::Device>& devices) {
  while (matchers_.size() > frames) matchers_.pop_back();
  while (matchers_.size() < frames) {
    auto matcher = xcorr::MultiMatcher::create(devices);
    if (!matcher.ok()) return matcher.status();
    matchers_.push_back(std::move(matcher.value()));
  }
  return {};
}

xcorr::Status FrameSearch::set_templates(const LoadedTemplates& templates) {
  for (xcorr::MultiMatcher& matcher : matchers_)
    if (auto status = set_templates_of(matcher, *templates.images, templates.live); !status.ok())
      return status;
  return {};
}

xcorr::Status FrameSearch::prepare(xcorr::ElementType type, xcorr::Size frame,
                                   const xcorr::MatchSettings& match) {
  begun_ = finished_ = 0;
  for (xcorr::MultiMatcher& matcher : matchers_)
    if (auto status = matcher.prepare(type, frame, match); !status.ok()) return status;
  return {};
}

xcorr::Status FrameSearch::begin(const xcorr::MatrixView& frame) {
  const auto status = matchers_[begun_ % matchers_.size()].enqueue(frame);
  if (status.ok()) ++begun_;
  return status;
}

xcorr::Status FrameSearch::finish(std::vector<xcorr::Peak>& peaks) {
  return matchers_[finished_++ % matchers_.size()].collect(peaks);
}

std::string FrameSearch::kernel() const {
  return matchers_[(finished_ + matchers_.size() - 1) % matchers_.size()].kernel();
}

}  // namespace cudaxcorr
