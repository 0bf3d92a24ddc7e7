// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a group is made: its variants, its memory, its templates.
#include "match/group.hpp"

#include <string_view>

#include "match/weights.hpp"

namespace xcorr {
namespace {

/// Memory for surfaces in flight: enough to fill a GPU, small enough for one with little memory.
constexpr std::size_t surface_budget = std::size_t{128} << 20;

/// Products of a launch on a GPU: what it has begun cannot be stopped.
constexpr double most_products = 1e14, most_products_of_others = 5e12;

/// The most templates per launch: a grid has at most 65,535 blocks in z.
constexpr int max_launched = 65535;

Status make_block(Block& block, Backend backend, std::size_t bytes) {
  auto made = Block::make(backend, bytes);
  if (made.ok()) block = std::move(made.value());
  return made.status();
}

}  // namespace

Result<TemplateGroup> TemplateGroup::make(const Device& device,
                                          const std::vector<BankTemplate>& bank,
                                          std::span<const std::uint32_t> members,
                                          const MatchProblem& problem, const std::string& kernel,
                                          double prefilter_sigma) {
  TemplateGroup group;
  group.device_ = device;
  group.problem_ = problem;
  for (const std::uint32_t index : members)
    group.members_.push_back({index, bank[index].pixels, bank[index].reported()});
  group.searched_ = {{0, static_cast<int>(members.size())}};
  if (Status s = group.choose(kernel); !s.ok()) return s;
  if (prefilter_sigma > 0) {  // of planes one by one
    const Problem pixels = problem.of_pixels();
    auto filter = Prefilter::make(device, pixels.type, pixels.right, pixels.right, prefilter_sigma);
    if (!filter.ok()) return filter.status();
    group.prefilter_ = std::move(filter.value());
  }
  if (Status s = group.allocate(); !s.ok()) return s;
  return group;
}

Status TemplateGroup::choose(const std::string& kernel) {
  MatchProblem& p = problem_;
  auto chosen = select_matching(p, device_, kernel);
  if (!chosen.ok() && p.is_coarse) {  // the kernel asked for is one that leaves no products
    p.is_coarse = false;
    chosen = select_matching(p, device_, kernel);
  }
  if (!chosen.ok()) return chosen.status();
  kernel_ = chosen.value();
  if (kernel_.correlate) p.lay_out(*kernel_.correlate);
  p.batch = 1;
  std::size_t each = p.correlate.planes * p.correlation().products_stride() * size_of(p.products) +
                     p.correlate.shifts.size().area() * sizeof(float);
  if (kernel_.search) {  // what one template more takes, in the mean, as some take it in groups
    constexpr int more = 256;
    const std::size_t one = kernel_.search->workspace_bytes(p, device_);
    p.batch = 1 + more;
    each = (kernel_.search->workspace_bytes(p, device_) - one) / more;
  }
  std::size_t fit = surface_budget / std::max<std::size_t>(each, 1);
  if (device_.backend == Backend::cuda) {
    const double products = static_cast<double>(p.correlate.shifts.size().area()) *
                            static_cast<double>(p.correlate.right.area());
    const bool bytes = p.correlate.type == ElementType::u8;
    fit = std::min(fit, static_cast<std::size_t>(std::max(
                            (bytes ? most_products : most_products_of_others) / products, 1.0)));
  }
  // Some kernels take so many together.
  constexpr std::size_t together = 32;
  if (fit > together) fit -= fit % together;
  p.batch =
      static_cast<int>(std::clamp<std::size_t>(fit, 1, std::min(p.correlate.rights, max_launched)));

  if (Status s = choose_into(window_sums_, window_summing(), device_); !s.ok()) return s;
  if (Status s = choose_into(sums_of_templates_, p.template_sums(), device_); !s.ok()) return s;
  if (Status s = choose_into(refine_, p.refinement(), device_); !s.ok()) return s;
  if (Status s = choose_into(subpixel_refine_, p.subpixel_refining(), device_); !s.ok()) return s;
  if (p.confirms)
    if (Status s = choose_into(confirm_, p.confirming(), device_); !s.ok()) return s;
  if (kernel_.search) return {};
  if (Status s = choose_into(normalise_, p.normalisation(), device_); !s.ok()) return s;
  const auto scores = select_variant<stage::WindowScores>(p.normalisation(), device_);
  window_scores_ = scores.ok() ? scores.value() : nullptr;
  if (p.contrast)
    if (Status s = choose_into(contrast_filter_, p.contrast_filtering(), device_); !s.ok())
      return s;
  if (p.overhang)
    if (Status s = choose_into(overhang_scores_, p.overhang_scoring(), device_); !s.ok()) return s;
  return choose_into(peaks_, p.peaks(), device_);
}

Status TemplateGroup::allocate() {
  const MatchProblem& p = problem_;
  const Backend backend = device_.backend;
  const std::int64_t rights = p.correlate.planes * p.correlate.rights;
  const std::size_t pixels = rights * p.of_pixels().right_stride;
  const std::size_t operands =
      p.template_sums().has_operands() ? rights * p.correlate.right_stride : 0;
  const auto mask = static_cast<std::size_t>(p.masking.extent(p.correlate.right).bytes);
  if (Status s = make_block(templates_, backend, pixels); !s.ok()) return s;
  if (Status s = make_block(mask_, backend, mask); !s.ok()) return s;
  if (Status s = make_block(inset_, backend, mask); !s.ok()) return s;
  if (Status s = make_block(operands_, backend, operands); !s.ok()) return s;
  if (Status s = make_block(template_sums_, backend, rights * sizeof(TemplateSums)); !s.ok())
    return s;
  auto state = kernel_.search ? kernel_.search->make_plan(p, device_)
                              : kernel_.correlate->make_plan(p.correlation(), device_);
  if (!state.ok()) return state.status();
  state_ = std::move(state.value());
  auto window_sums_state = window_sums_->make_plan(window_summing(), device_);
  if (!window_sums_state.ok()) return window_sums_state.status();
  window_sums_state_ = std::move(window_sums_state.value());
  auto refine_state = refine_->make_plan(p.refinement(), device_);
  if (!refine_state.ok()) return refine_state.status();
  refine_state_ = std::move(refine_state.value());
  auto subpixel_refine_state = subpixel_refine_->make_plan(p.subpixel_refining(), device_);
  if (!subpixel_refine_state.ok()) return subpixel_refine_state.status();
  subpixel_refine_state_ = std::move(subpixel_refine_state.value());
  return {};
}

double TemplateGroup::seconds() const {
  const Problem& p = problem_.correlate;
  const std::string_view name = kernel();
  // AMX is taken where it is quicker than both.
  const bool words_on_tensor_cores = p.type == ElementType::u16 && name.starts_with("tensor");
  const Products products = name.starts_with("fft") ? Products::by_transform
                            : name == "amx"         ? Products::quickest
                            : words_on_tensor_cores ? Products::by_bytes
                                                    : Products::by_definition;
  return seconds_of({p.type, p.left, p.right, p.rights, problem_.masking}, products, device_);
}

bool TemplateGroup::can_search_coarsely(int first) const {
  return problem_.is_coarse &&
         select_variant<stage::CoarseSearch>(problem_.coarse_searching(first), device_).ok();
}

Status TemplateGroup::prepare_coarse_search(int first, bool one_kernel) {
  first_image_ = first;
  const auto cells = select_variant<stage::FusedCoarseSearch>(fused_coarse_searching(), device_);
  if (!one_kernel || !cells.ok())
    return choose_into(coarse_search_, problem_.coarse_searching(first), device_);
  cells_ = cells.value();
  auto state = cells_->make_plan(fused_coarse_searching(), device_);
  if (state.ok()) state_ = std::move(state.value());
  return state.status();
}

stage::FusedCoarseSearch::Problem TemplateGroup::fused_coarse_searching() const {
  stage::FusedCoarseSearch::Problem problem = problem_.coarse_searching(first_image_);
  problem.product_pitch = problem.product_stride = 0;  // it has none
  return problem;
}

void TemplateGroup::add_needs(MatchScratchSizes& sizes) const {
  const MatchProblem& p = problem_;
  const auto grow = [](std::size_t& size, std::size_t bytes) { size = std::max(size, bytes); };
  const auto shifts = static_cast<std::size_t>(p.correlate.shifts.size().area());
  grow(sizes.window_sums, window_sums_of(p.correlate).bytes);
  grow(sizes.window_squares, window_squares_of(p.correlate).bytes);
  grow(sizes.side_workspace, window_sums_->workspace_bytes(window_summing(), device_));
  grow(sizes.workspace, refine_->workspace_bytes(p.refinement(), device_));
  grow(sizes.workspace, subpixel_refine_->workspace_bytes(p.subpixel_refining(), device_));
  if (kernel_.search) return grow(sizes.workspace, kernel_.search->workspace_bytes(p, device_));
  if (cells_)
    return grow(sizes.workspace, cells_->workspace_bytes(fused_coarse_searching(), device_));
  grow(sizes.products,
       p.correlate.planes * p.batch * p.correlation().products_stride() * size_of(p.products));
  grow(sizes.scores, p.batch * shifts * sizeof(float));
  grow(sizes.workspace, kernel_.correlate->workspace_bytes(p.correlation(), device_));
  grow(sizes.workspace, normalise_->workspace_bytes(p.normalisation(), device_));
  if (window_scores_)
    grow(sizes.workspace, window_scores_->workspace_bytes(p.normalisation(), device_));
  if (overhang_scores_)
    grow(sizes.workspace, overhang_scores_->workspace_bytes(p.overhang_scoring(), device_));
  grow(sizes.workspace, peaks_->workspace_bytes(p, device_));
  if (coarse_search_)
    grow(sizes.workspace,
         coarse_search_->workspace_bytes(p.coarse_searching(first_image_), device_));
}

Status TemplateGroup::load(const std::vector<BankTemplate>& bank, const MatchResults& results,
                           Stream stream) {
  const BankTemplate& first = bank[members_.front().index];
  if (Status s = load_mask(is_weighted() ? first.weights : first.mask, stream); !s.ok()) return s;
  // What blends into them may still be enqueued on a stream of the caller's.
  for (const Member& member : members_)
    if (Status s = member.pixels->wait(); !s.ok()) return s;
  return refresh(results, stream);
}

bool TemplateGroup::has_changed() const {
  return std::ranges::any_of(members_,
                             [](const Member& m) { return m.version != m.pixels->version(); });
}

Status TemplateGroup::order_after_changes(Stream stream) const {
  for (const Member& member : members_)
    if (member.version != member.pixels->version())
      if (Status s = member.pixels->order_before(stream); !s.ok()) return s;
  return {};
}

Status TemplateGroup::reload(const MatchResults& results, Stream stream) {
  for (std::size_t i = 0; i < members_.size(); ++i)
    if (const MatrixView pixels = members_[i].pixels->view(); pixels.memory == Memory::device)
      if (Status s = load_planes(static_cast<int>(i), pixels, stream); !s.ok()) return s;
  return sum_up(0, static_cast<int>(members_.size()), results, stream);
}

void TemplateGroup::note_loaded() {
  for (Member& member : members_) member.version = member.pixels->version();
}

Status TemplateGroup::refresh(const MatchResults& results, Stream stream) {
  if (Status s = order_after_changes(stream); !s.ok()) return s;
  int first = 0, end = 0;
  for (int i = 0; i < static_cast<int>(members_.size()); ++i) {
    const auto& [index, pixels, reported, version] = members_[i];
    if (version == pixels->version()) continue;
    if (Status s = load_planes(i, pixels->view(), stream); !s.ok()) return s;
    if (end == 0) first = i;
    end = i + 1;
  }
  if (end == 0) return {};
  if (Status s = sum_up(first, end - first, results, stream); !s.ok()) return s;
  note_loaded();  // only now: what failed on the way is tried again with the next frame
  return {};
}

Status TemplateGroup::load_mask(const std::vector<std::uint8_t>& mask, Stream stream) {
  if (!problem_.masking) return {};
  const Runtime& device = runtime(device_.backend);
  const std::vector<std::uint8_t> counts = is_weighted() ? heavy_ones(mask) : mask;
  const auto inset = inset_mask(counts, problem_.correlate.right, pose_refine_inset);
  for (const auto& [block, bytes] : {std::pair(&mask_, &mask), std::pair(&inset_, &inset)})
    if (Status s = device.copy(bytes_copy(block->data(), bytes->data(), bytes->size()),
                               Memory::host, Memory::device, stream);
        !s.ok())
      return s;
  // `inset` ends here.
  if (Status s = device.wait(stream); !s.ok()) return s;
  return window_sums_state_ ? window_sums_state_->set_rights(mask_.data(), stream) : Status();
}

Status TemplateGroup::load_planes(int member, const MatrixView& pixels, Stream stream) {
  const int planes = problem_.correlate.planes;
  for (int plane = 0; plane < planes; ++plane)
    if (Status s = load_pixels(member, plane, plane_of(pixels, plane, planes), stream); !s.ok())
      return s;
  return {};
}

Status TemplateGroup::load_pixels(int member, int plane, const MatrixView& pixels, Stream stream) {
  const Problem p = problem_.of_pixels();
  const Runtime& device = runtime(device_.backend);
  auto* to =
      templates_.as<std::uint8_t>() + (std::int64_t{plane} * p.rights + member) * p.right_stride;
  const auto row = static_cast<std::ptrdiff_t>(p.right.width * size_of(p.type));
  const auto rows = static_cast<std::size_t>(p.right.height);
  const Copy copy = pixels.pitch == row
                        ? bytes_copy(to, pixels.data, row * rows)
                        : Copy{to, row, pixels.data, pixels.pitch, std::size_t(row), rows};
  const Status s = device.copy(copy, pixels.memory, Memory::device, stream);
  if (!s.ok() || !prefilter_) return s;
  const auto smoothed = prefilter_->run({to, row}, {0, 0, p.right.width, p.right.height}, stream);
  if (!smoothed.ok()) return smoothed.status();
  return device.copy(
      {to, row, smoothed.value().data, smoothed.value().pitch, std::size_t(row), rows},
      Memory::device, Memory::device, stream);
}

Status TemplateGroup::sum_up(int first, int count, const MatchResults& results, Stream stream) {
  for (int plane = 0; plane < problem_.correlate.planes; ++plane) {
    const int at = plane * problem_.correlate.rights + first;
    const stage::TemplateSums::Buffers buffers{{{nullptr, stream}, at, count},
                                               templates_.data(),
                                               mask(),
                                               operands_.data(),
                                               template_sums_.as<TemplateSums>()};
    if (Status s = sums_of_templates_->launch(problem_.template_sums(), device_, buffers, nullptr);
        !s.ok())
      return s;
    const Copy sums = bytes_copy(results.template_sums + at, buffers.template_sums + at,
                                 count * sizeof(TemplateSums));
    if (Status s = runtime(device_.backend).copy(sums, Memory::device, Memory::host, stream);
        !s.ok())
      return s;
  }
  return state_ ? state_->set_rights(operands(), stream) : Status();
}

}  // namespace xcorr
