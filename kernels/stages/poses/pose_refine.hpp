// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage pose_refine: poses near the true ones -> the poses at which the frame fits the
// template best in the sense of least squares, but for brightness and contrast: Gauss-Newton steps
// over the place, and where asked for the angle and the scale, of
//   frame(pose(p)) = gain * template(p) + offset   for the pixels p of the template that count.
// Both are smoothed by the cubic B-spline. Steps are counted in the template's own axes: so the
// matrix of their equations is the template's alone, whatever the pose, and is inverted once (the
// inverse compositional form, Baker and Matthews 2004).
#pragma once

#include "stages/common/stage.hpp"
#include "stages/poses/pose_refine_map.hpp"
#include "stages/poses/pose_refine_steps.hpp"

namespace xcorr::stage {

struct PoseRefine {
  static constexpr const char* name = "pose_refine";

  struct Problem {
    Size frame;
    std::int64_t pitch = 0;  ///< bytes
    Size size;               ///< the template's
    PoseRefineFreedom freedom = {};
    int count = 1;  ///< of poses
    ElementType type = ElementType::u8;
    int planes = 1;          ///< of frame and template, each with an offset of its own
    std::int64_t plane = 0;  ///< bytes from one of the frame to the next
    /// Pixels of the template that lie outside the frame where a pose begins, or less than
    /// `margin` inside, take no part in its steps.
    bool overhang = false;
    static constexpr int margin = 3;

    constexpr Features features() const {
      return feature_of(type)
          .with(Feature::planes, planes > 1)
          .with(Feature::contrast, freedom.polarity != Polarity::same)
          .with(Feature::overhang, overhang);
    }
    XCORR_HD double radius() const { return 0.25 * (size.width + size.height); }
    template <class Pixel>
    XCORR_HD PoseRefineFrame<Pixel> pixels(const std::uint8_t* bytes) const {
      return {row_of<Pixel>(bytes, pitch, 0), pitch, frame};
    }
    /// The equation of the template's pixel at (x, y).
    template <class Pixel>
    XCORR_HD PoseRefineEquation equation(int x, int y, const SmoothedPixel& pixel) const {
      return {u(x), v(y), pixel, static_cast<float>(1 / radius()), pose_refine_middle<Pixel>};
    }
    XCORR_HD float u(int x) const { return x - 0.5F * (size.width - 1); }
    XCORR_HD float v(int y) const { return y - 0.5F * (size.height - 1); }
    /// Adds the pixel of the frame where that pixel lies.
    template <class Pixel, class T, class Read>
    XCORR_HD void add(const PoseRefineMap& map, const PoseRefineFrame<Pixel>& pixels, int x, int y,
                      const SmoothedPixel& pixel, Read read, PoseRefineRightOf<T>& sums) const {
      const float here = map.smoothed_at(pixels, u(x), v(y), read);
      sums.add_pixel(equation<Pixel>(x, y, pixel), here - pose_refine_middle<Pixel>);
    }
  };

  struct Buffers : Launch {
    const std::uint8_t* frame = nullptr;  ///< its rows' bytes
    /// The template's planes, smoothed as the frame is; given to a plan by set_rights().
    const SmoothedPixel* smoothed = nullptr;
    const RefinedPose* starts = nullptr;  ///< of scale 0: none, and all 0 comes out
    PoseRefinement* refinements = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("frame", &Buffers::frame, matrices(p.type, p.frame, p.pitch, p.plane, p.planes));
    visit("smoothed", &Buffers::smoothed, records<SmoothedPixel>(p.planes * p.size.area()));
    visit("starts", &Buffers::starts, records<RefinedPose>(p.count));
    visit("refinements", &Buffers::refinements, records<PoseRefinement>(p.count));
  }
};

}  // namespace xcorr::stage
