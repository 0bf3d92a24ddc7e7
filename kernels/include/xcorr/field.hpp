// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Displacement fields: a grid of windows of a reference picture, each found again in another one by
// zero-normalised correlation, to a small part of a pixel. Particle image velocimetry, digital
// image correlation and registration are made of that. See docs/fields.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <xcorr/device.hpp>
#include <xcorr/export.hpp>
#include <xcorr/types.hpp>

namespace xcorr {

/// How a displacement gets its part of a pixel.
enum class FieldSubpixel : std::uint8_t {
  none,           ///< whole pixels
  gauss,          ///< a Gauss curve through three scores along each axis
  quadratic,      ///< a quadratic through the nine scores around the best
  least_squares,  ///< the frame's pixels are fitted to the reference's (IC-GN)
};

enum class FieldStatus : std::int32_t {
  ok,
  /// Implausible beside its neighbours, a score or a ratio below the limit, or steps of least
  /// squares that led away.
  replaced,
  masked,        ///< too few pixels of the window count
  out_of_range,  ///< the best place lies at the rim of what was searched, or none is in the frame
  flat,          ///< the window is of one gray, or all that it was compared with is
};

/// One window's result. No member is ever NaN or infinite. A displacement whose status is not `ok`
/// is the median of those of the up to eight neighbours that are; where none is, what was measured,
/// or, where nothing was, expected: 0 in the first pass.
struct FieldVector {
  float x = 0, y = 0;    ///< the window's centre in the reference; centres of pixels are whole
  float dx = 0, dy = 0;  ///< pixels, to where it is in the frame: right and down are positive
  /// The displacement's slopes, in pixels a pixel: with least squares of order 1 or 2 the window's
  /// own, else 0.
  float dx_by_x = 0, dx_by_y = 0, dy_by_x = 0, dy_by_y = 0;
  float score = 0;  ///< zero-normalised correlation, -1 to 1; 0 where nothing was measured
  /// The best score by that of the second peak, which is more than two pixels away: 1 to 100.
  float ratio = 1;
  /// Of each component, in pixels: the noise that least squares leave, as it acts on the
  /// displacement; what their order cannot follow of the motion is not in it. 0: not known.
  float sigma = 0;
  FieldStatus status = FieldStatus::ok;
};

struct FieldSettings {
  /// Pixels along a side of the windows of each pass, coarse to fine; the last are the result's.
  /// 4 to 256 each, none larger than the one before. A pass begins at what the one before found.
  std::vector<int> windows = {32};
  /// Pixels from window to window of the last pass, at least 1. Windows of passes before overlap by
  /// the same share.
  int spacing = 16;
  /// Pixels along each axis by which a window's displacement may differ from the expected one, 1 to
  /// 64: in the first pass, which expects 0, and in the later ones.
  int search_range = 16, later_range = 4;

  /// Passes after the first search in the frame as the field found before deforms it back, instead
  /// of moving whole windows (Scarano 2002); with `symmetric` both pictures are deformed by half.
  /// Several passes with the same windows come closer each time. Of a grid only.
  bool deformation = false;

  FieldSubpixel subpixel = FieldSubpixel::gauss;  ///< of the last pass
  /// With least squares. 0: windows move; 1: they are also stretched and sheared; 2: and bent: the
  /// windows are fitted once more, with the slopes changing within each as they do between the
  /// windows around it.
  int order = 1;
  /// Of the B-spline between pixels with least squares or deformation: 3 or 5.
  int spline_degree = 5;
  /// Pixels, 0 to 1000: the weight of a window's pixels with least squares is a Gauss bell of that
  /// width; 0: all weigh alike. Where displacements change strongly within a window, a fourth to a
  /// third of it is best.
  double weight_sigma = 0;

  /// Normalised median test (Westerweel and Scarano 2005): a displacement farther than this many
  /// times the neighbours' median deviation, plus `median_noise` pixels, from their median is
  /// replaced. 0: no test.
  double median_limit = 2, median_noise = 0.1;
  /// A score below, from -1 to 1, or a ratio below, from 1 on, and the displacement is replaced.
  double min_score = 0, min_ratio = 1;
  /// By a Gauss bell of that standard deviation, in windows of the grid, displacements are averaged
  /// with those around them after each pass and at the end; 0 to 2, 0: not at all. Masked and flat
  /// windows take no part, and what changes evenly from window to window stays as it is.
  double smoothing = 0;

  /// The displacement belongs to the middle of the way, half in the reference and half in the
  /// frame, instead of to the place in the reference: central differences, for PIV. It takes what a
  /// first pass found, so a single pass without least squares is as without.
  bool symmetric = false;
  /// Of a window's pixels the share that must count under a mask, above 0 up to 1.
  double min_counted = 0.5;

  /// Both pictures are smoothed first with gaussian_weights(prefilter_sigma) in both directions,
  /// see FilterProblem; 0: not, at most 10. About half a pixel makes displacements of sharp details
  /// more exact, which the grid of pixels else draws to whole ones; more takes detail away. What a
  /// mask excludes is smoothed, too.
  double prefilter_sigma = 0;

  /// Of both pictures: u8, u16 or f32. A pixel of f32 that is not finite counts as 0.
  ElementType type = ElementType::u8;

  bool operator==(const FieldSettings&) const = default;
};

/// Where the centre of a window shall be, in pixels; those of pixels are whole. It lies at the
/// nearest whole pixels.
struct FieldPlace {
  float x = 0, y = 0;
};

/// Two pictures of one motion.
struct FieldPair {
  MatrixView reference, frame;
};

/// Finds the displacements between pictures of one size. Not for use by several threads at once;
/// one object per thread is fine.
class XCORR_API FieldMatcher {
 public:
  /// Prepares for pictures of that size: allocates and plans. `mask`: none (without data), or u8 of
  /// the pictures' size in host memory, copied: a pixel of the reference counts where it is not 0.
  /// `places`: none, for the grid of FieldSettings::spacing, or those of windows, in every pass;
  /// copied. Neighbours are then the up to eight nearest ones, and windows of passes before the
  /// last are moved inside the picture where they would reach out.
  /// Errors: invalid_argument for settings that cannot be, windows larger than the picture, passes
  /// that grow, a mask of another size or type, places of windows that are not inside the picture
  /// or with deformation; unsupported; out_of_memory; device_error.
  static Result<FieldMatcher> make(const Device& device, Size picture,
                                   const FieldSettings& settings, const MatrixView& mask = {},
                                   std::span<const FieldPlace> places = {});
  FieldMatcher(FieldMatcher&&) noexcept;
  FieldMatcher& operator=(FieldMatcher&&) noexcept;
  ~FieldMatcher();

  /// Columns and rows of the last pass's windows: vectors come row by row. Those at places are one
  /// row, in their order.
  Size grid() const;

  /// Copies the reference: host or device memory, FieldSettings::type, u8 of any PixelLayout, of
  /// which the luma counts, of the prepared size. It has been read when the call returns. Errors:
  /// invalid_argument, also while a field has not been collected; unsupported (another type);
  /// out_of_memory; device_error.
  Status set_reference(const MatrixView& reference, Stream stream = {});

  /// Enqueues the field from the reference to a frame (as for set_reference()); neither allocates
  /// nor waits for the device, but that the first frame in ordinary host memory allocates pinned
  /// memory. A frame in device memory or memory from allocate_host() must stay valid until
  /// collect() has returned, another one has been read when the call returns. Without a stream the
  /// matcher uses its own. Errors: as set_reference(); invalid_argument without a reference.
  Status enqueue(const MatrixView& frame, Stream stream = {});

  /// The frame that was enqueued last becomes the reference, without a copy. It may still be
  /// compared. Errors: invalid_argument without such a frame.
  Status advance();

  /// Waits for the enqueued field: grid().area() vectors, which stay where the device has put them
  /// until the next enqueue(). Errors: invalid_argument where none is enqueued; device_error.
  Result<std::span<const FieldVector>> collect();

  /// The same, copied.
  Status collect(std::vector<FieldVector>& vectors);

  /// All of the above for one pair.
  Status match(const MatrixView& reference, const MatrixView& frame,
               std::vector<FieldVector>& vectors);

  /// One field of several pairs that show the same motion: the scores of each shift are averaged
  /// over the pairs before the best one is looked for (ensemble correlation), so windows may be
  /// small and particles few. Pictures as for set_reference(); those in host memory are copied
  /// again for each pass. Waits for the device; afterwards there is no reference. Errors: as
  /// enqueue(); invalid_argument without a pair, or with least squares, which fit single pairs.
  Status match_ensemble(std::span<const FieldPair> pairs, std::vector<FieldVector>& vectors,
                        Stream stream = {});

 private:
  struct Impl;
  explicit FieldMatcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace xcorr
