// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A whole match of one search region with templates of one size, as a problem for each stage.
#pragma once

#include "stages/match/confirm.hpp"
#include "stages/match/contrast_filter.hpp"
#include "stages/match/overhang_scores.hpp"
#include "stages/match/peaks.hpp"
#include "stages/match/subpixel_refine.hpp"
#include "stages/match/templates.hpp"
#include "stages/match/window_scores.hpp"
#include "stages/match/window_sums.hpp"
#include "stages/poses/coarse_search.hpp"

namespace xcorr {

struct MatchProblem : stage::Search::Problem {
  /// See stage::Correlate::Problem, also for the next three.
  ElementType products = ElementType::f32;
  std::int64_t product_pitch = 0, product_stride = 0;
  /// The best places of cells are wanted, not peaks.
  bool is_coarse = false;
  /// Products may be approximate, see MatchSettings.
  bool approximate = false;
  bool confirms = false;  ///< peaks are looked at again
  /// Of the frame's bytes, where products are made of words, see of_pixels().
  std::int64_t byte_pitch = 0, byte_plane = 0;
  /// See stage::Refine::Problem.
  double subpixel_threshold = stage::place_all;

  /// Of templates and frames as they are, for stages that take these. Products with weighted
  /// templates are made of words instead: of templates times weights, and of the widened frame.
  constexpr xcorr::Problem of_pixels() const {
    xcorr::Problem p = correlate;
    if (!masking.weighted) return p;
    p.type = ElementType::u8;
    p.left_pitch = byte_pitch;
    p.left_plane = byte_plane;
    p.right_pitch /= 2;
    p.right_stride /= 2;
    return p;
  }

  /// That of the stages whose scores say where peaks are, see chosen_by().
  constexpr MatchProblem choosing() const {
    MatchProblem problem = *this;
    problem.method = chosen_by(method, correlate.type);
    return problem;
  }

  /// Of the planes of a picture one by one; the surfaces are those of all planes.
  constexpr stage::Correlate::Problem correlation() const {
    return {{correlate.each_plane(), batch}, products, product_pitch, product_stride};
  }
  constexpr stage::Correlate::Problem surfaces() const {
    return {{correlate, batch}, products, product_pitch, product_stride};
  }
  /// Of one plane.
  constexpr stage::WindowSums::Problem window_sums() const {
    stage::WindowSums::Problem problem{of_pixels(), masking};
    problem.correlate.planes = 1;
    // Edges are compared without, but coarse searches norm them.
    problem.squares = method != Method::orientation || is_coarse;
    return problem;
  }
  constexpr stage::Normalise::Problem normalisation() const {
    return {surfaces(), method, masking};
  }
  constexpr stage::ContrastFilter::Problem contrast_filtering() const {
    return {{correlate, batch}, method, contrast, masking};
  }
  constexpr stage::OverhangScores::Problem overhang_scoring() const {
    return {normalisation(), contrast, overhang};
  }
  constexpr stage::CoarseSearch::Problem coarse_searching(int first_image) const {
    return {surfaces(), method, masking, contrast.polarity, first_image};
  }
  constexpr stage::Refine::Problem refinement() const {
    return {correlate,          method,  max_peaks,         subpixel,
            subpixel_threshold, masking, contrast.polarity, overhang};
  }
  constexpr stage::Confirm::Problem confirming() const {
    return {correlate, method, max_peaks, masking, contrast.polarity};
  }
  /// Of weighted pixels the heavy_ones() take part.
  constexpr stage::SubpixelRefine::Problem subpixel_refining() const {
    return {of_pixels(),       method,  max_peaks, subpixel_threshold, {masking.counted},
            contrast.polarity, overhang};
  }
  constexpr stage::TemplateSums::Problem template_sums() const {
    const xcorr::Problem p = of_pixels();
    return {p.type, p.right, p.planes * p.rights, p.right_pitch, p.right_stride, masking};
  }
  /// Peaks and searches: the base class's.
  constexpr const stage::Search::Problem& search() const { return *this; }
  constexpr const stage::Peaks::Problem& peaks() const { return *this; }

  /// Sets the layout that a variant of correlate prefers, if any.
  void lay_out(const Variant<stage::Correlate>& variant) {
    if (!variant.extra.layout) return;
    auto problem = correlation();
    variant.extra.layout(problem);
    product_pitch = problem.product_pitch;
    product_stride = problem.product_stride;
  }
};

}  // namespace xcorr
