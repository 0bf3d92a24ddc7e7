// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A template that is searched at several poses: its pixels on the device, and its images at the
// poses of the first pass. All that is made of its pixels is made there, so that it is made anew
// when a live template has changed without the host's doing more than enqueue it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "device/runtime.hpp"
#include "match/bank.hpp"
#include "match/poses/edge_points.hpp"
#include "match/poses/grid.hpp"
#include "stages/poses/pyramid_down.hpp"
#include "stages/poses/smooth.hpp"

namespace xcorr {

/// An image of the top level, as a template of a match, and its pose.
struct PoseBank {
  std::vector<BankTemplate> images;  ///< without rows and columns in which nothing counts
  std::vector<PoseIndex> poses;
  std::vector<Size> to_centre;  ///< twice the way from an image's centre to the template's
};

/// Pixels along a side that a template must have at every level and scale.
inline constexpr int least_template_side = 4;

/// Of a template of that size: halved as often as so much is left of it.
TemplatePyramid pyramid_of(Size size);

/// Twice the distances of the farthest pixel that counts from the centre, plus 1.
Size extent_of(Size size, const std::vector<std::uint8_t>& mask);

class PoseTemplate {
 public:
  /// For frames of that size. How many levels there are, and how much a score may lose between
  /// pixels, is decided by what a live template shows now. Errors: invalid_argument, unsupported
  /// (naming what), out_of_memory, device_error.
  /// \param planes  of the picture that are compared
  /// \param edges   where these are of edges: which, of how many planes of the picture
  static Result<PoseTemplate> make(const Device& device, const BankTemplate& t, int planes,
                                   const WarpEdges& edges, const PoseRange& range, Size frame,
                                   Stream stream);

  const PoseGrid& grid() const { return grid_; }
  /// See PoseGrid::of_scores().
  const PoseGrid& score_grid() const { return score_grid_; }
  Size size() const { return pyramid_.size; }
  ElementType type() const { return type_; }
  int planes() const { return planes_; }
  /// Of images of a level.
  WarpEdges edges(int level) const;
  /// Whether refresh() may make images anew.
  bool is_live() const { return live_ != nullptr; }
  /// Whether enough pixels take part in least squares.
  bool can_be_aligned() const { return aligned_pixels_ >= least_aligned; }
  /// Whether it has no contrast where it counts: nothing is lost when it is halved, and a method
  /// that takes means off finds nothing. What changes is taken to have some.
  bool is_flat() const { return flat_; }
  /// What a match's score may lose at a level because it lies between pixels and between poses:
  /// what the template itself loses half a pixel away.
  double slack(int level) const;

  /// The grid's steps, with the ridge on which what the level above chose may lie beside the right
  /// pose.
  PoseSteps steps_below(int level) const {
    PoseSteps steps = grid_.steps();
    steps.ridge = ridges_[level];
    return steps;
  }

  /// How many there are at the top level.
  static std::int64_t images_of_top(const PoseGrid& grid) {
    return std::int64_t{grid.angles(grid.top())} * grid.scales(grid.top());
  }
  /// The images of all poses of the top level. Where that leaves most of the template, those of a
  /// scale share the mask that they have in common, which spares sums over windows; what they find
  /// is scored with their own masks after that. They live here, as long as this does.
  Result<PoseBank> top_bank(Stream stream);

  /// On edges: how many pixels of them its images at full size and the least size of the range
  /// have, at the angle at which they have the fewest.
  Result<std::int64_t> fewest_edges(Stream stream) const;

  /// Enqueues making anew what is made of a live template that has changed, of the images in
  /// top_bank() only those that are wanted. An error changes nothing: it is tried again.
  Status refresh(const std::vector<bool>& wanted, Stream stream);

  /// On the device: what the stages read. Pixels, as bytes, and mask are those of the pyramid; of
  /// several planes there are a pyramid each and smoothed pixels, one after the other.
  const TemplatePyramid& pyramid() const { return pyramid_; }
  const std::uint8_t* pixels() const { return pixels_.as<std::uint8_t>(); }
  const std::uint8_t* mask() const { return masking_ ? mask_.as<std::uint8_t>() : nullptr; }
  const Masking& masking() const { return masking_; }
  /// By which candidates of a level are scored: at full size weights, where the template has any,
  /// of which the mask has the pixels of half of the largest or more.
  const Masking& scoring(int level) const { return weighs(level) ? weighting_ : masking_; }
  const std::uint8_t* scoring_mask(int level) const {
    return weighs(level) ? weights_.as<std::uint8_t>() : mask();
  }
  const SmoothedPixel* smoothed() const { return smoothed_.as<SmoothedPixel>(); }
  /// Of edges, in place of smoothed pixels: on the host, and where the stage reads them.
  const EdgePoints& edge_points() const { return edge_points_; }
  const EdgePoint* points() const { return points_.as<EdgePoint>(); }

 private:
  /// Images on the device, each of the size `most`: of all of them the first plane, then the next.
  struct Warped {
    Size most;
    int count = 0, level = 0;
    Block maps, pixels, masks, sums;

    std::int64_t plane() const { return count * most.area(); }  ///< its pixels
  };
  /// The same on the host; sums are of the first plane.
  struct Images {
    Size most;
    std::vector<std::byte> pixels;
    std::vector<std::uint8_t> masks;
    std::vector<WarpedTemplateSums> sums;
  };
  /// An image of the top level.
  struct Image final : TemplatePixels {
    MatrixView view() const override { return pixels; }
    std::uint64_t version() const override { return made; }

    MatrixView pixels;
    std::uint64_t made = 0;  ///< of which version of the template
    std::size_t index = 0;   ///< in the bank
  };
  /// All images of a scale; null those in which nothing counts.
  struct TopScale {
    Warped warped;
    std::vector<std::shared_ptr<Image>> images;
  };

  void leave_out_rim();
  Status allocate(const std::vector<std::uint8_t>& mask, const std::vector<std::uint8_t>& weights,
                  Stream stream);
  bool weighs(int level) const { return level == 0 && weighting_; }
  /// Enqueues the template's pyramid and what is smoothed of it.
  Status load(const MatrixView& picture, Stream stream);
  /// How many there are of the template itself.
  int source_planes() const { return edge_rule_ ? edge_sources_ : planes_; }
  Status load_plane(int plane, const MatrixView& pixels, Stream stream);
  /// Waits for the pixels of all planes, and finds their edges.
  Status load_points(Stream stream);
  /// Of the template, that making the images of the top level takes.
  static double samples_of(const PoseGrid& grid);
  /// More would take a CPU many seconds.
  static constexpr double most_samples = 1 << 28;

  // In levels.cpp.
  /// Pixels of an image.
  struct Shift {
    int x = 0, y = 0;
  };
  /// How like an image is to the first one when it lies somewhere else.
  struct OtherPose {
    PoseIndex pose;
    Shift shift;
    double likeness;
  };
  /// Up to the highest one at which images still show the template and tell its poses apart,
  /// unless the range says how many.
  Status choose_levels(const PoseRange& range, Size frame, Stream stream);
  PoseGrid grid_of(const PoseRange& range, int top, int halvings) const;
  /// The correlation of the first image and another one, which is shifted, over the pixels that
  /// count in both, every `stride`-th of every `stride`-th row; -1 where these, or on edges the
  /// squares of the other one's, are fewer.
  double likeness(const Images& images, std::size_t other, Shift shift, int stride,
                  double fewest) const;
  /// So many that what two images have in common tells whether they are alike.
  double fewest_in_common(const Images& images, int stride) const;
  /// The edges that are left in an image of a level, in pixels.
  Result<double> edges_shown(const WarpMap& map, int level, Stream stream) const;
  Result<bool> has_no_contrast(Stream stream) const;
  /// Of an image and what it looks like half a pixel away.
  Result<double> likeness_between_pixels(const WarpMap& map, int level, Stream stream) const;
  /// Poses away from the first one at which the images of the grid's top level score about what a
  /// part does, the likest first.
  Result<std::vector<OtherPose>> poses_almost_alike(const PoseGrid& grid, Stream stream) const;
  /// How like finer images are at such a pose.
  Result<double> likeness_in_finer(const PoseGrid& grid, const OtherPose& other,
                                   Stream stream) const;
  /// Whether no pose looks like another one just because details have been lost.
  Result<bool> tells_poses_apart(const PoseGrid& grid, Stream stream) const;

  // In ridge.cpp.
  /// Of all levels, once they are chosen.
  Status find_ridges(Stream stream);
  /// Of the images of a level, for the level below.
  Result<PoseRidge> ridge_of(int level, Stream stream) const;
  /// Of the turns that move an image of the level by such a shift.
  PoseRidge ridge_through(int level, const PoseIndex& from, const PoseIndex& to,
                          const Shift& shift) const;

  /// \param level  of the images, also below
  Result<Warped> room_for(std::span<const WarpMap> maps, int level, Stream stream) const;
  /// Enqueues making some of the images that there is room for.
  Status warp_template(const Warped& warped, int first, int count, Stream stream) const;
  Result<Warped> warped(std::span<const WarpMap> maps, int level, Stream stream) const;
  Result<Images> download(const Warped& warped, Stream stream) const;
  Result<Images> images_of(std::span<const WarpMap> maps, int level, Stream stream) const;
  /// All of the size of the largest one, so that they have the same centre.
  Result<Images> framed(std::vector<WarpMap> maps, int level, Stream stream) const;

  // In template_top.cpp.
  /// The squares of the edges of an image of that size that lie in so large a part at its middle.
  static std::int64_t edge_squares(const Images& images, std::size_t index, Size size, Size part);
  Result<bool> share_mask(std::vector<WarpMap>& maps, Stream stream) const;
  Result<bool> share_middle(std::vector<WarpMap>& maps, Stream stream) const;
  Status append_scale(int scale, PoseBank& bank, Stream stream);
  Status refresh(TopScale& scale, const std::vector<bool>& wanted, Stream stream);

  std::int64_t element() const { return static_cast<std::int64_t>(size_of(type_)); }

  Device device_;
  ElementType type_ = ElementType::u8;
  int planes_ = 1;
  std::optional<EdgeRule> edge_rule_;
  int edge_sources_ = 1;  ///< planes that edges are made of
  EdgePoints edge_points_;
  TemplatePyramid pyramid_;
  /// Several times the unknowns.
  static constexpr std::int64_t least_aligned = 4 * pose_refine_unknowns;

  std::int64_t aligned_pixels_ = 0;
  Size extent_;         ///< of what counts, round the centre
  int diameter_ = 0;    ///< of the circle that holds it, where that says more
  bool round_ = false;  ///< what counts is a disc
  bool flat_ = false;
  Masking masking_, weighting_;
  PoseGrid grid_, top_grid_, score_grid_;
  std::vector<double> likeness_;   ///< of each level with itself half a pixel away
  std::vector<PoseRidge> ridges_;  ///< of each level below the top, see steps_below()
  const Variant<stage::BuildPyramid>* build_pyramid_ = nullptr;
  const Variant<stage::WarpTemplate>* warp_template_ = nullptr;
  const Variant<stage::Smooth>* smooth_ = nullptr;
  std::vector<std::uint8_t> counts_;  ///< the same as counted_
  Block loaded_;                      ///< a plane of it, dense
  Block pixels_, mask_, weights_, smoothed_, counted_, points_;
  std::vector<TopScale> top_;
  std::shared_ptr<const TemplatePixels> live_;  ///< null for templates that do not change
  std::uint64_t version_ = 0;                   ///< of it, that is loaded
};

}  // namespace xcorr
