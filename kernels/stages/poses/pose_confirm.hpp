// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage pose_confirm: poses that may be reported -> how much the frame differs from the
// template there where it differs most. The template is turned and scaled as warp_template does,
// but to the very pose, between pixels and angles: what is left of a copy's differences is that of
// resampling. Then it is compared square by square as upright ones are (stages/match/confirm.hpp).
#pragma once

#include <cmath>

#include "stages/match/confirm.hpp"
#include "stages/poses/local_rescore.hpp"

namespace xcorr {

/// A part of a frame, and the way from its pixels to the template at a pose.
struct ConfirmedPart {
  int left, top;  ///< of the frame; the size is the map's
  WarpMap map;
  std::int64_t shift_u, shift_v;  ///< see stage::WarpTemplate::Problem

  ConfirmedPart() = default;
  /// Of all of the template that lies inside the frame. The rounding of products is fixed, so that
  /// all backends compare the same.
  XCORR_HD ConfirmedPart(const TemplatePyramid& pyramid, Size frame, const RefinedPose& pose)
      : map{} {
    const double half = 0.5 * pose.scale, c = half * fabs(pose.cosine), s = half * fabs(pose.sine);
    const double width = pyramid.size.width, height = pyramid.size.height;
    left = span(pose.x, fma(c, width, s * height), frame.width, map.width);
    top = span(pose.y, fma(s, width, c * height), frame.height, map.height);
    const auto fixed = [](double part) { return static_cast<std::int32_t>(floor(part + 0.5)); };
    constexpr double one = 1 << 30;
    PoseSteps::set_way(map, static_cast<std::int64_t>(floor((1 << 24) / pose.scale + 0.5)),
                       {fixed(one * pose.cosine), fixed(one * pose.sine)}, pyramid.halvings);
    const double across = 0.5 * (2 * left + map.width - 1) - pose.x,
                 down = 0.5 * (2 * top + map.height - 1) - pose.y;
    const double pixel = 2 << map.log2_samples;  // in halves of the distance of samples
    const auto shift = [&](double by_x, double by_y) {
      return static_cast<std::int64_t>(floor(fma(across, pixel * by_x, down * (pixel * by_y))));
    };
    shift_u = shift(map.u_by_x, map.u_by_y);
    shift_v = shift(map.v_by_x, map.v_by_y);
  }
  XCORR_HD Size size() const { return {map.width, map.height}; }

 private:
  /// Where the pixels begin that are no farther from the centre, and how many there are.
  XCORR_HD static int span(double centre, double reach, int frame, int& length) {
    const double first = ceil(centre - reach), last = floor(centre + reach);
    const int from = first < 0 ? 0 : first > frame ? frame : static_cast<int>(first);
    const int to = last < from ? from - 1 : last >= frame ? frame - 1 : static_cast<int>(last);
    length = to - from + 1;
    return from;
  }
};

namespace stage {

struct PoseConfirm {
  static constexpr const char* name = "pose_confirm";
  /// Of each candidate: where it is itself, and where least squares led from it.
  static constexpr int poses = 2;

  struct Problem {
    Size frame;
    std::int64_t pitch = 0;  ///< bytes
    Method method = Method::ccoeff_normed;
    TemplatePyramid pyramid = {};
    Masking masking = {};  ///< the template's
    int count = 1;         ///< at most so many candidates
    Polarity polarity = Polarity::same;
    ElementType type = ElementType::u8;
    int planes = 1;          ///< see LocalRescore::Problem
    std::int64_t plane = 0;  ///< bytes from one of the frame to the next

    constexpr Features features() const {
      return feature_of(type)
          .with(Feature::planes, planes > 1)
          .with(Feature::mask, bool(masking))
          .with(Feature::contrast, polarity != Polarity::same);
    }
  };

  struct Buffers : Launch {
    const std::uint8_t* frame = nullptr;   ///< its rows' bytes
    const std::uint8_t* pixels = nullptr;  ///< see WarpTemplate; their bytes
    const std::uint8_t* mask = nullptr;
    const PoseCandidate* candidates = nullptr;
    const std::int32_t* candidate_count = nullptr;
    const RefinedPose* starts = nullptr;  ///< where candidates are
    const PoseRefinement* refinements = nullptr;
    const RescoredPlace* rescored = nullptr;  ///< of these
    float* differences = nullptr;  ///< of each candidate's poses, gray levels; 0 without a pose
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("frame", &Buffers::frame, matrices(p.type, p.frame, p.pitch, p.plane, p.planes));
    visit("pyramid", &Buffers::pixels, p.pyramid.extent(p.type, p.planes));
    visit("mask_pyramid", &Buffers::mask, p.pyramid.mask_extent(p.masking));
    visit("candidates", &Buffers::candidates, records<PoseCandidate>(p.count));
    visit("candidate_count", &Buffers::candidate_count, records<std::int32_t>(1));
    visit("starts", &Buffers::starts, records<RefinedPose>(p.count));
    visit("refinements", &Buffers::refinements, records<PoseRefinement>(p.count));
    visit("rescored", &Buffers::rescored, records<RescoredPlace>(p.count));
    visit("differences", &Buffers::differences, records<float>(std::int64_t{p.count} * poses));
  }

  /// A pose to look at.
  struct Look {
    RefinedPose pose;
    bool exists, inverted;
  };
  /// \param index  of the candidate's difference
  XCORR_HD static Look look_of(const Problem& p, const Buffers& b, int index) {
    const int i = index / poses;
    if (index % poses == 0)
      return {b.starts[i], true, is_inverted(p.polarity, b.candidates[i].score)};
    const PoseRefinement& refinement = b.refinements[i];
    return {refinement.pose, refinement.is_refined && b.rescored[i].is_inside,
            is_inverted(p.polarity, b.rescored[i].score)};
  }
};

/// Of luma and of colour, see can_be_confirmed().
constexpr bool can_be_confirmed(const PoseConfirm::Problem& p) {
  return p.method != Method::orientation && (p.planes == 1 || p.planes == color_planes);
}

}  // namespace stage
}  // namespace xcorr
