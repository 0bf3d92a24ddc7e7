// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/plan.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>

namespace xcorr {
namespace {

constexpr std::size_t most_lanes = 6;
/// Bytes that lanes may have together: beyond that groups are so large that they fill a GPU.
constexpr std::size_t lane_budget = std::size_t{256} << 20;

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
  p.correlate = dense_problem(type, count == 1 ? Form::one_to_one : Form::one_to_many, region, size,
                              1, count, valid_shifts(region, size));
  p.correlate.planes = planes_of(settings);
  p.products = p.correlate.output_type();
  p.method = settings.method;
  p.contrast = {settings.polarity, settings.min_contrast};
  p.max_peaks = settings.max_peaks;
  p.approximate = settings.approximate && !settings.poses.any();
  p.masking = masking_of(group.mask, size);
  const Size distance = peak_distance(settings.min_peak_distance, size, region);
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
                                  double overhang) {
  MatchPlan plan(device, type, frame, settings);
  plan.overhang_ = overhang;
  if (overhang >= 0 && !plan.region_.empty()) plan.padding_ = overhang_of(bank, overhang);
  if (Status s = plan.make_padding(stream); !s.ok()) return s;
  const Size region = plan.padded_region();
  if (settings.prefilter_sigma > 0 && !plan.region_.empty()) {
    auto filter = Prefilter::make(device, type, frame, plan.region_.size(),
                                  settings.prefilter_sigma, planes_of(settings));
    if (!filter.ok()) return filter.status();
    plan.prefilter_ = std::move(filter.value());
  }

  for (const auto& [key, members] : groups_of(bank, region)) {
    const auto own = kernels.find(key);
    const int count = static_cast<int>(members.size());
    MatchProblem problem = problem_of_group(type, region, key, count, settings);
    problem.overhang = plan.overhang();
    problem.is_coarse = is_coarse;
    problem.pruning_bound = pruning_bound;
    if (Status s = plan.add_group(bank, members, problem,
                                  own == kernels.end() ? settings.kernel : own->second);
        !s.ok())
      return s;
  }
  if (Status s = check_work(plan.seconds_, settings.budget,
                            "the search for " + std::to_string(plan.matched_) + " templates");
      !s.ok())
    return s;
  if (is_coarse)
    if (Status s = plan.prepare_coarse_search(stream); !s.ok()) return s;
  auto reader = FrameReader::make(
      device, type, plan.prefilter_ ? plan.prefilter_->max_read() : plan.region_.size(), true,
      planes_of(settings));
  if (!reader.ok()) return reader.status();
  plan.reader_ = std::move(reader.value());
  if (Status s = plan.finish(bank, stream, memory); !s.ok()) return s;
  return plan;
}

Result<MatchPlan> MatchPlan::make_for_windows(const Device& device,
                                              const std::vector<BankTemplate>& bank, Size frame,
                                              const MatchSettings& settings, Stream stream) {
  if (device.backend == Backend::cpu || settings.prefilter_sigma > 0)
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
  if (Status s = plan.add_group(bank, members, problem, settings.kernel); !s.ok()) return s;
  auto reader = WindowReader::make(device, window, count);
  if (!reader.ok()) return reader.status();
  plan.windows_ = std::move(reader.value());
  if (Status s = plan.finish(bank, stream); !s.ok()) return s;
  return plan;
}

Status MatchPlan::add_group(const std::vector<BankTemplate>& bank,
                            const std::vector<std::uint32_t>& members, const MatchProblem& problem,
                            const std::string& kernel) {
  auto group =
      TemplateGroup::make(device_, bank, members, problem, kernel, settings_.prefilter_sigma);
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
  return make_blocks(device_.backend, {{&candidates_, sizes_.peaks * sizeof(Candidate)},
                                       {&counts_, matched_ * sizeof(std::uint32_t)},
                                       {&results_, sizes_.bytes(), memory}});
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
      sizes_.counts_in(results_) + first,
      sizes_.sums_in(results_) + sizes_.planes * first,
      candidates_.as<Candidate>() + first_peak,
      counts_.as<std::uint32_t>() + first,
      best_.data() ? best_.as<CoarseKey>() + first * CoarseCells(region_.size()).count() : nullptr};
}

bool MatchPlan::adopt(const MatchSettings& settings) {
  // The tuned kernel was measured with the previous method.
  if (settings.method != settings_.method && is_tuning_requested(settings.kernel)) return false;
  // A search without surfaces knows no contrast.
  if (settings.polarity != settings_.polarity || settings.min_contrast != settings_.min_contrast)
    return false;
  if (settings.max_peaks != settings_.max_peaks || settings.kernel != settings_.kernel ||
      settings.min_peak_distance != settings_.min_peak_distance ||
      settings.approximate != settings_.approximate ||
      settings.prefilter_sigma != settings_.prefilter_sigma || settings.poses != settings_.poses ||
      settings.budget != settings_.budget || settings.match_on != settings_.match_on ||
      settings.overhang != settings_.overhang)
    return false;
  const Rect region = searched_region(frame_, settings.search_region);
  if (region.size() != region_.size()) return false;
  settings_ = settings;
  region_ = region;
  return true;
}

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
  auto rows = reader_.read(frame, prefilter_ ? prefilter_->reads(region_) : region_, stream);
  if (rows.ok() && prefilter_) rows = prefilter_->run(rows.value(), region_, stream);
  return rows.ok() && padded_.data() ? pad(rows.value(), stream) : rows;
}

Status MatchPlan::make_padding(Stream stream) {
  if (padding_ == Size{}) return {};
  const Size size = padded_region();
  const auto bytes = static_cast<std::size_t>(
      planes_of(settings_) * size.height *
      padded_pitch(size.width * static_cast<std::int64_t>(size_of(type_))));
  if (Status s = make_blocks(device_.backend, {{&padded_, bytes}}); !s.ok()) return s;
  const std::vector<std::byte> zeros(bytes);
  if (Status s = runtime_->copy(bytes_copy(padded_.data(), zeros.data(), bytes), Memory::host,
                                Memory::device, stream);
      !s.ok())
    return s;
  return runtime_->wait(stream);
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

MatchFrame MatchPlan::searched(const Rows& rows) const {
  return {rows.data,
          rows.pitch,
          rows.plane,
          settings_.method,
          settings_.threshold,
          settings_.subpixel,
          settings_.subpixel_threshold,
          overhang()};
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
  return settled(enqueue_groups(read(frame, stream), stream), stream);
}

Status MatchPlan::enqueue(const MatrixView& frame, std::span<const PartCorner> corners,
                          Stream stream) {
  corners_.assign(corners.begin(), corners.end());
  groups_.front().search_first(static_cast<int>(corners.size()));
  return settled(enqueue_groups(windows_->read(frame, corners_, stream), stream), stream);
}

Status MatchPlan::score(const MatrixView& frame, const ScoreMap& scores, Stream stream) {
  return settled(enqueue_scores(frame, scores, stream), stream);
}

Status MatchPlan::enqueue_groups(const Result<Rows>& rows, Stream stream) {
  if (!rows.ok()) return rows.status();
  const std::span<Lane> beside = std::span(lanes_).subspan(1);
  for (Lane& lane : beside)
    if (Status s = lane.own.fork(stream); !s.ok()) return s;
  if (Status s = enqueue_lanes(searched(rows.value()), stream); !s.ok()) return s;
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
  if (Status s = group.score(searched(rows.value()), lane.scratch, scores, lane.side, stream);
      !s.ok())
    return s;
  if (in_place) return {};
  return runtime_->copy(
      {to.data, to.pitch, scores, row, std::size_t(row), std::size_t(size.height)}, Memory::device,
      to.memory, stream);
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
    score = static_cast<float>(similarity.of(oriented(settings_.polarity, score)));
}

bool MatchPlan::fits(std::uint32_t index) const {
  const auto slots = this->slots();
  return std::ranges::any_of(slots, [&](const Slot& slot) { return slot.index == index; });
}

Rect MatchPlan::places(Size size) const { return places_in(region_, size); }

TemplateSums MatchPlan::sums_of(std::size_t group, std::size_t member) const {
  return sums_of_right(groups_[group].problem().correlate, results_of(group).template_sums,
                       static_cast<std::int64_t>(member));
}

Similarity MatchPlan::similarity_of(std::size_t group, std::size_t member) const {
  return {settings_.method, double(groups_[group].problem().pixels()), sums_of(group, member)};
}

PartCorner MatchPlan::origin_of(std::size_t member) const {
  return windows_ ? corners_[member]
                  : PartCorner{region_.x - padding_.width, region_.y - padding_.height};
}

void MatchPlan::append_peaks(std::size_t group, std::size_t member,
                             std::vector<Peak>& peaks) const {
  const bool minimum = info(settings_.method).minimum;
  const Size size = groups_[group].problem().correlate.right;
  const MatchResults results = results_of(group);
  const double limit =
      score_limit(settings_.method, settings_.threshold, double(groups_[group].problem().pixels()),
                  sums_of(group, member));
  const Similarity similarity = similarity_of(group, member);
  const std::size_t first = member * settings_.max_peaks;
  std::vector<RefinedPeak> refined(results.peaks + first,
                                   results.peaks + first + results.peak_counts[member]);
  if (settings_.subpixel == Subpixel::least_squares)
    for (std::size_t i = 0; i < refined.size(); ++i)
      if (const FittedPlace& fit = results.fits[first + i]; fit.is_fitted)
        std::tie(refined[i].dx, refined[i].dy) = std::pair(fit.dx, fit.dy);
  const PartCorner origin = origin_of(member);
  const Polarity polarity = settings_.polarity;
  // Exact scores may reorder close candidates.
  std::sort(refined.begin(), refined.end(), [&](const RefinedPeak& a, const RefinedPeak& b) {
    const double left = oriented(polarity, a.score), right = oriented(polarity, b.score);
    if (left != right) return minimum ? left < right : left > right;
    return a.y != b.y ? a.y < b.y : a.x < b.x;
  });
  for (const RefinedPeak& r : refined) {
    const double score = oriented(polarity, r.score);
    if (misses(settings_.method, score, limit)) break;
    const bool placed = similarity.of(score) >= settings_.subpixel_threshold;
    const double x = origin.x + r.x + (placed ? r.dx : 0), y = origin.y + r.y + (placed ? r.dy : 0);
    peaks.push_back({groups_[group].members()[member].index,
                     x,
                     y,
                     size.width,
                     size.height,
                     score,
                     similarity.of(score),
                     {x + 0.5 * (size.width - 1), y + 0.5 * (size.height - 1), 0, 1,
                      double(size.width), double(size.height)},
                     is_inverted(polarity, r.score)});
  }
}

}  // namespace xcorr
