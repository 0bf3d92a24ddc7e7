// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A frame's way through a plan, and what comes of it.
#include "match/plan.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace xcorr {

Status MatchPlan::select(const std::vector<bool>& wanted, Stream stream) {
  bool changed = false;
  for (TemplateGroup& group : groups_) changed |= group.select(wanted);
  if (!changed) return {};
  if (is_coarse_search()) return mark(wanted, stream);
  const std::vector<std::uint32_t> none(matched_);
  for (std::uint32_t* counts : {counts_.as<std::uint32_t>(), sizes_.counts_in(results_)})
    if (Status s = runtime_->copy(bytes_copy(counts, none.data(), matched_ * sizeof none[0]),
                                  Memory::host, Memory::device, stream);
        !s.ok())
      return s;
  return {};
}

Status MatchPlan::mark(const std::vector<bool>& wanted, Stream stream) {
  std::vector<std::uint8_t> searched;
  for (const Slot& slot : slots()) searched.push_back(wanted[slot.index]);
  return runtime_->copy(bytes_copy(wanted_.data(), searched.data(), matched_), Memory::host,
                        Memory::device, stream);
}

Result<Rows> MatchPlan::read(const MatrixView& frame, Stream stream) {
  const Rect seen = edges_ ? edges_->reads(region_) : region_;
  auto rows = reader_.read(frame, prefilter_ ? prefilter_->reads(seen) : seen, stream);
  if (rows.ok() && prefilter_) rows = prefilter_->run(rows.value(), seen, stream);
  if (rows.ok() && edges_) rows = edges_->run(rows.value(), region_, stream);
  return rows.ok() && padded_.data() ? pad(rows.value(), stream) : rows;
}

Result<Rows> MatchPlan::pad(const Rows& rows, Stream stream) {
  const Size size = padded_region();
  const auto element = static_cast<std::int64_t>(size_of(type_));
  const std::int64_t pitch = padded_pitch(size.width * element), plane = pitch * size.height;
  const Rows padded{padded_.as<std::uint8_t>(), pitch, plane};
  auto* const first =
      padded_.as<std::uint8_t>() + padding_.height * pitch + padding_.width * element;
  for (int i = 0; i < planes_of(settings_); ++i)
    if (Status s = runtime_->copy({first + i * plane, pitch, rows.data + i * rows.plane, rows.pitch,
                                   static_cast<std::size_t>(region_.width * element),
                                   static_cast<std::size_t>(region_.height)},
                                  Memory::device, Memory::device, stream);
        !s.ok())
      return s;
  return padded;
}

/// Only where the region reaches the frame's border is there nothing past it.
Overhang MatchPlan::overhang() const {
  if (!padded_.data()) return {};
  const auto [x, y, width, height] = region_;
  const int left = x == 0 ? padding_.width : 0, top = y == 0 ? padding_.height : 0;
  const int right = x + width == frame_.width ? padding_.width : 0,
            bottom = y + height == frame_.height ? padding_.height : 0;
  return {
      {padding_.width, padding_.height, width, height},
      {padding_.width - left, padding_.height - top, left + width + right, top + height + bottom},
      overhang_};
}

Result<MatchFrame> MatchPlan::searched(const Rows& rows, Stream stream) {
  MatchFrame frame{rows,
                   {},
                   method_of(settings_),
                   settings_.threshold,
                   settings_.subpixel,
                   settings_.subpixel_threshold,
                   overhang()};
  if (!widener_) return frame;
  const auto words = widener_->run(rows, stream);
  if (!words.ok()) return words.status();
  frame.words = words.value();
  return frame;
}

Status MatchPlan::refresh(Stream stream) {
  return edge_bank_ ? edge_bank_->refresh(stream) : Status();
}

Status MatchPlan::settled(Status status, Stream stream) {
  // If waiting fails as well, the device reads no more.
  if (status.ok()) return status;
  static_cast<void>(runtime_->wait(stream));
  for (const Lane& lane : lanes_)
    for (const Stream& used : {lane.own.stream(), lane.side.stream()})
      static_cast<void>(runtime_->wait(used));
  return status;
}

Status MatchPlan::enqueue(const MatrixView& frame, Stream stream) {
  if (groups_.empty()) return {};
  if (Status s = refresh(stream); !s.ok()) return s;
  return settled(enqueue_groups(read(frame, stream), stream), stream);
}

Status MatchPlan::enqueue(const Rows& rows, Stream stream) {
  if (groups_.empty()) return {};
  return settled(enqueue_groups(padded_.data() ? pad(rows, stream) : rows, stream), stream);
}

Status MatchPlan::enqueue(const MatrixView& frame, std::span<const PartCorner> corners,
                          Stream stream) {
  corners_.assign(corners.begin(), corners.end());
  groups_.front().search_first(static_cast<int>(corners.size()));
  return settled(enqueue_windows(frame, stream), stream);
}

Status MatchPlan::enqueue_windows(const MatrixView& frame, Stream stream) {
  if (frame.memory == Memory::host) {
    if (Status s = windows_->pack(frame, corners_); !s.ok()) return s;
    if (Status s = enqueue_packed_windows(stream); !s.ok()) return s;
  } else if (Status s = enqueue_groups(windows_->read(frame, corners_, stream), stream); !s.ok()) {
    return s;
  }
  return windows_->note_read(stream);
}

/// It is recorded when it comes twice in a row.
Status MatchPlan::enqueue_packed_windows(Stream stream) {
  TemplateGroup& group = groups_.front();
  const bool changed = group.has_changed();
  const RecordedWindows::Key key{corners_.size(), windows_->packed(), settings_};
  RecordedWindows& recorded = recorded_[changed];
  const bool known = std::exchange(recorded.key, key) == key;
  if (!known) recorded.recording = {};
  if (!known || !can_be_recorded_)
    return enqueue_groups(windows_->read_packed(corners_.size(), stream), stream);
  // Which cannot be recorded.
  if (Status s = group.order_after_changes(stream); !s.ok()) return s;
  if (!recorded.recording) {
    auto made = Recording::make(device_.backend, [&](Stream own) -> Status {
      Lane& lane = lanes_.front();
      if (changed) {
        if (Status s = lane.side.fork(own); !s.ok()) return s;
        if (Status s = group.reload(results_of(0), lane.side.stream()); !s.ok()) return s;
      }
      const auto rows = windows_->read_packed(corners_.size(), own);
      if (!rows.ok()) return rows.status();
      const auto frame = searched(rows.value(), own);
      if (!frame.ok()) return frame.status();
      return group.run(frame.value(), lane.scratch, results_of(0), lane.side, own, changed);
    });
    can_be_recorded_ = made.ok();
    // Launches do the same.
    if (!made.ok()) return enqueue_groups(windows_->read_packed(corners_.size(), stream), stream);
    recorded.recording = std::move(made.value());
  }
  if (Status s = recorded.recording.run(stream); !s.ok()) return s;
  group.note_loaded();
  return {};
}

Status MatchPlan::score(const MatrixView& frame, const ScoreMap& scores, Stream stream) {
  return settled(enqueue_scores(frame, scores, stream), stream);
}

Status MatchPlan::enqueue_groups(const Result<Rows>& rows, Stream stream) {
  if (!rows.ok()) return rows.status();
  const auto frame = searched(rows.value(), stream);
  if (!frame.ok()) return frame.status();
  const std::span<Lane> beside = std::span(lanes_).subspan(1);
  for (Lane& lane : beside)
    if (Status s = lane.own.fork(stream); !s.ok()) return s;
  if (Status s = enqueue_lanes(frame.value(), stream); !s.ok()) return s;
  for (Lane& lane : beside)
    if (Status s = lane.own.join(stream); !s.ok()) return s;
  return {};
}

Status MatchPlan::enqueue_lanes(const MatchFrame& frame, Stream stream) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const std::size_t number = i % lanes_.size();
    Lane& lane = lanes_[number];
    const Stream own = number == 0 ? stream : lane.own.stream();
    const MatchResults results = results_of(i);
    if (Status s = groups_[i].refresh(results, own); !s.ok()) return s;
    if (Status s = groups_[i].run(frame, lane.scratch, results, lane.side, own); !s.ok()) return s;
  }
  return {};
}

Status MatchPlan::enqueue_scores(const MatrixView& frame, const ScoreMap& to, Stream stream) {
  if (groups_.empty()) return {};
  if (Status s = refresh(stream); !s.ok()) return s;
  const auto rows = read(frame, stream);
  if (!rows.ok()) return rows.status();
  TemplateGroup& group = groups_.front();
  const Size size = group.problem().correlate.shifts.size();
  const std::ptrdiff_t row = size.width * std::ptrdiff_t{sizeof(float)};
  const bool reached = device_.backend == Backend::cpu || to.memory == Memory::device;
  const bool in_place = reached && to.pitch == row;
  Lane& lane = lanes_.front();
  float* scores = in_place ? to.data : lane.scratch.scores.as<float>();
  if (Status s = group.refresh(results_of(0), stream); !s.ok()) return s;
  const auto read_frame = searched(rows.value(), stream);
  if (!read_frame.ok()) return read_frame.status();
  if (Status s = group.score(read_frame.value(), lane.scratch, scores, lane.side, stream); !s.ok())
    return s;
  if (in_place) return {};
  return runtime_->copy(
      {to.data, to.pitch, scores, row, std::size_t(row), std::size_t(size.height)}, Memory::device,
      to.memory, stream);
}

void MatchPlan::collect(std::vector<Peak>& peaks) const {
  peaks.clear();
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const std::size_t count = windows_ ? corners_.size() : groups_[group].members().size();
    for (std::size_t i = 0; i < count; ++i) append_peaks(group, i, peaks);
  }
  std::stable_sort(peaks.begin(), peaks.end(), [](const Peak& a, const Peak& b) {
    return a.template_index < b.template_index;
  });
}

void MatchPlan::to_similarity(std::vector<float>& scores) const {
  if (groups_.empty()) return;
  const Similarity similarity = similarity_of(0, 0);
  for (float& score : scores)
    score = static_cast<float>(similarity.of(oriented(contrast_of(settings_).polarity, score)));
}

TemplateSums MatchPlan::sums_of(std::size_t group, std::size_t member) const {
  return sums_of_right(groups_[group].problem().correlate, results_of(group).template_sums,
                       static_cast<std::int64_t>(member));
}

Similarity MatchPlan::similarity_of(std::size_t group, std::size_t member) const {
  return {method_of(settings_), double(groups_[group].problem().pixels()), sums_of(group, member)};
}

PartCorner MatchPlan::origin_of(std::size_t member) const {
  return windows_ ? corners_[member]
                  : PartCorner{region_.x - padding_.width, region_.y - padding_.height};
}

std::vector<RefinedPeak> MatchPlan::refined_peaks(std::size_t group, std::size_t member) const {
  const MatchResults results = results_of(group);
  const std::size_t first = member * settings_.max_peaks;
  std::vector<RefinedPeak> peaks;
  for (std::size_t i = first; i < first + results.peak_counts[member]; ++i) {
    if (settings_.confirm_threshold > 0 && results.differences[i] > settings_.confirm_threshold)
      continue;
    RefinedPeak& peak = peaks.emplace_back(results.peaks[i]);
    if (settings_.subpixel == Subpixel::least_squares && results.fits[i].is_fitted)
      std::tie(peak.dx, peak.dy) = std::pair(results.fits[i].dx, results.fits[i].dy);
  }
  return peaks;
}

void MatchPlan::append_peaks(std::size_t group, std::size_t member,
                             std::vector<Peak>& peaks) const {
  const bool minimum = info(method_of(settings_)).minimum;
  const auto& [index, pixels, reported, version] = groups_[group].members()[member];
  const Similarity similarity = similarity_of(group, member);
  std::vector<RefinedPeak> refined = refined_peaks(group, member);
  const PartCorner origin = origin_of(member);
  const Polarity polarity = contrast_of(settings_).polarity;
  // Exact scores may reorder close candidates.
  std::sort(refined.begin(), refined.end(), [&](const RefinedPeak& a, const RefinedPeak& b) {
    const double left = oriented(polarity, a.score), right = oriented(polarity, b.score);
    if (left != right) return minimum ? left < right : left > right;
    return a.y != b.y ? a.y < b.y : a.x < b.x;
  });
  for (const RefinedPeak& r : refined) {
    const double score = oriented(polarity, r.score);
    if (!similarity.reaches(score, settings_.threshold)) break;
    const bool placed = similarity.of(score) >= settings_.subpixel_threshold;
    const double x = origin.x + reported.x + r.x + (placed ? r.dx : 0),
                 y = origin.y + reported.y + r.y + (placed ? r.dy : 0);
    peaks.push_back({index,
                     x,
                     y,
                     reported.width,
                     reported.height,
                     score,
                     similarity.of(score),
                     {x + 0.5 * (reported.width - 1), y + 0.5 * (reported.height - 1), 0, 1,
                      double(reported.width), double(reported.height)},
                     settings_.polarity == Polarity::inverted || is_inverted(polarity, r.score)});
  }
}

}  // namespace xcorr
