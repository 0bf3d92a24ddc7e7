// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A frame's way through the templates of a group.
#include "match/group.hpp"
#include "stages/match/score.hpp"

namespace xcorr {
namespace {

/// For the stages that find candidates or place them: a threshold lowered so far that rounding of
/// their scores loses no peak. MatchPlan::collect() applies the threshold to exact scores.
double relaxed(double threshold, ElementType products) {
  return threshold - (products == ElementType::f32 ? noise_share : 1e-6);
}

}  // namespace

void TemplateGroup::adopt(const MatchFrame& frame) {
  problem_.correlate.left_pitch = left(frame).pitch;
  problem_.correlate.left_plane = left(frame).plane;
  problem_.byte_pitch = frame.pixels.pitch;
  problem_.byte_plane = frame.pixels.plane;
  problem_.method = frame.method;
  problem_.threshold = frame.threshold;
  problem_.subpixel = frame.subpixel != Subpixel::none;
  problem_.subpixel_threshold = relaxed(frame.subpixel_threshold, problem_.products);
  problem_.overhang = frame.overhang;
}

bool TemplateGroup::select(const std::vector<bool>& wanted) {
  std::vector<std::pair<int, int>> searched;
  for (int i = 0; i < static_cast<int>(members_.size()); ++i) {
    if (!wanted[members_[i].index]) continue;
    if (!searched.empty() && searched.back().second == i)
      ++searched.back().second;
    else
      searched.emplace_back(i, i + 1);
  }
  return std::exchange(searched_, searched) != searched;
}

Status TemplateGroup::run(const MatchFrame& frame, const MatchScratch& scratch,
                          const MatchResults& results, SideStream& side, Stream stream,
                          bool loads_aside) {
  if (loads_aside && (searched_.empty() || results.best || !kernel_.search))
    if (Status s = side.join(stream); !s.ok()) return s;
  if (searched_.empty()) return {};
  adopt(frame);
  if (results.best) return coarse_search(frame, scratch, results, side, stream);
  if (Status s = kernel_.search
                     ? search(frame, scratch, results, loads_aside ? &side : nullptr, stream)
                     : search_in_stages(frame, scratch, results, side, stream);
      !s.ok())
    return s;
  if (!kernel_refines())
    if (Status s = refine(frame, scratch, results, stream); !s.ok()) return s;
  if (confirm_)
    if (Status s = confirm(frame, results, stream); !s.ok()) return s;
  return frame.subpixel == Subpixel::least_squares
             ? subpixel_refine(frame, scratch, results, stream)
             : Status();
}

Status TemplateGroup::score(const MatchFrame& frame, const MatchScratch& scratch, float* scores,
                            SideStream& side, Stream stream) {
  adopt(frame);
  if (!window_scores_)
    return score_batches(problem_.normalisation(), frame, scratch, scores, side, stream,
                         [](const LaunchOfRights&) { return Status(); });
  const LaunchOfRights launch{{scratch.workspace.data(), stream}};
  stage::Correlate::Buffers correlate{launch, left(frame).data, operands(),
                                      scratch.products.data()};
  return for_batches(correlate, [&]() -> Status {
    if (Status s =
            kernel_.correlate->launch(problem_.correlation(), device_, correlate, state_.get());
        !s.ok())
      return s;
    return window_scores_->launch(
        problem_.normalisation(), device_,
        {correlate, left(frame).data, scratch.products.data(), template_sums_.as<TemplateSums>(),
         state_ ? state_->product_error() : nullptr, scores},
        nullptr);
  });
}

bool TemplateGroup::kernel_refines() const {
  return kernel_.search && kernel_.search->extra.refines && kernel_.search->extra.refines(problem_);
}

/// Of one plane after the other, or on a GPU of all at once, as if each were the left of a right.
stage::WindowSums::Problem TemplateGroup::window_summing() const {
  stage::WindowSums::Problem problem = problem_.window_sums();
  const Problem& of = problem_.correlate;
  if (device_.backend == Backend::cpu || problem.correlate.type != ElementType::u8 ||
      of.planes == 1 || of.own_lefts)
    return problem;
  problem.correlate.form = Form::one_to_many;
  problem.correlate.own_lefts = true;
  problem.correlate.rights = of.planes;
  problem.correlate.left_stride = problem_.of_pixels().left_plane;
  return problem;
}

Status TemplateGroup::sum_windows(const MatchFrame& frame, const MatchScratch& scratch, int planes,
                                  Stream stream) const {
  stage::WindowSums::Problem problem = window_summing();
  const bool at_once = problem.correlate.own_lefts != problem_.correlate.own_lefts;
  problem.correlate.rights = at_once ? planes : searched_end();
  const std::int64_t windows = windows_of(problem_.correlate);
  for (int plane = 0; plane < (at_once ? 1 : planes); ++plane) {
    const auto of_plane = [&](const Block& block, ElementType type) {
      return block.as<std::byte>() + plane * windows * std::int64_t(size_of(type));
    };
    if (Status s = window_sums_->launch(problem, device_,
                                        {{scratch.side_workspace.data(), stream},
                                         frame.pixels.data + plane * frame.pixels.plane,
                                         mask(),
                                         of_plane(scratch.window_sums, problem.sum_type()),
                                         of_plane(scratch.window_squares, problem.square_type())},
                                        window_sums_state_.get());
        !s.ok())
      return s;
  }
  return {};
}

WindowInputs TemplateGroup::window_inputs(const MatchFrame& frame, const MatchScratch& scratch,
                                          Stream stream) const {
  return {{{scratch.workspace.data(), stream}},
          left(frame).data,
          originals(),
          scratch.window_sums.data(),
          scratch.window_squares.data(),
          template_sums_.as<TemplateSums>(),
          mask()};
}

bool TemplateGroup::leads(std::span<float> open_shares) {
  int searched = 0, end = 0;
  const auto leave_out = [&](int until) {
    for (; end < until; ++end) open_shares[end] = -1;
  };
  for (const auto& [first, past] : searched_) {
    leave_out(first);
    searched += past - first;
    end = past;
  }
  leave_out(static_cast<int>(open_shares.size()));
  return lead_.next(open_shares, searched);
}

Status TemplateGroup::search(const MatchFrame& frame, const MatchScratch& scratch,
                             const MatchResults& results, SideStream* loading, Stream stream) {
  stage::Search::Problem problem = problem_;
  problem.threshold = relaxed(problem.threshold, problem_.products);
  if (problem.lead_plane >= 0 && results.open_shares &&
      !leads({results.open_shares, members_.size()}))
    problem.lead_plane = -1;
  const auto completes = kernel_.search->extra.completes_sums;
  problem.lead_sums_only = completes && completes(problem, device_);
  const int summed = problem.lead_sums_only ? 1 : problem.correlate.planes;
  if (Status s = sum_windows(frame, scratch, summed, stream); !s.ok()) return s;
  if (loading)
    if (Status s = loading->join(stream); !s.ok()) return s;
  stage::Search::Buffers buffers{window_inputs(frame, scratch, stream),
                                 results.candidates,
                                 results.counts,
                                 results.peaks,
                                 results.peak_counts,
                                 results.open_shares};
  return for_batches(
      buffers, [&] { return kernel_.search->launch(problem, device_, buffers, state_.get()); });
}

template <class Then>
Status TemplateGroup::correlate_batches(const MatchFrame& frame, const MatchScratch& scratch,
                                        SideStream& side, Stream stream, Then then) {
  if (Status s = side.fork(stream); !s.ok()) return s;
  const int planes = problem_.correlate.planes;
  if (Status s = sum_windows(frame, scratch, planes, side.stream()); !s.ok()) return s;

  const std::int64_t product_plane =
      problem_.surfaces().product_plane() * std::int64_t(size_of(problem_.products));
  LaunchOfRights batch{{scratch.workspace.data(), stream}};
  bool is_first = true;
  const bool own_lefts = problem_.correlate.own_lefts;  // whose numbers go on from plane to plane
  return for_batches(batch, [&]() -> Status {
    for (int plane = 0; plane < planes; ++plane) {
      const Rows& rows = left(frame);
      stage::Correlate::Buffers correlate{
          batch, rows.data + (own_lefts ? 0 : plane) * rows.plane, operands(),
          scratch.products.as<std::byte>() + plane * product_plane, is_first || planes > 1};
      correlate.first_right += plane * problem_.correlate.rights;
      if (Status s =
              kernel_.correlate->launch(problem_.correlation(), device_, correlate, state_.get());
          !s.ok())
        return s;
    }
    if (std::exchange(is_first, false))
      if (Status s = side.join(stream); !s.ok()) return s;
    return then(batch);
  });
}

Status TemplateGroup::coarse_search(const MatchFrame& frame, const MatchScratch& scratch,
                                    const MatchResults& results, SideStream& side, Stream stream) {
  const stage::CoarseSearch::Problem problem = problem_.coarse_searching(first_image_);
  if (cells_) {
    if (Status s = sum_windows(frame, scratch, problem_.correlate.planes, stream); !s.ok())
      return s;
    stage::FusedCoarseSearch::Buffers buffers{{{scratch.workspace.data(), stream}},
                                              left(frame).data,
                                              operands(),
                                              scratch.window_sums.data(),
                                              scratch.window_squares.data(),
                                              template_sums_.as<TemplateSums>(),
                                              results.best};
    return for_batches(buffers, [&] {
      return cells_->launch(fused_coarse_searching(), device_, buffers, state_.get());
    });
  }
  return correlate_batches(frame, scratch, side, stream, [&](const LaunchOfRights& batch) {
    return coarse_search_->launch(
        problem, device_,
        {batch, scratch.products.data(), scratch.window_sums.data(), scratch.window_squares.data(),
         template_sums_.as<TemplateSums>(), results.best},
        nullptr);
  });
}

template <class Then>
Status TemplateGroup::score_batches(const stage::Normalise::Problem& problem,
                                    const MatchFrame& frame, const MatchScratch& scratch,
                                    float* scores, SideStream& side, Stream stream, Then then) {
  return correlate_batches(
      frame, scratch, side, stream, [&](const LaunchOfRights& batch) -> Status {
        const stage::Normalise::Buffers normalise{batch,
                                                  scratch.products.data(),
                                                  scratch.window_sums.data(),
                                                  scratch.window_squares.data(),
                                                  template_sums_.as<TemplateSums>(),
                                                  state_ ? state_->product_error() : nullptr,
                                                  scores};
        if (Status s = normalise_->launch(problem, device_, normalise, nullptr); !s.ok()) return s;
        return then(batch);
      });
}

Status TemplateGroup::search_in_stages(const MatchFrame& frame, const MatchScratch& scratch,
                                       const MatchResults& results, SideStream& side,
                                       Stream stream) {
  MatchProblem problem = choosing();
  problem.threshold = relaxed(problem.threshold, problem_.products);
  auto* scores = scratch.scores.as<float>();
  const auto find_peaks = [&](const LaunchOfRights& batch) -> Status {
    if (contrast_filter_)
      if (Status s = contrast_filter_->launch(
              problem.contrast_filtering(), device_,
              {batch, scores, scratch.window_sums.data(), scratch.window_squares.data(), scores},
              nullptr);
          !s.ok())
        return s;
    if (overhang_scores_)
      if (Status s =
              overhang_scores_->launch(problem.overhang_scoring(), device_,
                                       {batch, scratch.products.data(), scratch.window_sums.data(),
                                        scratch.window_squares.data(), originals(),
                                        template_sums_.as<TemplateSums>(), mask(), scores, scores},
                                       nullptr);
          !s.ok())
        return s;
    return peaks_->launch(
        problem.peaks(), device_,
        {batch, scores, template_sums_.as<TemplateSums>(), results.candidates, results.counts},
        nullptr);
  };
  return score_batches(problem.normalisation(), frame, scratch, scores, side, stream, find_peaks);
}

Status TemplateGroup::refine(const MatchFrame& frame, const MatchScratch& scratch,
                             const MatchResults& results, Stream stream) {
  stage::Refine::Buffers buffers{window_inputs(frame, scratch, stream), results.candidates,
                                 results.counts, results.peaks, results.peak_counts};
  buffers.right_count = searched_end();
  return refine_->launch(problem_.refinement(), device_, buffers, refine_state_.get());
}

Status TemplateGroup::confirm(const MatchFrame& frame, const MatchResults& results, Stream stream) {
  return confirm_->launch(problem_.confirming(), device_,
                          {{{nullptr, stream}, 0, searched_end()},
                           frame.pixels.data,
                           originals(),
                           mask(),
                           results.peaks,
                           results.peak_counts,
                           results.differences},
                          nullptr);
}

Status TemplateGroup::subpixel_refine(const MatchFrame& frame, const MatchScratch& scratch,
                                      const MatchResults& results, Stream stream) {
  const LaunchOfRights all{{scratch.workspace.data(), stream}, 0, searched_end()};
  return subpixel_refine_->launch(
      choosing().subpixel_refining(), device_,
      {all, frame.pixels.data,
       static_cast<const std::uint8_t*>(is_weighted() ? templates_.data() : originals()),
       problem_.masking ? inset_.as<std::uint8_t>() : nullptr, template_sums_.as<TemplateSums>(),
       results.candidates, results.counts, results.fits},
      subpixel_refine_state_.get());
}

}  // namespace xcorr
