// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/poses/plan.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "match/poses/overlap.hpp"

namespace xcorr {
namespace {

constexpr double degree = std::numbers::pi / 180;

/// Less than any closeness.
constexpr double unscored = -2;

/// Candidates of a level are kept down to this.
double coarse_threshold(const MatchSettings& settings, const PoseTemplate& templ, int level) {
  return std::max(settings.threshold - templ.slack(level), -1.0);
}

/// Candidates of the top level that are followed down.
std::size_t most_candidates(int max_peaks) { return 24 + 4 * static_cast<std::size_t>(max_peaks); }

Status check(const std::vector<BankTemplate>& bank, const MatchSettings& s) {
  const auto unsupported = [](const char* what) { return Status(Code::unsupported, what); };
  const auto bad = [](const char* what) { return Status(Code::invalid_argument, what); };
  const PoseRange& r = s.poses;
  if (!(r.angle_start >= -360 && r.angle_start <= 360))
    return bad("angle_start must be in [-360, 360] degrees");
  if (!(r.angle_extent >= 0 && r.angle_extent <= 360))
    return bad("angle_extent must be in [0, 360] degrees");
  if (!(r.angle_step >= 0 && r.angle_step <= 360))
    return bad("angle_step must be in [0, 360] degrees");
  if (!(r.scale_min >= 0.1 && r.scale_max <= 10))
    return bad("scale_min and scale_max must be in [0.1, 10]");
  if (!(r.scale_step >= 0 && r.scale_step <= 1)) return bad("scale_step must be in [0, 1]");
  if (r.pyramid_levels < -1 || r.pyramid_levels > 8)
    return bad("pyramid_levels must be in [-1, 8]");
  if (!(r.max_overlap >= 0 && r.max_overlap <= 1)) return bad("max_overlap must be in [0, 1]");
  if (!info(s.method).normed)
    return unsupported(
        "poses need a normed method: scores of turned templates cannot be compared else");
  if (s.prefilter_sigma > 0) return unsupported("poses cannot be searched with a prefilter");
  for (std::size_t i = 0; i < bank.size(); ++i) {
    const std::string name = "template " + std::to_string(i);
    if (bank[i].type != ElementType::u8)
      return {Code::unsupported, "poses of " + name + ": only those of u8 are searched"};
    if (bank[i].live)
      return {Code::unsupported, "poses of " + name + ": it is a live template, which may change"};
    const double shorter = std::min(bank[i].size.width, bank[i].size.height) * r.scale_min;
    if (shorter < 4)
      return {Code::invalid_argument, name + " has fewer than 4 pixels along a side at scale " +
                                          std::to_string(r.scale_min)};
  }
  return {};
}

/// Of a normed method.
double closeness_of(Method method, double score) {
  return info(method).minimum ? 1 - score : score;
}

}  // namespace

// ---- making ---------------------------------------------------------------------------------

Result<PosePlan> PosePlan::make(const Device& device, const std::vector<BankTemplate>& bank,
                                Size frame, const MatchSettings& asked, Stream stream) {
  MatchSettings settings = asked;
  if (settings.poses.scale_min > settings.poses.scale_max)
    std::swap(settings.poses.scale_min, settings.poses.scale_max);
  if (Status s = check(bank, settings); !s.ok()) return s;
  PosePlan plan;
  plan.device_ = device;
  plan.runtime_ = &runtime(device.backend);
  plan.frame_ = frame;
  plan.settings_ = asked;
  plan.region_ = searched_region(frame, settings.search_region);
  auto reader = FrameReader::make(device, ElementType::u8, plan.region_.size());
  if (!reader.ok()) return reader.status();
  plan.reader_ = std::move(reader.value());

  int top = 0;
  for (const BankTemplate& t : bank) {
    auto templ = PoseTemplate::make(device, t, settings.poses, plan.region_.size(), stream);
    if (!templ.ok()) return templ.status();
    auto pictures = templ.value().top_bank(stream);
    if (!pictures.ok()) return pictures.status();
    const int level = templ.value().grid().top();
    MatchSettings coarse;
    coarse.method = settings.method;
    coarse.kernel = is_tuning_requested(settings.kernel) ? "auto" : settings.kernel;
    coarse.threshold = coarse_threshold(settings, templ.value(), level);
    coarse.max_peaks = std::min(4 + 2 * settings.max_peaks, 64);
    // Places next to each other are one candidate, which the levels below refine.
    coarse.min_peak_distance = level > 0 ? 3 : settings.min_peak_distance;
    coarse.subpixel = false;
    const Size size{plan.region_.width >> level, plan.region_.height >> level};
    auto match =
        MatchPlan::make(device, pictures.value().pictures, ElementType::u8, size, coarse, stream);
    if (!match.ok()) return match.status();
    plan.searches_.push_back(
        {std::move(templ.value()), std::move(pictures.value().poses), std::move(match.value())});
    top = std::max(top, level);
  }
  if (Status s = plan.make_pyramid(top); !s.ok()) return s;
  return plan;
}

Status PosePlan::make_pyramid(int top) {
  Size size = region_.size();
  pyramid_.push_back({{}, size});
  for (int level = 1; level <= top; ++level) {
    size = half_of(size);
    const std::int64_t pitch = padded_pitch(size.width);
    auto block = Block::make(device_.backend, pitch * size.height);
    if (!block.ok()) return block.status();
    pyramid_.push_back({{block.value().as<std::uint8_t>(), pitch}, size});
    halved_.push_back(std::move(block.value()));
  }
  const auto variant = select_variant<stage::Halve>({size, 0, 0}, device_);
  if (!variant.ok()) return variant.status();
  halve_ = variant.value();
  return {};
}

bool PosePlan::adopt(const MatchSettings& settings) {
  MatchSettings same = settings;
  same.search_region = settings_.search_region;
  same.threshold = settings_.threshold;
  same.subpixel = settings_.subpixel;
  same.poses.max_overlap = settings_.poses.max_overlap;
  const Rect region = searched_region(frame_, settings.search_region);
  if (!(same == settings_) || region.size() != region_.size()) return false;
  for (Search& search : searches_) {
    MatchSettings coarse = search.top.settings();
    coarse.threshold = coarse_threshold(settings, search.templ, search.templ.grid().top());
    search.top.adopt(coarse);
  }
  settings_ = settings;
  region_ = region;
  return true;
}

// ---- a frame --------------------------------------------------------------------------------

Status PosePlan::enqueue(const MatrixView& frame, Stream stream) {
  finished_ = false;
  Status status = enqueue_levels(frame, stream);
  // There nothing waits, and the caller may change the frame after this.
  if (status.ok() && device_.backend == Backend::cpu) status = finish(stream);
  if (!status.ok()) static_cast<void>(runtime_->wait(stream));
  return status;
}

Status PosePlan::enqueue_levels(const MatrixView& frame, Stream stream) {
  if (searches_.empty() || region_.empty()) return {};
  const auto rows = reader_.read(frame, region_, stream);
  if (!rows.ok()) return rows.status();
  pyramid_[0].rows = rows.value();
  for (std::size_t level = 1; level < pyramid_.size(); ++level) {
    const PyramidLevel &from = pyramid_[level - 1], &to = pyramid_[level];
    const stage::Halve::Buffers buffers{
        {nullptr, stream}, from.rows.data, halved_[level - 1].as<std::uint8_t>()};
    if (Status s =
            halve_->launch({to.size, from.rows.pitch, to.rows.pitch}, device_, buffers, nullptr);
        !s.ok())
      return s;
  }
  for (Search& search : searches_) {
    const PyramidLevel& top = pyramid_[search.templ.grid().top()];
    const MatrixView view{top.rows.data, ElementType::u8, top.size, top.rows.pitch, Memory::device};
    if (Status s = search.top.enqueue(view, stream); !s.ok()) return s;
  }
  return {};
}

Status PosePlan::collect(std::vector<Peak>& peaks, Stream stream) {
  if (!finished_)
    if (Status s = finish(stream); !s.ok()) return s;
  peaks = peaks_;
  return {};
}

Status PosePlan::finish(Stream stream) {
  finished_ = true;
  peaks_.clear();
  if (region_.empty()) return {};
  for (std::uint32_t i = 0; i < searches_.size(); ++i) {
    Search& search = searches_[i];
    const int top = search.templ.grid().top();
    std::size_t most = most_candidates(settings_.max_peaks);
    std::vector<Found> found = candidates_of(search);
    if (top > 0) found = distinct(search, top, std::move(found), most);
    for (int level = top - 1; level >= search.lowest(); --level) {
      most = std::max<std::size_t>(most / 2, 4 + 2 * settings_.max_peaks);
      if (Status s = descend(search, level, found, most, stream); !s.ok()) return s;
    }
    if (Status s = append_peaks(i, search, std::move(found), stream); !s.ok()) return s;
  }
  return {};
}

std::vector<PosePlan::Found> PosePlan::candidates_of(const Search& search) const {
  std::vector<Peak> peaks;
  search.top.collect(peaks);
  std::vector<Found> found;
  for (const Peak& peak : peaks)
    found.push_back({peak.score, peak.closeness, 2 * static_cast<int>(peak.x) + peak.width - 1,
                     2 * static_cast<int>(peak.y) + peak.height - 1,
                     search.poses[peak.template_index]});
  std::ranges::stable_sort(found, std::ranges::greater{}, &Found::closeness);
  return found;
}

Status PosePlan::climb(Search& search, int level, std::vector<Found>& found, Stream stream) {
  const PoseGrid& grid = search.templ.grid();
  std::vector<PoseTry> tries;
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i].may_climb) continue;
    for (const PoseIndex pose : grid.around(level, found[i].pose)) {
      tries.push_back({pose, found[i].twice_x, found[i].twice_y});
      starts.push_back(i);
    }
  }
  std::vector<ProbedPlace> probed;
  const PyramidLevel& frame = pyramid_[std::max(level, 0)];
  if (Status s = search.templ.probe(level, frame, settings_.method, tries, probed, stream); !s.ok())
    return s;
  std::vector<Found> best = found;
  for (const std::size_t i : starts) best[i].closeness = unscored;
  for (std::size_t i = 0; i < tries.size(); ++i) {
    if (!probed[i].is_inside) continue;
    Found& one = best[starts[i]];
    const double closeness = closeness_of(settings_.method, probed[i].score);
    if (closeness <= one.closeness) continue;
    const TurnMap map = grid.map(level, tries[i].pose);
    one = {probed[i].score, closeness, 2 * probed[i].x + map.width - 1,
           2 * probed[i].y + map.height - 1, tries[i].pose};
    // At the rim of what was tried the best may lie past it.
    const Found& start = found[starts[i]];
    const int reach = 2 * (stage::Probe::reach - 1);
    one.may_climb = one.pose != start.pose || std::abs(one.twice_x - start.twice_x) > reach ||
                    std::abs(one.twice_y - start.twice_y) > reach;
  }
  found = std::move(best);
  return {};
}

Status PosePlan::descend(Search& search, int level, std::vector<Found>& found, std::size_t most,
                         Stream stream) {
  for (Found& one : found) {
    if (level >= 0) {  // the centre of pixel i lies at 2 i + 0.5 of the level below
      one.twice_x = 2 * one.twice_x + 1;
      one.twice_y = 2 * one.twice_y + 1;
    }
    one.pose = PoseGrid::below(one.pose);
    one.may_climb = true;
  }
  if (Status s = climb(search, level, found, stream); !s.ok()) return s;
  const double least = coarse_threshold(settings_, search.templ, level);
  std::erase_if(found, [least](const Found& f) { return f.closeness < least; });
  std::ranges::stable_sort(found, std::ranges::greater{}, &Found::closeness);
  found = distinct(search, level, std::move(found), most);
  // Only at full size, where few are left, until they have arrived.
  constexpr int more_rounds = 3;
  for (int round = 0; level == 0 && round < more_rounds; ++round)
    if (Status s = climb(search, level, found, stream); !s.ok()) return s;
  return {};
}

std::vector<PosePlan::Found> PosePlan::distinct(const Search& search, int level,
                                                std::vector<Found> found, std::size_t most) const {
  const PoseGrid& grid = search.templ.grid();
  const Size size = search.templ.size();
  // Within a quarter of the template, as long as the pose is nearly the same: a part that looks
  // alike at two angles is two candidates until full size tells.
  const double near =
      std::max(std::ldexp(0.25 * std::min(size.width, size.height), -std::max(level, 0)), 1.0);
  const auto same = [&](const Found& a, const Found& b) {
    const double dx = 0.5 * (a.twice_x - b.twice_x), dy = 0.5 * (a.twice_y - b.twice_y);
    if (dx * dx + dy * dy >= near * near) return false;
    const double turn =
        std::remainder(grid.angle(level, a.pose) - grid.angle(level, b.pose), 2 * std::numbers::pi);
    const double zoom = std::log(grid.scale(level, a.pose) / grid.scale(level, b.pose));
    return std::abs(turn) <= 1.6 * grid.angle_step(level) + 1e-9 &&
           std::abs(zoom) <= 1.6 * grid.scale_step(level) + 1e-9;
  };
  std::vector<Found> kept;
  for (const Found& one : found) {
    if (kept.size() >= most) break;
    if (std::ranges::none_of(kept, [&](const Found& other) { return same(one, other); }))
      kept.push_back(one);
  }
  return kept;
}

// ---- peaks ----------------------------------------------------------------------------------

Pose PosePlan::pose_of(const Search& search, const Found& found) const {
  const PoseGrid& grid = search.templ.grid();
  const double angle = grid.angle(search.lowest(), found.pose);
  const double scale = grid.scale(search.lowest(), found.pose);
  const Size size = search.templ.size();
  return {0.5 * found.twice_x, 0.5 * found.twice_y, angle / degree, scale,
          scale * size.width,  scale * size.height};
}

std::vector<PosePlan::Found> PosePlan::suppressed(const Search& search,
                                                  std::vector<Found> found) const {
  std::vector<Found> kept;
  std::vector<Pose> covered;
  for (const Found& one : found) {
    if (static_cast<int>(kept.size()) == settings_.max_peaks || one.closeness < settings_.threshold)
      break;
    const Pose here = pose_of(search, one);
    const double distance = settings_.min_peak_distance;
    const bool hidden = std::ranges::any_of(covered, [&](const Pose& other) {
      return (std::abs(here.center_x - other.center_x) < distance &&
              std::abs(here.center_y - other.center_y) < distance) ||
             overlap_of(here, other) > settings_.poses.max_overlap;
    });
    if (hidden) continue;
    covered.push_back(here);
    kept.push_back(one);
  }
  return kept;
}

Status PosePlan::append_peaks(std::uint32_t index, Search& search, std::vector<Found> found,
                              Stream stream) {
  // The last steps may have changed the order, or led two to the same place.
  std::ranges::stable_sort(found, std::ranges::greater{}, &Found::closeness);
  const std::vector<Found> kept = suppressed(search, std::move(found));
  const PoseGrid& grid = search.templ.grid();
  std::vector<AlignedPose> starts;
  for (const Found& one : kept) {
    const Pose pose = pose_of(search, one);
    const double angle = pose.angle * degree;
    starts.push_back({pose.center_x, pose.center_y, std::cos(angle), std::sin(angle), pose.scale});
  }
  std::vector<Alignment> alignments;
  for (const AlignedPose& start : starts) alignments.push_back({start, 0});
  if (settings_.subpixel)
    if (Status s = search.templ.align(pyramid_[0], {grid.turns(), grid.scales()}, starts,
                                      alignments, stream);
        !s.ok())
      return s;
  const Size size = search.templ.size();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const AlignedPose& pose = alignments[i].pose;
    const double cosine = std::abs(pose.cosine), sine = std::abs(pose.sine);
    const Pose found_pose{
        region_.x + pose.x, region_.y + pose.y,      std::atan2(pose.sine, pose.cosine) / degree,
        pose.scale,         pose.scale * size.width, pose.scale * size.height};
    const double width = cosine * found_pose.width + sine * found_pose.height;
    const double height = sine * found_pose.width + cosine * found_pose.height;
    peaks_.push_back({index, found_pose.center_x - 0.5 * (width - 1),
                      found_pose.center_y - 0.5 * (height - 1),
                      static_cast<int>(std::lround(width)), static_cast<int>(std::lround(height)),
                      kept[i].score, kept[i].closeness, found_pose});
  }
  return {};
}

}  // namespace xcorr
