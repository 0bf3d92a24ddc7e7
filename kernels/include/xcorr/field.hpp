// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Displacement fields: a grid of interrogation windows of a reference image, each found again in
// another image by zero-normalised correlation, to a small part of a pixel. For particle image
// velocimetry (PIV), digital image correlation (DIC) and registration. See docs/fields.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <xcorr/budget.hpp>
#include <xcorr/device.hpp>
#include <xcorr/export.hpp>
#include <xcorr/types.hpp>

namespace xcorr {

/// How the sub-pixel part of a displacement is found.
enum class FieldSubpixel : std::uint8_t {
  none,           ///< whole pixels
  gauss,          ///< a Gauss curve through three scores along each axis
  quadratic,      ///< a quadratic through the nine scores around the best
  least_squares,  ///< the frame's pixels are fitted to the reference's (IC-GN)
};

enum class FieldStatus : std::int32_t {
  ok,
  /// Implausible beside its neighbours, score or ratio below the limit, or least squares that
  /// diverged.
  replaced,
  masked,        ///< too few pixels of the window count
  out_of_range,  ///< the best place lies at the rim of the search range, or none lies in the frame
  flat,          ///< the window has no contrast, or nothing that it was compared with has
};

/// One window's result. No member is ever NaN or infinite. A displacement whose status is not `ok`
/// is the median of those of its up to eight neighbours that are `ok`. Without such a neighbour it
/// is the measured one or, if there is none, the expected one, which is 0 in the first pass.
struct FieldVector {
  float x = 0, y = 0;    ///< the window's centre in the reference; centres of pixels are whole
  float dx = 0, dy = 0;  ///< pixels, from reference to frame; right and down are positive
  /// The gradient of the displacement, pixels per pixel: with least squares of order 1 or 2 the
  /// window's own, else 0.
  float dx_by_x = 0, dx_by_y = 0, dy_by_x = 0, dy_by_y = 0;
  float score = 0;  ///< zero-normalised correlation, -1 to 1; 0 where nothing was measured
  /// Peak ratio: the best score divided by that of the second peak, which is more than two pixels
  /// away; 1 to 100.
  float ratio = 1;
  /// The standard deviation of each component, in pixels, from the residual noise of least squares.
  /// It does not contain motion that their order cannot follow. 0: unknown.
  float sigma = 0;
  FieldStatus status = FieldStatus::ok;
};

struct FieldSettings {
  /// The side of the interrogation windows of each pass in pixels, coarse to fine; those of the
  /// last pass give the result. 4 to 256 each, none larger than the one before. A pass starts from
  /// the result of the one before.
  std::vector<int> windows = {32};
  /// The spacing of the last pass's windows in pixels, at least 1. Windows of earlier passes
  /// overlap by the same share.
  int spacing = 16;
  /// The search range: pixels along each axis by which a displacement may differ from the expected
  /// one, 1 to 64; in the first pass, which expects 0, and in later ones.
  int search_range = 16, later_range = 4;

  /// Passes after the first search in the frame after the field found so far has deformed it back,
  /// instead of moving whole windows (Scarano 2002). With `symmetric` both images are deformed by
  /// half. Several passes with the same windows converge. For grids only.
  bool deformation = false;

  FieldSubpixel subpixel = FieldSubpixel::gauss;  ///< of the last pass
  /// With least squares. 0: windows move. 1: they are also stretched and sheared. 2, or 1 with
  /// deformation: they are also bent, where that fits better: windows are fitted once more, with
  /// gradients that change within a window as they do between the windows around it.
  int order = 1;
  /// Of the B-spline between pixels with least squares or deformation: 3 or 5.
  int spline_degree = 5;
  /// With least squares the pixels of a window are weighted by a Gaussian of that standard
  /// deviation, 0 to 1000 pixels; 0: equal weights. Where displacements change strongly within a
  /// window, a quarter to a third of its side is best.
  double weight_sigma = 0;

  /// Normalised median test (Westerweel and Scarano 2005): a displacement farther than this many
  /// times the neighbours' median deviation, plus `median_noise` pixels, from their median is
  /// replaced. 0: no test.
  double median_limit = 2, median_noise = 0.1;
  /// A displacement with a score (-1 to 1) or a ratio (from 1 on) below these is replaced.
  double min_score = 0, min_ratio = 1;
  /// Displacements are smoothed after each pass and at the end by a Gaussian of that standard
  /// deviation, in units of the grid; 0 to 2, 0: not at all. Masked and flat windows take no part.
  /// A field that changes linearly stays as it is.
  double smoothing = 0;

  /// Central differences, for PIV: a displacement belongs to the middle of the way between
  /// reference and frame instead of to the place in the reference. It needs the result of a first
  /// pass, so a single pass without least squares is not affected.
  bool symmetric = false;
  /// The share of a window's pixels that the mask must leave, above 0 up to 1.
  double min_counted = 0.5;

  /// Both images are smoothed first with gaussian_weights(prefilter_sigma) in both directions,
  /// see FilterProblem; 0 to 10, 0: not at all. About half a pixel reduces peak locking of sharp
  /// details; more removes detail. Masked pixels are smoothed, too.
  double prefilter_sigma = 0;

  /// Of both images: u8, u16 or f32. A pixel of f32 that is not finite counts as 0.
  ElementType type = ElementType::u8;

  /// What a frame may cost.
  Budget budget;

  bool operator==(const FieldSettings&) const = default;
};

/// The centre of a window, in pixels; centres of pixels have whole coordinates. The window is
/// placed at the nearest whole pixel.
struct FieldPlace {
  float x = 0, y = 0;
};

/// Two images of one motion.
struct FieldPair {
  MatrixView reference, frame;
};

/// Finds the displacements between images of one size. Not for use by several threads at once;
/// one object per thread is fine.
class XCORR_API FieldMatcher {
 public:
  /// Prepares for images of that size: allocates and plans. `mask`: none (without data), or u8 of
  /// the images' size in host memory, copied: a pixel of the reference counts where it is not 0.
  /// `places`: none, for the grid of FieldSettings::spacing, or those of windows, in every pass;
  /// copied. Neighbours are then the up to eight nearest ones, and windows of passes before the
  /// last are moved inside the image where they would reach out.
  /// Errors: invalid_argument for settings that cannot be, windows larger than the image, passes
  /// that grow, a mask of another size or type, places of windows that are not inside the image
  /// or with deformation; over_budget; unsupported; out_of_memory; device_error.
  static Result<FieldMatcher> make(const Device& device, Size image, const FieldSettings& settings,
                                   const MatrixView& mask = {},
                                   std::span<const FieldPlace> places = {});
  FieldMatcher(FieldMatcher&&) noexcept;
  FieldMatcher& operator=(FieldMatcher&&) noexcept;
  ~FieldMatcher();

  /// What a frame costs as prepared.
  Cost cost() const;

  /// Columns and rows of the last pass's windows; vectors come row by row. Windows at places form
  /// one row, in their order.
  Size grid() const;

  /// Copies the reference: host or device memory, FieldSettings::type, u8 of any PixelLayout, of
  /// which the luma counts, of the prepared size. It has been read when the call returns. Errors:
  /// invalid_argument, also while a field has not been collected; unsupported (another type);
  /// out_of_memory; device_error.
  Status set_reference(const MatrixView& reference, Stream stream = {});

  /// Enqueues the field from the reference to a frame (as for set_reference()); neither allocates
  /// nor waits for the device, except that the first frame in ordinary host memory allocates pinned
  /// memory. A frame in device memory, memory from allocate_host() or of register_host() must stay
  /// valid until collect() has returned, another one has been read when the call returns. Without a
  /// stream the matcher uses its own. Errors: as set_reference(); invalid_argument without a
  /// reference.
  Status enqueue(const MatrixView& frame, Stream stream = {});

  /// Makes the frame that was enqueued last the reference, without a copy. Its field may still be
  /// uncollected. Errors: invalid_argument without such a frame.
  Status advance();

  /// Waits for the enqueued field: grid().area() vectors, which stay where the device has put them
  /// until the next enqueue(). Errors: invalid_argument where none is enqueued; device_error.
  Result<std::span<const FieldVector>> collect();

  /// The same, copied.
  Status collect(std::vector<FieldVector>& vectors);

  /// All of the above for one pair.
  Status match(const MatrixView& reference, const MatrixView& frame,
               std::vector<FieldVector>& vectors);

  /// Ensemble correlation: one field of several pairs that show the same motion. The scores of each
  /// shift are averaged over the pairs before the best one is taken, so windows may be small and
  /// particles few. Images as for set_reference(); those in host memory are copied again for each
  /// pass. Waits for the device; afterwards there is no reference. Errors: as enqueue();
  /// invalid_argument without a pair, or with least squares, which fit single pairs.
  Status match_ensemble(std::span<const FieldPair> pairs, std::vector<FieldVector>& vectors,
                        Stream stream = {});

 private:
  struct Impl;
  explicit FieldMatcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace xcorr
