// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tracks on any peaks and any detections of filters, with settings, templates and gaps that change
// in between; and assignments of any costs, compared with the best of all.
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include <xcorr/follower.hpp>

#include "../tracking/event_ledger.hpp"
#include "bytes.hpp"
#include "tracking/association/assignment.hpp"

namespace {

using namespace xcorr;

// ---- assignment -----------------------------------------------------------------------------

/// The least total cost by trying all.
double least_cost(const std::vector<double>& costs, int columns, double alone, std::size_t row,
                  std::set<int>& taken) {
  if (row * columns == costs.size()) return 0;
  double least = alone + least_cost(costs, columns, alone, row + 1, taken);
  for (int column = 0; column < columns; ++column) {
    if (!taken.insert(column).second) continue;
    least = std::min(
        least, costs[row * columns + column] + least_cost(costs, columns, alone, row + 1, taken));
    taken.erase(column);
  }
  return least;
}

void try_assignment(Bytes& bytes) {
  const int rows = bytes.between(1, 5), columns = bytes.between(1, 5);
  const double alone = bytes.between(0, 40);
  std::vector<double> costs;
  for (int i = 0; i < rows * columns; ++i) costs.push_back(bytes.between(0, 50) / 1.25);
  const std::vector<int> chosen = follow::assign(costs, columns, alone);
  require(chosen.size() == static_cast<std::size_t>(rows), "each row has an answer");
  double total = 0;
  std::set<int> taken;
  for (int row = 0; row < rows; ++row) {
    const int column = chosen[row];
    require(column >= -1 && column < columns, "a column exists");
    require(column < 0 || taken.insert(column).second, "a column is taken once");
    const double cost = column < 0 ? alone : costs[row * columns + column];
    require(cost <= alone, "nobody pays more than for staying alone");
    total += cost;
  }
  taken.clear();
  const double least = least_cost(costs, columns, alone, 0, taken);
  require(total <= least + 1e-9, "no assignment is cheaper");
}

// ---- tracks ---------------------------------------------------------------------------------

using Place = std::pair<double, double>;

/// Of a template, with its size: a filter may find a smaller target in the corner of another one.
using Claim = std::tuple<std::uint32_t, Place, int, int>;

class Session {
 public:
  void run(Bytes& bytes) {
    change_settings(bytes);
    change_templates(bytes);
    for (int steps = 0; !bytes.empty() && steps < 200; ++steps) {
      switch (bytes.between(0, 63)) {
        case 0:
          change_settings(bytes);
          break;
        case 1:
          change_templates(bytes);
          break;
        case 2:
          follower_.interrupt();
          break;
        case 3:
          frame_ += bytes.number<std::uint16_t>();
          break;
        case 4:
          follower_.end();
          break;
        default:
          see(bytes);
      }
      check_balance();
      check_expectations();
    }
  }

 private:
  void change_settings(Bytes& bytes) {
    settings_.enabled = bytes.between(0, 7) > 0;
    settings_.by = bytes.flag() ? FollowBy::filter : FollowBy::template_;
    settings_.search_margin = bytes.mostly_between(1, 40);
    if (settings_.search_margin < 1 || settings_.search_margin > 1 << 20)
      settings_.search_margin = 1 << 20;
    settings_.redetect_interval = bytes.between(1, 5);
    settings_.min_frames_for_lost = bytes.between(1, 4);
    settings_.update = bytes.between(0, 4) / 4.0;
    settings_.recheck_interval = bytes.between(0, 3);
    settings_.forget_after = bytes.between(0, 5);
    settings_.min_confidence = bytes.between(0, 4) / 4.0;
    match_.method = bytes.flag() ? Method::sqdiff_normed : Method::ccoeff_normed;
    match_.max_peaks = bytes.between(1, 6);
    match_.min_peak_distance = bytes.mostly_between(0, 20) & std::numeric_limits<int>::max();
    configure();
  }
  void change_templates(Bytes& bytes) {
    std::vector<std::optional<std::size_t>> origins(bytes.between(0, 3));
    for (std::size_t i = 0; i < origins.size(); ++i)
      if (i < templates_ && bytes.flag()) origins[i] = i;
    templates_ = origins.size();
    peaks_.clear();
    follower_.replace_templates(origins);
    configure();
  }
  void configure() {
    follower_.configure(settings_, match_, area, std::vector<double>(templates_, 0.5));
  }

  double place(Bytes& bytes) { return bytes.mostly_between(0, 255) / 4.0; }
  double score(Bytes& bytes) {
    return match_.method == Method::ccoeff_normed ? bytes.between(-100, 100) / 100.0
                                                  : bytes.between(0, 100) / 100.0;
  }

  /// A frame in which all is where it was or a little farther, nothing is seen, or anything.
  enum class View { clear, hidden, any };

  std::vector<Peak> peaks(Bytes& bytes, View view) {
    if (view == View::hidden) return {};
    if (view == View::any) peaks_.clear();
    for (Peak& peak : peaks_) peak.x += bytes.between(-2, 2);
    const int most = templates_ ? bytes.between(0, 9) : 0;
    for (int more = peaks_.empty() ? most : most / 9; more > 0; --more) {
      const auto index = static_cast<std::uint32_t>(bytes.between(0, int(templates_) - 1));
      const double x = place(bytes), y = place(bytes);
      const double similarity = score(bytes);
      peaks_.push_back({index, x, y, 24, 10, similarity, similarity});
    }
    return peaks_;
  }

  /// What filters find where they look.
  std::vector<FilterDetection> filter_detections(Bytes& bytes, View view,
                                                 const std::vector<TargetBox>& places) const {
    std::vector<FilterDetection> found;
    const std::vector<std::uint64_t> ids = follower_.ids();
    for (auto [id, box, angle, by_color] : places) {
      require(std::ranges::find(ids, id) != ids.end(), "filters look for targets that are there");
      const double x = box.x + box.width / 2, y = box.y + box.height / 2;
      require(x >= 0 && x < area.width && y >= 0 && y < area.height, "and within what is searched");
      require(box.width >= 1 && box.height >= 1, "for a pixel at least");
      double response = 0.9, psr = view == View::clear ? 18 : 0;
      if (view == View::any) {
        const double size = bytes.between(1, 20) / 10.0;
        box = {box.x + bytes.between(-12, 12), box.y + bytes.between(-12, 12),
               std::max(1.0, size * box.width), std::max(1.0, size * box.height)};
        response = bytes.between(-2, 12) / 10.0;
        psr = bytes.between(0, 25);
      }
      FilterDetection& detection = found.emplace_back(FilterDetection{box, response, psr});
      if (view == View::any && bytes.flag()) {
        for (double* share : {&detection.first_response, &detection.color_likeness,
                              &detection.first_response_here, &detection.color_likeness_here})
          *share = bytes.between(0, 10) / 10.0;
      }
    }
    return found;
  }

  void see(Bytes& bytes) {
    if (!settings_.enabled) return;
    ++frame_;
    constexpr View views[] = {View::clear, View::clear, View::clear, View::hidden, View::any};
    const View view = bytes.one_of(views);
    const std::vector<Peak> peaks = this->peaks(bytes, view);
    std::vector<TargetBox> sought;
    if (settings_.by_filter()) {
      std::vector<TargetBox> by_color;
      for (TargetBox place : follower_.sought())
        if (bytes.flag()) {
          place.box.x = bytes.between(0, 600);
          place.by_color = true;
          by_color.push_back(place);
        }
      sought = follower_.places_for_filters(frame_, peaks, by_color);
    }
    const std::vector<FilterDetection> seen = filter_detections(bytes, view, sought);
    if (bytes.between(0, 7) == 0) {  // the GPU fails, and the frame is analysed again
      const Follower before = follower_;
      follower_.update(frame_, peaks, sought, seen);
      follower_ = before;
    }
    follower_.update(frame_, peaks, sought, seen);
    std::set<Place> places[3];
    for (const Peak& peak : peaks) places[peak.template_index].insert({peak.x, peak.y});
    std::map<std::uint64_t, std::set<Place>> found;
    for (std::size_t i = 0; i < seen.size(); ++i)
      found[sought[i].target].insert({seen[i].box.x, seen[i].box.y});
    check(places, found);
    if (settings_.by_filter()) check_training_samples();
  }

  void check(const std::set<Place> (&places)[3],
             const std::map<std::uint64_t, std::set<Place>>& filter_detections) {
    std::set<std::uint64_t> ids;
    std::map<std::uint32_t, int> count;
    std::set<Claim> claimed;
    std::uint64_t newest = newest_;
    for (const Target& target : follower_.targets()) {
      const Peak& peak = target.peak;
      const Place at{peak.x, peak.y};
      require(target.id != 0 && ids.insert(target.id).second, "each target has its own id");
      require(known_.contains(target.id) || target.id > newest_, "no id comes back");
      newest = std::max(newest, target.id);
      require(peak.template_index < templates_, "a target is of a template");
      require(++count[peak.template_index] <= match_.max_peaks, "not more targets than max_peaks");
      require(std::isfinite(peak.x) && std::isfinite(peak.y) && std::isfinite(peak.score),
              "places and scores are finite");
      require(target.state != TrackState::none, "a target has a state");
      require(target.lost || target.state != TrackState::lost, "what is detected is not lost");
      if (target.lost) {
        require(known_.contains(target.id) && known_[target.id] == at,
                "a lost target stays where it was");
      } else {
        if (!known_.contains(target.id)) note_filter(target);
        const auto own = filter_detections.find(filter_of(target.id));
        const bool by_own = own != filter_detections.end() && own->second.contains(at);
        const bool is_new = !known_.contains(target.id) && filter_of(target.id) == target.id;
        require(
            settings_.by_filter() && !is_new ? by_own : places[peak.template_index].contains(at),
            "a detected target has a peak, or a filter_detection of its own");
        require(claimed.insert({peak.template_index, at, peak.width, peak.height}).second,
                "a peak is of one target");
      }
    }
    known_.clear();
    for (const Target& target : follower_.targets()) {
      known_[target.id] = {target.peak.x, target.peak.y};
      templates_of_[filter_of(target.id)] = target.peak.template_index;
    }
    newest_ = newest;
  }

  std::uint64_t filter_of(std::uint64_t target) const {
    const auto found = filters_.find(target);
    return found == filters_.end() ? target : found->second;
  }
  /// What had left and comes back is a new target with the filter that it had. There is one such
  /// filter of a template at most.
  void note_filter(const Target& target) {
    const std::vector<std::uint64_t> kept = follower_.ids();
    if (std::ranges::find(kept, target.id) != kept.end()) return;
    for (const std::uint64_t filter : kept) {
      const bool is_taken = std::ranges::any_of(
          known_, [&](const auto& known) { return filter_of(known.first) == filter; });
      const auto known = templates_of_.find(filter);
      if (!is_taken && known != templates_of_.end() && known->second == target.peak.template_index)
        filters_[target.id] = filter;
    }
    require(filters_.contains(target.id), "a target has a filter, its own or of one that left");
  }

  void check_training_samples() const {
    const std::vector<Target> targets = follower_.targets();
    std::set<std::uint64_t> taught;
    for (const TargetBox& sample : follower_.training_samples()) {
      require(taught.insert(sample.target).second, "a filter is taught once");
      const auto target = std::ranges::find_if(
          targets, [&](const Target& one) { return filter_of(one.id) == sample.target; });
      require(target != targets.end(), "what is taught is a target");
      // What resembles the first view too little is followed, and learnt, unseen.
      require(target->lost ||
                  Place(target->peak.x, target->peak.y) == Place(sample.box.x, sample.box.y),
              "where it is");
      require(std::isfinite(sample.box.width) && sample.box.width >= 1 && sample.box.height >= 1,
              "and has a size");
    }
  }

  void check_balance() {
    require(ledger_.take(follower_.take_events()), "what is ledger of a target is possible");
    require(ledger_.agrees_with(follower_.targets()),
            "all that entered are there, or have left or were dropped");
  }

  void check_expectations() const {
    for (const TemplatePlace& expected : follower_.expectations(frame_ + 1)) {
      require(expected.template_index < templates_, "what is expected is of a template");
      require(expected.reach >= 0 && std::isfinite(expected.reach), "windows have a size");
      require(std::isfinite(expected.x) && std::isfinite(expected.y), "expected places are finite");
    }
    for (const TemplatePlace& update : follower_.template_updates())
      require(update.template_index < templates_, "what is updated is a template");
  }

  static constexpr Rect area{0, 0, 60, 50};

  Follower follower_;
  EventLedger ledger_;
  TrackSettings settings_;
  MatchSettings match_;
  std::size_t templates_ = 0;
  std::vector<Peak> peaks_;  ///< the last ones
  std::uint64_t frame_ = 0, newest_ = 0;
  std::map<std::uint64_t, Place> known_;                 ///< where each target of the last frame is
  std::map<std::uint64_t, std::uint64_t> filters_;       ///< of targets that have another one's
  std::map<std::uint64_t, std::uint32_t> templates_of_;  ///< of filters
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  if (bytes.flag())
    try_assignment(bytes);
  else
    Session().run(bytes);
  return 0;
}
