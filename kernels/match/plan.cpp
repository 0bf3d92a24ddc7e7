// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a plan is made: its groups and the memory that they share.
#include "match/plan.hpp"

#include <algorithm>
#include <numeric>
#include <string>

namespace xcorr {
namespace {

constexpr std::size_t most_lanes = 6;
/// Bytes that lanes may have together: beyond that groups are so large that they fill a GPU.
constexpr std::size_t lane_budget = std::size_t{256} << 20;
/// Where it pays to bound scores first: the places that make up for the launches more, and those
/// for which bounds fit into little memory.
constexpr std::int64_t least_bounded_places = 1 << 19, most_bounded_places = 1 << 24;
/// Bytes that the window sums of a batch of windows may have: larger ones fill a GPU one by one.
constexpr std::int64_t most_window_bytes = std::int64_t{512} << 20;

struct Request {
  Block* block;
  std::size_t bytes;
  Memory memory = Memory::device;
};

Status make_blocks(Backend backend, std::initializer_list<Request> requests) {
  for (const Request& request : requests) {
    auto block = Block::make(backend, request.bytes, request.memory);
    if (!block.ok()) return block.status();
    *request.block = std::move(block.value());
  }
  return {};
}

Status make_stream(Backend backend, SideStream& side) {
  auto made = SideStream::make(backend);
  if (made.ok()) side = std::move(made.value());
  return made.status();
}

}  // namespace

Rect places_in(const Rect& region, Size size) {
  if (size.width > region.width || size.height > region.height) return {};
  const Rect shifts = valid_shifts(region.size(), size);
  return {region.x, region.y, shifts.width, shifts.height};
}

MatchProblem problem_of_group(ElementType type, Size region, const GroupKey& group, int count,
                              const MatchSettings& settings) {
  const Size size = group.size();
  MatchProblem p;
  p.masking = masking_of(group.mask, size);
  if (p.masking.weighted) type = ElementType::u16;
  p.correlate = dense_problem(type, count == 1 ? Form::one_to_one : Form::one_to_many, region, size,
                              1, count, valid_shifts(region, size));
  p.correlate.planes = planes_of(settings);
  const std::int64_t places = p.correlate.shifts.size().area();
  if (settings.match_on == MatchOn::color && settings.method == Method::ccoeff_normed &&
      settings.max_peaks == 1 && places >= least_bounded_places && places <= most_bounded_places)
    p.lead_plane = 0;
  p.products = p.correlate.output_type();
  p.method = method_of(settings);
  p.contrast = contrast_of(settings);
  p.max_peaks = settings.max_peaks;
  p.approximate = settings.approximate && !settings.poses.any();
  p.confirms = settings.confirm_threshold > 0;
  const Size distance = peak_distance(settings.min_peak_distance, group.whole(), region);
  p.distance_x = distance.width;
  p.distance_y = distance.height;
  return p;
}

MatchPlan::MatchPlan(const Device& device, ElementType type, Size frame,
                     const MatchSettings& settings)
    : device_(device),
      runtime_(&runtime(device.backend)),
      type_(type),
      frame_(frame),
      settings_(settings),
      region_(searched_region(frame, settings.search_region)) {}

Result<MatchPlan> MatchPlan::make(const Device& device, const std::vector<BankTemplate>& bank,
                                  ElementType type, Size frame, const MatchSettings& settings,
                                  Stream stream, const KernelOfGroup& kernels, Memory memory,
                                  bool is_coarse, const stage::Search::PruningBound& pruning_bound,
                                  double overhang, bool has_edges) {
  MatchPlan plan(device, type, frame, settings);
  plan.overhang_ = overhang;
  if (overhang >= 0 && !plan.region_.empty()) plan.padding_ = overhang_of(bank, overhang);
  if (Status s = plan.make_padding(stream); !s.ok()) return s;
  if (is_on_edges(settings.match_on) && !has_edges)
    if (Status s = plan.make_edges(bank, stream); !s.ok()) return s;
  const std::vector<BankTemplate>& compared = plan.edge_bank_ ? plan.edge_bank_->bank() : bank;
  Size read = plan.edges_ ? plan.edges_->max_read() : plan.region_.size();
  const Size region = plan.padded_region();
  if (settings.prefilter_sigma > 0 && !plan.region_.empty()) {
    auto filter =
        Prefilter::make(device, type, frame, read, settings.prefilter_sigma, planes_read(settings));
    if (!filter.ok()) return filter.status();
    plan.prefilter_ = std::move(filter.value());
    read = plan.prefilter_->max_read();
  }

  for (const auto& [key, members] : groups_of(compared, region, settings)) {
    const auto own = kernels.find(key);
    const int count = static_cast<int>(members.size());
    MatchProblem problem = problem_of_group(type, region, key, count, settings);
    problem.overhang = plan.overhang();
    problem.is_coarse = is_coarse;
    problem.pruning_bound = pruning_bound;
    if (Status s = plan.add_group(compared, members, problem,
                                  own == kernels.end() ? settings.kernel : own->second);
        !s.ok())
      return s;
  }
  if (Status s = plan.make_widener(); !s.ok()) return s;
  if (Status s = check_work(plan.seconds_, settings.budget,
                            "the search for " + std::to_string(plan.matched_) + " templates");
      !s.ok())
    return s;
  if (is_coarse)
    if (Status s = plan.prepare_coarse_search(stream); !s.ok()) return s;
  auto reader = FrameReader::make(device, type, read, true, planes_read(settings));
  if (!reader.ok()) return reader.status();
  plan.reader_ = std::move(reader.value());
  if (Status s = plan.finish(compared, stream, memory); !s.ok()) return s;
  return plan;
}

Status MatchPlan::make_padding(Stream stream) {
  if (padding_ == Size{}) return {};
  const Size size = padded_region();
  const auto bytes = static_cast<std::size_t>(
      planes_of(settings_) * size.height *
      padded_pitch(size.width * static_cast<std::int64_t>(size_of(type_))));
  const std::vector<std::byte> zeros(bytes);
  if (Status s = upload(device_.backend, padded_, zeros.data(), bytes, stream); !s.ok()) return s;
  return runtime_->wait(stream);
}

Status MatchPlan::make_widener() {
  if (std::ranges::none_of(groups_, &TemplateGroup::is_weighted)) return {};
  auto made = Widener::make(device_, region_.size(), planes_of(settings_));
  if (made.ok()) widener_ = std::move(made.value());
  return made.status();
}

Status MatchPlan::make_edges(const std::vector<BankTemplate>& bank, Stream stream) {
  auto templates = EdgeBank::make(device_, bank, settings_, stream);
  if (!templates.ok()) return templates.status();
  edge_bank_ = std::move(templates.value());
  if (region_.empty()) return {};
  auto maker = EdgeMaker::make(device_, frame_, region_.size(), frame_edge_rule(settings_),
                               planes_read(settings_));
  if (!maker.ok()) return maker.status();
  edges_ = std::move(maker.value());
  return {};
}

Result<MatchPlan> MatchPlan::make_for_windows(const Device& device,
                                              const std::vector<BankTemplate>& bank, Size frame,
                                              const MatchSettings& settings, Stream stream) {
  if (device.backend == Backend::cpu || settings.prefilter_sigma > 0 || settings.weights ||
      is_on_edges(settings.match_on))
    return unable_kernel(stage::Search::name, "", device.backend);
  MatchPlan plan(device, bank.front().type, frame, settings);
  const Size window = plan.region_.size();
  const int count = static_cast<int>(bank.size());
  std::vector<std::uint32_t> members(bank.size());
  std::iota(members.begin(), members.end(), 0);
  MatchProblem problem =
      problem_of_group(plan.type_, window, GroupKey(bank.front()), count, settings);
  problem.correlate.own_lefts = true;
  problem.correlate.left_pitch = padded_pitch(window.width);
  problem.correlate.left_stride = problem.correlate.left_pitch * window.height;
  problem.correlate.left_plane = count * problem.correlate.left_stride;
  if (window_sums_of(problem.correlate).bytes > most_window_bytes)
    return unable_kernel(stage::Search::name, "", device.backend);
  if (Status s = plan.add_group(bank, members, problem, settings.kernel); !s.ok()) return s;
  auto reader = WindowReader::make(device, window, count, planes_read(settings));
  if (!reader.ok()) return reader.status();
  plan.windows_ = std::move(reader.value());
  if (Status s = plan.finish(bank, stream); !s.ok()) return s;
  return plan;
}

Status MatchPlan::add_group(const std::vector<BankTemplate>& bank,
                            const std::vector<std::uint32_t>& members, const MatchProblem& problem,
                            const std::string& kernel) {
  // Templates have been smoothed before their edges were made.
  const double sigma = edge_bank_ ? 0 : settings_.prefilter_sigma;
  auto group = TemplateGroup::make(device_, bank, members, problem, kernel, sigma);
  if (!group.ok()) return group.status();
  seconds_ += group.value().seconds();
  groups_.push_back(std::move(group.value()));
  firsts_.push_back(matched_);
  matched_ += members.size();
  return {};
}

Status MatchPlan::prepare_coarse_search(Stream stream) {
  if (groups_.empty()) return {};
  const auto first_of = [&](std::size_t group) { return static_cast<int>(firsts_[group]); };
  for (std::size_t i = 0; i < groups_.size(); ++i)
    if (!groups_[i].can_search_coarsely(first_of(i))) return {};
  const bool one_kernel = is_choice_left(settings_.kernel);
  for (std::size_t i = 0; i < groups_.size(); ++i)
    if (Status s = groups_[i].prepare_coarse_search(first_of(i), one_kernel); !s.ok()) return s;
  const std::size_t keys = matched_ * CoarseCells(region_.size()).count();
  if (Status s =
          make_blocks(device_.backend, {{&best_, keys * sizeof(CoarseKey)}, {&wanted_, matched_}});
      !s.ok())
    return s;
  const std::vector<std::uint8_t> all(matched_, 1);
  return runtime_->copy(bytes_copy(wanted_.data(), all.data(), matched_), Memory::host,
                        Memory::device, stream);
}

Status MatchPlan::finish(const std::vector<BankTemplate>& bank, Stream stream, Memory memory) {
  if (Status s = allocate(memory); !s.ok()) return s;
  for (std::size_t i = 0; i < groups_.size(); ++i)
    if (Status s = groups_[i].load(bank, results_of(i), stream); !s.ok()) return s;
  return runtime_->wait(stream);
}

Status MatchPlan::allocate(Memory memory) {
  if (Status s = make_lanes(); !s.ok()) return s;
  sizes_.peaks = matched_ * settings_.max_peaks;
  sizes_.templates = matched_;
  sizes_.planes = planes_of(settings_);
  if (Status s = make_blocks(device_.backend, {{&candidates_, sizes_.peaks * sizeof(Candidate)},
                                               {&counts_, matched_ * sizeof(std::uint32_t)},
                                               {&results_, sizes_.bytes(), memory}});
      !s.ok())
    return s;
  if (memory == Memory::host) std::fill_n(sizes_.open_shares_in(results_), matched_, 0.0F);
  return {};
}

Status MatchPlan::make_lanes() {
  MatchScratchSizes sizes;
  for (const TemplateGroup& group : groups_) group.add_needs(sizes);
  std::size_t lanes = 1;
  if (device_.backend == Backend::cuda) {
    const std::size_t fit = lane_budget / std::max<std::size_t>(sizes.bytes(), 1);
    lanes = std::max<std::size_t>(std::min({groups_.size(), most_lanes, fit}), 1);
  }
  for (std::size_t i = 0; i < lanes; ++i) {
    Lane& lane = lanes_.emplace_back();
    if (Status s = make_stream(device_.backend, lane.side); !s.ok()) return s;
    if (i > 0)
      if (Status s = make_stream(device_.backend, lane.own); !s.ok()) return s;
    if (Status s =
            make_blocks(device_.backend, {{&lane.scratch.products, sizes.products},
                                          {&lane.scratch.scores, sizes.scores},
                                          {&lane.scratch.window_sums, sizes.window_sums},
                                          {&lane.scratch.window_squares, sizes.window_squares},
                                          {&lane.scratch.workspace, sizes.workspace},
                                          {&lane.scratch.side_workspace, sizes.side_workspace}});
        !s.ok())
      return s;
  }
  return {};
}

MatchResults MatchPlan::results_of(std::size_t group) const {
  const std::size_t first = firsts_[group], first_peak = first * settings_.max_peaks;
  return {
      sizes_.peaks_in(results_) + first_peak,
      sizes_.fits_in(results_) + first_peak,
      sizes_.differences_in(results_) + first_peak,
      sizes_.counts_in(results_) + first,
      sizes_.sums_in(results_) + sizes_.planes * first,
      candidates_.as<Candidate>() + first_peak,
      counts_.as<std::uint32_t>() + first,
      best_.data() ? best_.as<CoarseKey>() + first * CoarseCells(region_.size()).count() : nullptr,
      results_.memory() == Memory::host ? sizes_.open_shares_in(results_) + first : nullptr};
}

bool MatchPlan::adopt(const MatchSettings& settings) {
  // Kernels are chosen, and have memory, for a method.
  if (settings.method != settings_.method) return false;
  // A search without surfaces knows no contrast.
  if (settings.polarity != settings_.polarity || settings.min_contrast != settings_.min_contrast)
    return false;
  if ((settings.confirm_threshold > 0) != (settings_.confirm_threshold > 0)) return false;
  if (settings.max_peaks != settings_.max_peaks || settings.kernel != settings_.kernel ||
      settings.min_peak_distance != settings_.min_peak_distance ||
      settings.approximate != settings_.approximate ||
      settings.prefilter_sigma != settings_.prefilter_sigma || settings.poses != settings_.poses ||
      settings.budget != settings_.budget || settings.match_on != settings_.match_on ||
      settings.edge_contrast != settings_.edge_contrast ||
      settings.overhang != settings_.overhang || settings.weights != settings_.weights)
    return false;
  const Rect region = searched_region(frame_, settings.search_region);
  if (region.size() != region_.size()) return false;
  settings_ = settings;
  region_ = region;
  return true;
}

std::vector<MatchPlan::Slot> MatchPlan::slots() const {
  std::vector<Slot> slots;
  for (const TemplateGroup& group : groups_)
    for (const TemplateGroup::Member& member : group.members())
      slots.push_back({member.index, group.problem().correlate.right});
  return slots;
}

TemplateResults MatchPlan::results() const {
  return {sizes_.peaks_in(results_), sizes_.counts_in(results_), best_.as<CoarseKey>(),
          wanted_.as<std::uint8_t>()};
}

bool MatchPlan::fits(std::uint32_t index) const {
  const auto slots = this->slots();
  return std::ranges::any_of(slots, [&](const Slot& slot) { return slot.index == index; });
}

Rect MatchPlan::places(Size size) const { return places_in(region_, size); }

}  // namespace xcorr
