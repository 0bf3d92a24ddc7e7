// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/plan.hpp"

#include <algorithm>

#include "select/registry.hpp"

namespace xcorr {
namespace {

/// Memory for surfaces in flight: enough to fill a GPU, little enough for a small one.
constexpr std::size_t surface_budget = std::size_t{128} << 20;

/// Templates of a launch: a grid has at most 65,535 blocks in z.
constexpr int most_launched = 65535;

/// The problem for the stages that find candidates, with a threshold so much lower that rounding of
/// the scores they see loses nothing; collect() applies the threshold to exact scores.
MatchProblem lax(MatchProblem problem) {
  problem.threshold -= problem.products == ElementType::f32 ? noise_share : 1e-6;
  return problem;
}

struct Wanted {
  Block* block;
  std::size_t bytes;
  Memory memory = Memory::device;
};

Status make_blocks(Backend backend, std::initializer_list<Wanted> wanted) {
  for (const Wanted& want : wanted) {
    auto block = Block::make(backend, want.bytes, want.memory);
    if (!block.ok()) return block.status();
    *want.block = std::move(block.value());
  }
  return {};
}

}  // namespace

MatchProblem problem_of_group(ElementType type, Size region, Size size, int count,
                              const MatchSettings& settings) {
  MatchProblem p{.correlate = dense_problem(type, count == 1 ? Form::one_to_one : Form::one_to_many,
                                            region, size, 1, count, valid_shifts(region, size))};
  p.method = settings.method;
  p.max_peaks = settings.max_peaks;
  const int distance = settings.min_peak_distance;
  p.distance_x = distance ? distance : std::max(1, size.width / 2);
  p.distance_y = distance ? distance : std::max(1, size.height / 2);
  return p;
}

Result<MatchPlan> MatchPlan::make(const Device& device, const std::vector<BankTemplate>& bank,
                                  ElementType type, Size frame, const MatchSettings& settings,
                                  Stream stream, const KernelOfSize& kernels) {
  MatchPlan plan;
  plan.device_ = device;
  plan.runtime_ = &runtime(device.backend);
  plan.type_ = type;
  plan.frame_ = frame;
  plan.settings_ = settings;
  plan.region_ = searched_region(frame, settings.search_region);
  if (settings.prefilter_sigma > 0 && !plan.region_.empty()) {
    auto filter =
        Prefilter::make(device, type, frame, plan.region_.size(), settings.prefilter_sigma);
    if (!filter.ok()) return filter.status();
    plan.prefilter_ = std::move(filter.value());
  }

  auto side = SideStream::make(device.backend);
  if (!side.ok()) return side.status();
  plan.side_ = std::move(side.value());

  for (const auto& [size, members] : groups_by_size(bank, plan.region_.size())) {
    const auto own = kernels.find(size);
    const std::string& kernel = own == kernels.end() ? settings.kernel : own->second;
    if (Status status = plan.add_group(bank, members, kernel); !status.ok()) return status;
  }
  if (Status status = plan.allocate(); !status.ok()) return status;
  for (Group& group : plan.groups_)
    if (Status status = plan.load(group, bank, stream); !status.ok()) return status;
  if (Status status = plan.runtime_->wait(stream); !status.ok()) return status;
  return plan;
}

Status MatchPlan::add_group(const std::vector<BankTemplate>& bank,
                            std::span<const std::uint32_t> members, const std::string& kernel) {
  const Size size = bank[members.front()].size;
  const int count = static_cast<int>(members.size());
  Group group{};
  for (const std::uint32_t index : members) group.members.push_back({index, bank[index].live});
  group.first = matched_;
  matched_ += count;

  MatchProblem& p = group.problem;
  p = problem_of_group(type_, region_.size(), size, count, settings_);
  auto chosen = select_matching(p, device_, kernel);
  if (!chosen.ok()) return chosen.status();
  group.kernel = chosen.value();
  if (group.kernel->layout) group.kernel->layout(p);
  p.batch = 1;
  const std::size_t each = group.is_fused() ? group.kernel->workspace(p, device_)
                                            : p.products_stride() * size_of(p.products) +
                                                  p.correlate.shifts.size().area() * sizeof(float);
  const std::size_t fit = surface_budget / std::max<std::size_t>(each, 1);
  p.batch = static_cast<int>(std::clamp<std::size_t>(fit, 1, std::min(count, most_launched)));
  for (const auto& [stage, slot] : group.stages()) {
    auto variant = select_variant(stage, p, device_);
    if (!variant.ok()) return variant.status();
    *slot = variant.value();
  }

  if (prefilter_) {
    auto filter = Prefilter::make(device_, type_, size, size, settings_.prefilter_sigma);
    if (!filter.ok()) return filter.status();
    group.prefilter = std::move(filter.value());
  }
  const std::size_t pixels = count * p.correlate.right_stride;
  if (Status s =
          make_blocks(device_.backend, {{&group.templates, pixels},
                                        {&group.rights, type_ == ElementType::f32 ? pixels : 0},
                                        {&group.sums, count * sizeof(RightSums)}});
      !s.ok())
    return s;
  for (const auto& [variant, state] :
       {std::pair{group.kernel, &group.state}, std::pair{group.refine, &group.refine_state}}) {
    if (!variant->plan) continue;
    auto made = variant->plan(p, device_);
    if (!made.ok()) return made.status();
    *state = std::move(made.value());
  }
  groups_.push_back(std::move(group));
  return {};
}

Status MatchPlan::allocate() {
  std::size_t products = 0, scores = 0, sums = 0, squares = 0, workspace = 0, side_workspace = 0;
  for (const Group& group : groups_) {
    const MatchProblem& p = group.problem;
    const std::size_t shifts = p.correlate.shifts.size().area();
    if (!group.is_fused()) {
      products = std::max(products, p.batch * p.products_stride() * size_of(p.products));
      scores = std::max(scores, p.batch * shifts * sizeof(float));
    }
    sums = std::max(sums, shifts * (type_ == ElementType::u8 ? 4 : 8));
    squares = std::max(
        squares, shifts * (type_ == ElementType::u8 ? size_of(p.correlate.output_type()) : 8));
    side_workspace = std::max(side_workspace, group.window_sums->workspace(p, device_));
    for (const Variant* variant : {group.kernel, group.normalise, group.peaks, group.refine})
      if (variant) workspace = std::max(workspace, variant->workspace(p, device_));
  }
  auto reader = FrameReader::make(device_.backend, type_,
                                  prefilter_ ? prefilter_->most_read() : region_.size());
  if (!reader.ok()) return reader.status();
  reader_ = std::move(reader.value());
  results_.peaks = matched_ * settings_.max_peaks;
  results_.templates = matched_;
  return make_blocks(device_.backend, {{&products_, products},
                                       {&scores_, scores},
                                       {&window_sums_, sums},
                                       {&window_squares_, squares},
                                       {&workspace_, workspace},
                                       {&side_workspace_, side_workspace},
                                       {&candidates_, results_.peaks * sizeof(Candidate)},
                                       {&counts_, matched_ * sizeof(std::uint32_t)},
                                       {&host_results_, results_.bytes(), Memory::host}});
}

bool MatchPlan::adopt(const MatchSettings& settings) {
  // What was measured to be the fastest was so for the method.
  if (settings.method != settings_.method && is_tuning_wished(settings.kernel)) return false;
  if (settings.max_peaks != settings_.max_peaks || settings.kernel != settings_.kernel ||
      settings.min_peak_distance != settings_.min_peak_distance ||
      settings.prefilter_sigma != settings_.prefilter_sigma)
    return false;
  const Rect region = searched_region(frame_, settings.search_region);
  if (region.size() != region_.size()) return false;
  settings_ = settings;
  region_ = region;
  return true;
}

Result<Buffers> MatchPlan::left_buffers(const MatrixView& frame, Stream stream,
                                        std::int64_t& pitch) {
  const Rect read = prefilter_ ? prefilter_->reads(region_) : region_;
  auto rows = reader_.read(frame, read, stream);
  if (!rows.ok()) return rows.status();
  Buffers buffers;
  buffers.stream = stream;
  buffers.lefts = rows.value().data;
  pitch = rows.value().pitch;
  if (prefilter_) {
    if (Status s = prefilter_->run(buffers.lefts, pitch, region_, stream); !s.ok()) return s;
    buffers.lefts = prefilter_->data();
    pitch = prefilter_->pitch();
  }
  return buffers;
}

Status MatchPlan::enqueue(const MatrixView& frame, Stream stream) {
  if (groups_.empty()) return {};
  std::int64_t pitch = 0;
  auto left = left_buffers(frame, stream, pitch);
  if (!left.ok()) return left.status();
  Buffers buffers = left.value();
  buffers.products = products_.data();
  buffers.scores = scores_.as<float>();
  buffers.window_sums = window_sums_.data();
  buffers.window_squares = window_squares_.data();

  for (Group& group : groups_) {
    if (Status s = refresh(group, stream); !s.ok()) return s;
    MatchProblem& p = group.problem;
    p.correlate.left_pitch = pitch;
    p.method = settings_.method;
    p.threshold = settings_.threshold;
    p.subpixel = settings_.subpixel;
    buffers.templates = group.templates.data();
    buffers.rights = group.operands();
    buffers.right_sums = group.sums.as<RightSums>();
    buffers.product_error = group.state ? group.state->product_error() : nullptr;
    const std::size_t results = group.first * settings_.max_peaks;
    buffers.candidates = candidates_.as<Candidate>() + results;
    buffers.counts = counts_.as<std::uint32_t>() + group.first;
    buffers.peaks = results_.peaks_in(host_results_) + results;
    buffers.peak_counts = results_.counts_in(host_results_) + group.first;
    if (Status s = run(group, buffers); !s.ok()) return s;
  }
  return {};
}

Status MatchPlan::run(Group& group, Buffers buffers) {
  const int count = group.problem.correlate.rights;
  if (Status s = group.is_fused() ? search(group, buffers) : search_in_stages(group, buffers);
      !s.ok() || group.kernel_refines())
    return s;
  buffers.workspace = workspace_.data();
  buffers.first_right = 0;
  buffers.right_count = count;
  return group.refine->launch(group.problem, device_, buffers, group.refine_state.get());
}

Status MatchPlan::search(Group& group, Buffers buffers) {
  buffers.workspace = side_workspace_.data();
  if (Status s = group.window_sums->launch(group.problem, device_, buffers, nullptr); !s.ok())
    return s;
  buffers.workspace = workspace_.data();
  return group.for_batches(buffers, [&] {
    return group.kernel->launch(lax(group.problem), device_, buffers, group.state.get());
  });
}

Status MatchPlan::search_in_stages(Group& group, Buffers buffers) {
  const Stream stream = buffers.stream;
  if (Status s = side_.fork(stream); !s.ok()) return s;
  buffers.stream = side_.stream();
  buffers.workspace = side_workspace_.data();
  if (Status s = group.window_sums->launch(group.problem, device_, buffers, nullptr); !s.ok())
    return s;
  buffers.stream = stream;
  buffers.workspace = workspace_.data();
  return group.for_batches(buffers, [&]() -> Status {
    if (Status s = group.kernel->launch(group.problem, device_, buffers, group.state.get());
        !s.ok())
      return s;
    if (buffers.new_left)
      if (Status s = side_.join(stream); !s.ok()) return s;
    if (Status s = group.normalise->launch(group.problem, device_, buffers, nullptr); !s.ok())
      return s;
    return group.peaks->launch(lax(group.problem), device_, buffers, nullptr);
  });
}

void MatchPlan::collect(std::vector<Peak>& peaks) const {
  peaks.clear();
  for (const Group& group : groups_)
    for (std::size_t i = 0; i < group.members.size(); ++i) append_peaks(group, i, peaks);
  std::stable_sort(peaks.begin(), peaks.end(), [](const Peak& a, const Peak& b) {
    return a.template_index < b.template_index;
  });
}

Status MatchPlan::read_scores(std::vector<float>& scores, Stream stream) const {
  scores.clear();
  if (groups_.empty()) return {};
  scores.resize(groups_.front().problem.correlate.shifts.size().area());
  return runtime_->copy(bytes_copy(scores.data(), scores_.data(), scores.size() * sizeof(float)),
                        Memory::device, Memory::host, stream);
}

void MatchPlan::to_closeness(std::vector<float>& scores) const {
  if (groups_.empty()) return;
  const Closeness closeness = closeness_of(groups_.front(), 0);
  for (float& score : scores) score = static_cast<float>(closeness.of(score));
}

Rect MatchPlan::places(Size size) const {
  if (size.width > region_.width || size.height > region_.height) return {};
  const Rect shifts = valid_shifts(region_.size(), size);
  return {region_.x, region_.y, shifts.width, shifts.height};
}

const RightSums& MatchPlan::sums_of(const Group& group, std::size_t member) const {
  return results_.sums_in(host_results_)[group.first + member];
}

Closeness MatchPlan::closeness_of(const Group& group, std::size_t member) const {
  return {settings_.method, double(group.problem.correlate.right.area()), sums_of(group, member)};
}

void MatchPlan::append_peaks(const Group& group, std::size_t member,
                             std::vector<Peak>& peaks) const {
  const bool minimum = info(settings_.method).minimum;
  const Size size = group.problem.correlate.right;
  const std::size_t place = group.first + member;
  const double limit = score_limit(settings_.method, settings_.threshold, double(size.area()),
                                   sums_of(group, member));
  const Closeness closeness = closeness_of(group, member);
  const RefinedPeak* first = results_.peaks_in(host_results_) + place * settings_.max_peaks;
  std::vector<RefinedPeak> refined(first, first + results_.counts_in(host_results_)[place]);
  // Exact scores may order close ones anew.
  std::sort(refined.begin(), refined.end(), [minimum](const RefinedPeak& a, const RefinedPeak& b) {
    if (a.score != b.score) return minimum ? a.score < b.score : a.score > b.score;
    return a.y != b.y ? a.y < b.y : a.x < b.x;
  });
  for (const RefinedPeak& r : refined) {
    if (minimum ? r.score > limit : r.score < limit) break;
    peaks.push_back({group.members[member].index, region_.x + r.x + r.dx, region_.y + r.y + r.dy,
                     size.width, size.height, r.score, closeness.of(r.score)});
  }
}

}  // namespace xcorr
