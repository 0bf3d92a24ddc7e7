// SPDX-License-Identifier: LGPL-2.1-or-later
#include "overlay/marks.h"

#include <algorithm>
#include <utility>

#include "gstcudaxcorrmeta.h"

namespace cudaxcorr {
namespace {

/// The number of analysed frames after which the last place of a target says nothing any more.
constexpr std::uint64_t frames_to_show_lost = 50;

std::string text_of(const gchar* text) { return text ? text : ""; }

/// The state, if the box alone does not show it.
std::string state_of(const GstCudaXCorrPeak& peak) {
  const std::string state = text_of(peak.state);
  return state == "none" || state == "tracked" ? "" : state;
}

Mark mark_of(GstCudaXCorrPeak peak) {
  gst_cuda_xcorr_peak_rescale(&peak, 1, 1);
  const auto corner = [&peak](int i) {  // pixels' edges are whole here
    return Mark::Point{peak.corners[2 * i] + 0.5, peak.corners[2 * i + 1] + 0.5};
  };
  return {peak.template_index,
          text_of(peak.label),
          peak.id,
          peak.nx,
          peak.ny,
          peak.nwidth,
          peak.nheight,
          {corner(0), corner(1), corner(2), corner(3)},
          peak.score,
          peak.confidence,
          peak.lost != FALSE,
          state_of(peak),
          {}};
}

/// Moves the mark to where the target may be again, if the result says that.
bool move_to_candidate(Mark& mark, const GstStructure* result, guint index) {
  const GValue* item = gst_value_array_get_value(gst_structure_get_value(result, "peaks"), index);
  const GValue* corners = gst_structure_get_value(gst_value_get_structure(item), "candidate");
  int width = 0, height = 0;
  if (!corners || !GST_VALUE_HOLDS_ARRAY(corners) || gst_value_array_get_size(corners) != 8 ||
      !gst_structure_get(result, "frame-width", G_TYPE_INT, &width, "frame-height", G_TYPE_INT,
                         &height, nullptr) ||
      width < 1 || height < 1)
    return false;
  double places[8];
  for (guint i = 0; i < 8; ++i) {
    const GValue* place = gst_value_array_get_value(corners, i);
    if (!G_VALUE_HOLDS_DOUBLE(place)) return false;
    places[i] = (g_value_get_double(place) + 0.5) / (i % 2 ? height : width);
  }
  for (int i = 0; i < 4; ++i) mark.corners[i] = {places[2 * i], places[2 * i + 1]};
  const auto [left, right] = std::minmax({places[0], places[2], places[4], places[6]});
  const auto [top, bottom] = std::minmax({places[1], places[3], places[5], places[7]});
  mark.x = left;
  mark.y = top;
  mark.width = right - left;
  mark.height = bottom - top;
  return true;
}

}  // namespace

void Marks::update(const GstStructure* result, unsigned trail_length) {
  gboolean analysed = FALSE;
  gst_structure_get_boolean(result, "analysed", &analysed);
  if (!analysed) return;
  ++frame_;
  drop_older(trail_length);
  marks_.clear();
  std::map<std::uint64_t, std::uint64_t> seen;
  GstCudaXCorrPeak peak;
  for (guint i = 0; gst_cuda_xcorr_get_peak(result, i, &peak); ++i) {
    const auto known = seen_.find(peak.id);
    const std::uint64_t last = peak.lost && known != seen_.end() ? known->second : frame_;
    if (peak.id != 0) seen[peak.id] = last;
    Mark mark = mark_of(peak);
    const bool moved = move_to_candidate(mark, result, i);
    if (frame_ - last > frames_to_show_lost && !moved) continue;
    marks_.push_back(std::move(mark));
    if (peak.id != 0 && trail_length > 0) trace(marks_.back());
  }
  seen_ = std::move(seen);
}

void Marks::trace(Mark& mark) {
  std::deque<Past>& past = past_[mark.id];
  if (!mark.lost) past.push_back({frame_, {mark.x + mark.width / 2, mark.y + mark.height / 2}});
  for (const Past& place : past) mark.trail.push_back(place.centre);
}

/// By age, so that trails of lost targets fade as well.
void Marks::drop_older(unsigned trail_length) {
  for (auto& [id, past] : past_)
    while (!past.empty() && past.front().frame + trail_length <= frame_) past.pop_front();
  std::erase_if(past_, [](const auto& entry) { return entry.second.empty(); });
}

void Marks::forget() {
  marks_.clear();
  past_.clear();
  seen_.clear();
}

}  // namespace cudaxcorr
