// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a plan is made, and a frame's way through it.
#include "match/poses/plan.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "match/poses/cost.hpp"
#include "match/task.hpp"

namespace xcorr {
namespace {

constexpr double degree = std::numbers::pi / 180;

/// More angles or scales than that are a slip.
constexpr double most_steps = 1e5;

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
  const auto [smallest, largest] = std::minmax(r.scale_min, r.scale_max);
  if (!(smallest >= 0.1 && largest <= 10))
    return bad("scale_min and scale_max must be in [0.1, 10]");
  if (!(r.scale_step >= 0 && r.scale_step <= 1)) return bad("scale_step must be in [0, 1]");
  if (r.angle_step > 0 && r.angle_extent / r.angle_step > most_steps)
    return bad("angle_step makes too many angles");
  if (r.scale_step > 0 &&
      std::abs(std::log(r.scale_max / r.scale_min)) / std::log1p(r.scale_step) > most_steps)
    return bad("scale_step makes too many scales");
  if (r.pyramid_levels < -1 || r.pyramid_levels > 8)
    return bad("pyramid_levels must be in [-1, 8]");
  if (!info(method_of(s)).normed)
    return unsupported(
        "poses need a normed method: scores of turned templates cannot be compared else");
  if (s.prefilter_sigma > 0) return unsupported("poses cannot be searched with a prefilter");
  for (std::size_t i = 0; i < bank.size(); ++i) {
    const std::string name = "template " + std::to_string(i);
    const double shorter = std::min(bank[i].size.width, bank[i].size.height) * smallest;
    if (shorter < least_template_side)
      return {Code::invalid_argument,
              name + " has fewer than 4 pixels along a side at scale " + std::to_string(smallest)};
    if (const int most = pyramid_of(bank[i].size).halvings; r.pyramid_levels > most)
      return {Code::invalid_argument,
              "pyramid_levels of " + std::to_string(r.pyramid_levels) + ": " + name + " of " +
                  std::to_string(bank[i].size.width) + "x" + std::to_string(bank[i].size.height) +
                  " pixels can be halved " + std::to_string(most) + " times"};
  }
  return {};
}

/// A recording searches all images of a coarse search, which then must not be more scores than
/// that: a GPU has them sooner than the launches of those that are wanted.
constexpr std::int64_t most_recorded_scores = std::int64_t{1} << 22;

/// Of the images at these poses, those whose poses are in the vicinity, with half a step of the
/// grid round it, and the nearest ones.
std::vector<bool> near_ones(const PoseGrid& grid, std::span<const PoseParts> poses,
                            const PoseVicinity& vicinity) {
  const auto past = [](double distance, double reach, double step) {
    return step > 0 ? std::max(std::abs(distance) - reach, 0.0) / step : 0;
  };
  const double angle_step = grid.angle_step(grid.top()) / degree,
               scale_step = grid.scale_step(grid.top());
  const double log_scale = std::log(vicinity.scale), log_growth = std::log1p(vicinity.growth);
  std::vector<double> distances;
  for (const PoseParts& pose : poses) {
    const double turned = std::remainder(pose.angle - vicinity.angle, 360);
    distances.push_back(std::max(past(turned, vicinity.turn, angle_step),
                                 past(pose.log_scale - log_scale, log_growth, scale_step)));
  }
  const double least = std::max(0.5, distances.empty() ? 0 : *std::ranges::min_element(distances));
  std::vector<bool> near;
  for (const double distance : distances) near.push_back(distance <= least);
  return near;
}

}  // namespace

Result<PosePlan> PosePlan::make(const Device& device, const std::vector<BankTemplate>& bank,
                                ElementType type, Size frame, const MatchSettings& settings,
                                Stream stream) {
  if (Status s = check(bank, settings); !s.ok()) return s;
  if (settings.overhang > 0 && device.backend == Backend::cuda)
    return Status(Code::unsupported,
                  "poses that stick out of the frame are searched by the CPU only");
  PosePlan plan;
  plan.device_ = device;
  plan.runtime_ = &runtime(device.backend);
  plan.type_ = type;
  plan.frame_ = frame;
  plan.settings_ = settings;
  plan.region_ = searched_region(frame, settings.search_region);
  Size read = plan.region_.size();
  std::vector<WarpEdges> edges(bank.size());
  if (is_on_edges(settings.match_on)) {
    // Says which template has too few.
    const auto upright = EdgeBank::make(device, bank, settings, stream);
    if (!upright.ok()) return upright.status();
    for (std::size_t i = 0; i < bank.size(); ++i)
      edges[i] = {true, upright.value().rule(i), 0, 0, planes_read(settings)};
  }
  if (is_on_edges(settings.match_on) && !plan.region_.empty()) {
    auto maker =
        EdgeMaker::make(device, frame, read, frame_edge_rule(settings), planes_read(settings));
    if (!maker.ok()) return maker.status();
    plan.edges_ = std::move(maker.value());
    read = plan.edges_->max_read();
  }
  auto reader = FrameReader::make(device, type, read, true, planes_read(settings));
  if (!reader.ok()) return reader.status();
  plan.reader_ = std::move(reader.value());

  plan.pyramid_.push_back({{}, plan.region_.size()});
  for (std::size_t i = 0; i < bank.size(); ++i)
    if (Status s = plan.add(bank[i], edges[i], stream); !s.ok()) return s;
  if (Status s = plan.make_pyramid(); !s.ok()) return s;
  plan.is_recorded_ = plan.can_be_recorded();
  if (plan.is_recorded_)
    if (Status s = plan.make_window(); !s.ok()) return s;
  return plan;
}

Status PosePlan::add(const BankTemplate& t, const WarpEdges& edges, Stream stream) {
  PoseRange range = settings_.poses;
  if (range.exhaustive) range.pyramid_levels = 0;
  if (range.scale_min > range.scale_max) std::swap(range.scale_min, range.scale_max);
  BankTemplate weighed = t;
  if (!settings_.weights) weighed.weights.clear();
  auto made = PoseTemplate::make(device_, weighed, planes_of(settings_), edges, range,
                                 region_.size(), stream);
  if (!made.ok()) return made.status();
  PoseTemplate& templ = made.value();
  // What is followed may shrink: it is sought near where it was seen.
  if (edges.made && !range.vicinity) {
    const auto fewest = templ.fewest_edges(stream);
    if (!fewest.ok()) return fewest.status();
    if (Status s = enough_edges(searches_.size(), range.scale_min, fewest.value(), edges.rule);
        !s.ok())
      return s;
  }
  const int level = templ.grid().top();
  const auto seconds =
      pose_search_cost(templ, size_of_level(level), device_, settings_.budget, seconds_);
  if (!seconds.ok()) return seconds.status();
  seconds_ += seconds.value();
  auto images = templ.top_bank(stream);
  if (!images.ok()) return images.status();
  while (static_cast<int>(pyramid_.size()) <= level)
    pyramid_.push_back({{}, size_of_level(static_cast<int>(pyramid_.size()))});
  MatchSettings coarse;
  coarse.match_on = settings_.match_on;
  coarse.method = settings_.method;
  coarse.polarity = settings_.polarity;
  coarse.min_contrast = PoseDescent::contrast_at(settings_, level).least;
  coarse.kernel = is_tuning_requested(settings_.kernel) ? "auto" : settings_.kernel;
  coarse.threshold = PoseDescent::least_similarity(templ, settings_.threshold, level);
  coarse.max_peaks = std::min(4 + 2 * settings_.max_peaks, most_peaks);
  // Places near each other are one candidate, which the levels below refine.
  const double smaller =
      std::ldexp(std::min(t.size.width, t.size.height) * range.scale_min, -level);
  coarse.min_peak_distance =
      level > 0 ? std::max(3, static_cast<int>(smaller / 4)) : settings_.min_peak_distance;
  coarse.subpixel = Subpixel::none;
  // What sticks out is not searched coarsely.
  const bool is_coarse = level > 0 && settings_.overhang == 0;
  auto top = MatchPlan::make(device_, images.value().images, type_, pyramid_[level].size, coarse,
                             stream, {}, Memory::device, is_coarse,
                             level > 0 ? stage::Search::PruningBound()
                                       : PoseDescent::pruning_bound_at_full_size(templ, settings_),
                             PoseDescent::overhang_at(settings_, level), edges.made);
  if (!top.ok()) return top.status();
  std::vector<Size> sizes;
  for (const PyramidLevel& one : pyramid_) sizes.push_back(one.size);
  auto descent =
      PoseDescent::make(device_, templ, top.value(), images.value(), sizes, settings_, stream);
  if (!descent.ok()) return descent.status();
  std::vector<PoseParts> poses;
  for (const PoseIndex pose : images.value().poses)
    poses.push_back(
        {templ.grid().angle(level, pose) / degree, std::log(templ.grid().scale(level, pose))});
  std::vector<bool> all(poses.size(), true);
  searches_.push_back({std::move(templ), std::move(top.value()), std::move(descent.value()),
                       std::move(poses), std::move(all)});
  return {};
}

Size PosePlan::size_of_level(int level) const {
  const auto length = [&](int of_frame) {
    const int unit = 1 << level;
    return (of_frame + unit - 1) / unit + 2 * PoseDescent::rim_at(settings_, level);
  };
  return {length(region_.width), length(region_.height)};
}

Status PosePlan::make_pyramid() {
  for (std::size_t level = 1; level < pyramid_.size(); ++level) {
    PyramidLevel& made = pyramid_[level];
    made.rows.pitch = padded_pitch(made.size.width * static_cast<std::int64_t>(size_of(type_)));
    made.rows.plane = made.rows.pitch * made.size.height;
    auto block = Block::make(device_.backend, planes_of(settings_) * made.rows.plane);
    if (!block.ok()) return block.status();
    made.rows.data = block.value().as<std::uint8_t>();
    halved_.push_back(std::move(block.value()));
  }
  const auto variant = select_variant<stage::PyramidDown>(
      {region_.size(), size_of_level(1), 0, 0, type_, 0, planes_of(settings_)}, device_);
  if (!variant.ok()) return variant.status();
  pyramid_down_ = variant.value();
  return {};
}

bool PosePlan::can_be_recorded() const {
  // What is recorded reads one plane, at a place of its own.
  if (device_.backend == Backend::cpu || planes_of(settings_) > 1) return false;
  std::int64_t scores = 0;
  for (const Search& search : searches_) {
    if (search.templ.is_live() || !search.top.is_coarse_search()) return false;
    scores += std::ssize(search.poses) * search.top.region().area();
  }
  return scores <= most_recorded_scores;
}

Status PosePlan::make_window() {
  auto block = Block::make(device_.backend, padded_pitch(region_.width) * region_.height);
  if (block.ok()) window_ = std::move(block.value());
  return block.status();
}

bool PosePlan::adopt(const MatchSettings& settings) {
  MatchSettings same = settings;
  same.search_region = settings_.search_region;
  same.threshold = settings_.threshold;
  same.subpixel = settings_.subpixel;
  same.best_template = settings_.best_template;
  if (settings_.confirm_threshold > 0 && settings.confirm_threshold > 0)
    same.confirm_threshold = settings_.confirm_threshold;
  same.poses.max_overlap = settings_.poses.max_overlap;
  same.poses.vicinity = settings_.poses.vicinity;
  const Rect region = searched_region(frame_, settings.search_region);
  if (!(same == settings_) || region.size() != region_.size()) return false;
  for (Search& search : searches_) {
    MatchSettings coarse = search.top.settings();
    coarse.threshold =
        PoseDescent::least_similarity(search.templ, settings.threshold, search.templ.grid().top());
    search.top.adopt(coarse);
  }
  if (settings.threshold != settings_.threshold ||
      settings.poses.vicinity.has_value() != settings_.poses.vicinity.has_value())
    recording_ = {};
  settings_ = settings;
  region_ = region;
  return true;
}

Status PosePlan::enqueue(const MatrixView& frame, Stream stream) {
  Status status = enqueue_levels(frame, stream);
  if (!status.ok()) static_cast<void>(runtime_->wait(stream));
  return status;
}

Status PosePlan::enqueue_levels(const MatrixView& frame, Stream stream) {
  if (searches_.empty() || region_.empty()) return {};
  if (Status s = read(frame, stream); !s.ok()) return s;
  for (Search& search : searches_) {
    if (Status s = select(search, stream); !s.ok()) return s;
    if (Status s = search.templ.refresh(search.wanted, stream); !s.ok()) return s;
  }
  if (is_recorded_ && !recording_) {
    auto made = Recording::make(device_.backend, [&](Stream own) {
      const PacedScope unpaced(false);  // nothing is waited for meanwhile
      return enqueue_search(own);
    });
    if (made.ok()) recording_ = std::move(made.value());
    // Launches do the same.
    is_recorded_ = made.ok();
  }
  return is_recorded_ ? recording_.run(stream) : enqueue_search(stream);
}

Status PosePlan::read(const MatrixView& frame, Stream stream) {
  const Rect seen = edges_ ? edges_->reads(region_) : region_;
  auto rows = reader_.read(frame, seen, stream, is_recorded_ ? &window_ : nullptr);
  if (rows.ok() && edges_) {
    const auto [pixels, from, plane] = rows.value();
    pixels_ = {pixels + (region_.y - seen.y) * from + region_.x - seen.x, from, plane};
    rows = edges_->run(rows.value(), region_, stream);
  }
  if (!rows.ok()) return rows.status();
  pyramid_[0].rows = rows.value();
  const auto& [data, pitch, plane] = rows.value();
  if (!is_recorded_ || data == window_.data()) return {};
  const std::int64_t own_pitch = padded_pitch(region_.width);
  pyramid_[0].rows = {window_.as<std::uint8_t>(), own_pitch};
  return runtime_->copy({window_.data(), own_pitch, data, pitch, std::size_t(region_.width),
                         std::size_t(region_.height)},
                        Memory::device, Memory::device, stream);
}

Status PosePlan::enqueue_search(Stream stream) {
  for (std::size_t level = 1; level < pyramid_.size(); ++level) {
    const PyramidLevel &from = pyramid_[level - 1], &to = pyramid_[level];
    const stage::PyramidDown::Problem halving{
        from.size,
        to.size,
        from.rows.pitch,
        to.rows.pitch,
        type_,
        PoseDescent::before_at(settings_, static_cast<int>(level)),
        planes_of(settings_),
        from.rows.plane,
        to.rows.plane};
    if (Status s = pyramid_down_->launch(
            halving, device_, {{nullptr, stream}, from.rows.data, halved_[level - 1].data()},
            nullptr);
        !s.ok())
      return s;
  }
  for (Search& search : searches_) {
    const PyramidLevel& top = pyramid_[search.templ.grid().top()];
    if (Status s = search.top.enqueue(top.rows, stream); !s.ok()) return s;
    if (Status s = search.descent.enqueue(search.templ, pyramid_, pixels_, settings_.threshold,
                                          settings_.poses.vicinity.has_value(), stream);
        !s.ok())
      return s;
  }
  return {};
}

Status PosePlan::select(Search& search, Stream stream) {
  if (search.selected == settings_.poses.vicinity) return {};
  search.wanted = settings_.poses.vicinity
                      ? near_ones(search.templ.grid(), search.poses, *settings_.poses.vicinity)
                      : std::vector<bool>(search.poses.size(), true);
  if (Status s = is_recorded_ ? search.top.mark(search.wanted, stream)
                              : search.top.select(search.wanted, stream);
      !s.ok())
    return s;
  search.selected = settings_.poses.vicinity;
  return {};
}

}  // namespace xcorr
