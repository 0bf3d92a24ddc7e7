// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Template matching: one frame against a bank of templates, peaks out. The stages are filter (if
// requested) -> correlate -> normalise -> peaks -> refine; only the last one's result leaves the
// device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <xcorr/device.hpp>
#include <xcorr/export.hpp>
#include <xcorr/live_template.hpp>
#include <xcorr/methods.hpp>
#include <xcorr/poses.hpp>
#include <xcorr/types.hpp>

namespace xcorr {

/// The most that a template may have: the limit of exact sums of 8-bit products in 64 bits.
inline constexpr std::int64_t max_template_pixels = 11'900'000;

/// How the place of a match is found to a fraction of a pixel.
enum class Subpixel : std::uint8_t {
  none,           ///< it is not: places are whole pixels; poses are those of the search's grid
  quadratic,      ///< by the quadratic through the scores at and around the whole pixel
  least_squares,  ///< where the frame fits the template best, but for brightness and contrast
};

struct MatchSettings {
  Method method = Method::ccoeff_normed;

  /// How close a match must be, in [-1, 1]. A peak's score is at least `threshold` times what an
  /// exact copy of the template scores; for the two sqdiff methods, at most (1 - threshold) times
  /// what a zero window scores (1 for sqdiff-normed, the template's own sum of squares for
  /// sqdiff).
  double threshold = 0.5;

  /// Which contrast a match has. `inverted` and `either` are for ccoeff and ccoeff_normed, the
  /// methods whose scores tell by their sign.
  Polarity polarity = Polarity::same;

  /// Windows whose pixels (of the mask) have a standard deviation below that, in gray levels, are
  /// no match, whatever they score. 0: all may be. Not negative, finite.
  double min_contrast = 0;

  int max_peaks = 1;  ///< per template, 1 to 1024

  /// Pixels. Peaks are shifts that reach the threshold and that none of their eight neighbours
  /// beats (among equal ones the upper, then the left one wins), taken by score: each suppresses
  /// those within |dx| < distance and |dy| < distance, and those suppressed suppress none. 0: half
  /// the template's width and height; the searched region's extent or more: one peak.
  int min_peak_distance = 0;

  /// A place is never more than a pixel away in x and in y from where the score is the peak's.
  /// Least squares need a template with 16 pixels or more that are at least 2 away from its rim and
  /// its mask's, and a peak that is not at the border of the searched region; elsewhere, and where
  /// they find no place, the quadratic's is taken. With poses other than `none` is least squares.
  Subpixel subpixel = Subpixel::least_squares;

  /// In [-1, 1]: peaks whose closeness is less are left at whole pixels, which is quicker where
  /// many are found and the best are wanted. Poses are settled whatever it is.
  double subpixel_threshold = -1;

  /// The part of the frame that is searched: a match lies wholly inside. See searched_region.
  Rect search_region;

  /// Pixels, 0 to 10. Above 0 the frame and the templates are smoothed separately before matching,
  /// with gaussian_weights(prefilter_sigma) in both directions, see FilterProblem: u8 stays u8, and
  /// scores are exactly those of the smoothed pictures. This reduces noise; near a template's
  /// edges, whose surroundings are unknown, a copy differs slightly.
  double prefilter_sigma = 0;

  /// Where several templates match one place, only the best is reported, see keep_best_templates().
  /// What is left out counts to its template's max_peaks.
  bool best_template = false;

  /// The kernel that finds the matches: the name of a variant of the search stage, which keeps no
  /// scores, or of the correlate stage; "auto" (the fastest in benchmarks of similar problems) or
  /// "tune" (the fastest on this device, see Matcher::prepare).
  std::string kernel = "auto";

  /// With "auto", in u8 and without masks: products may be approximate where that is quicker (on
  /// the CPU, "fft_single" in place of "fft"). Peaks' scores are still exact. Where neighbouring
  /// shifts score nearly alike, by 1e-5 or so, another one of them may be the peak.
  bool approximate = false;

  /// Poses are searched by a normed method and without a prefilter, fastest in frames of u8. How
  /// many levels a live one's pyramid has is decided when the matcher is prepared. Scores are then
  /// those of the turned and scaled template at a whole pixel of the frame, exact, but for f32, for
  /// the pixels of its mask that lie wholly inside, see docs/poses.md.
  PoseRange poses;

  bool operator==(const MatchSettings&) const = default;
};

/// The effective search region in a frame: an empty one (the default) is the whole frame; others
/// are clipped to the frame, with a width or height of 0 where nothing is left.
XCORR_API Rect searched_region(Size frame, const Rect& region);

struct Peak {
  std::uint32_t template_index;  ///< position in the bank
  double x, y;                   ///< top-left corner in the frame, pixels; a fraction with subpixel
  int width, height;             ///< the template's; of a turned or scaled one its upright bounds
  /// OpenCV's value at the whole-pixel position, exact for u8; if `inverted`, for the template with
  /// the contrast inverted, which is its negative.
  double score;
  /// The highest threshold (see MatchSettings) that the score reaches: 1 for an exact copy.
  double closeness = 0;
  Pose pose = {};
  bool inverted = false;  ///< the match has the opposite contrast, see MatchSettings::polarity
};

/// Of peaks of different templates that have more than `max_overlap` (0 to 1) of the smaller one's
/// area in common, leaves the one with the greatest closeness; of equal ones the first. The others
/// are taken by closeness, and one that is left out is in nobody's way. The order stays.
XCORR_API void keep_best_templates(std::vector<Peak>& peaks, double max_overlap);

/// How well a template matches at every position.
struct Response {
  Rect places;  ///< of its top-left corner in the frame; empty: it does not fit
  /// Row by row, dense: the closeness (see Peak) there. 0 for a template that cannot match.
  std::vector<float> values;
};

/// Where scores are written: f32, row by row, in host memory or the device's.
struct ScoreMap {
  float* data = nullptr;
  std::ptrdiff_t pitch = 0;  ///< bytes from one row to the next, at least a row's
  Memory memory = Memory::host;
};

/// Searches frames of one size for a bank of templates. Not for use by several threads at once; one
/// object per thread is fine.
class XCORR_API Matcher {
 public:
  static Result<Matcher> create(const Device& device);
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(Matcher&&) noexcept;
  ~Matcher();

  /// Copies the templates (host memory, all of u8 or all of f32, sizes may differ). On an error the
  /// previous bank is kept. At most max_template_pixels each.
  ///
  /// `masks`: none, or one for each template, of its size, u8 in host memory; copied. A pixel
  /// counts where its mask is not 0 (OpenCV's meaning of an 8-bit mask), in the template and in
  /// every window: scores, peaks and thresholds are those of these pixels alone, for all methods,
  /// and for u8 as exact. A mask without data stands for one in which all count. Templates of one
  /// size that share a mask are searched together, and the sums over their windows computed once.
  /// Errors: invalid_argument for a mask of another size or type, or one that leaves no pixel.
  Status set_templates(std::span<const MatrixView> templates,
                       std::span<const MatrixView> masks = {});
  /// Shares templates that may change and belong to the matcher's device: each frame is matched
  /// with their state when it is enqueued. enqueue() then updates on the device what is derived
  /// from changed templates; it still neither allocates nor waits. On an error the previous bank is
  /// kept.
  Status set_templates(std::span<const std::shared_ptr<const LiveTemplate>> templates,
                       std::span<const MatrixView> masks = {});

  /// Prepares for frames of this type and size: allocates, plans, transforms the templates. Cheap
  /// when nothing relevant changed. The templates must have the frames' type. Templates that do not
  /// fit into the search region never match, see all_fit(). Errors: invalid_argument, unsupported
  /// (no such kernel, checked even without templates, or it cannot do this problem), out_of_memory,
  /// device_error.
  ///
  /// With kernel "tune" the variants that can do a problem are measured when it is new: whole
  /// matches of noise, on the device, for at most 2 s in total, one matcher of the process at a
  /// time. A problem is identified by the device with its driver, this library's version, the type,
  /// the sizes of search region and template, the number of templates of that size, method,
  /// max_peaks and peak distances. The result is kept in tuned-kernels.txt in
  /// $XDG_CACHE_HOME/cudaxcorr or $HOME/.cache/cudaxcorr, also for other programs; failing to write
  /// it is not an error.
  Status prepare(ElementType type, Size frame, const MatchSettings& settings);

  /// Whether each template fits into the prepared search region, at some pose. Errors:
  /// invalid_argument, naming the first that does not, with both sizes.
  Status all_fit() const;

  /// Enqueues the whole match of a frame (host or device memory, of the prepared type and size);
  /// neither allocates nor waits for the device; a frame in ordinary host memory has been read when
  /// it returns. A frame in device memory or in memory from allocate_host() must stay valid until
  /// collect() has returned. Without a stream the matcher uses its own. The first frame in ordinary
  /// host memory allocates pinned memory, through which such frames are uploaded to a GPU. A frame
  /// in another GPU's memory is copied to the matcher's.
  ///
  /// A u8 frame may have any PixelLayout. Where pixels are more than luma, the luma of the searched
  /// part is computed on the device; the first such frame allocates memory for it. Errors:
  /// invalid_argument, out_of_memory, device_error; the frame is not enqueued then and not read any
  /// more.
  Status enqueue(const MatrixView& frame, Stream stream = {});

  /// Waits for the enqueued frame's peaks: templates in order, best first within a template.
  Status collect(std::vector<Peak>& peaks);

  /// The places of a template's top-left corner in the prepared frames; empty: it does not fit, or
  /// there is no such template, or prepare() has not been called.
  Rect places(std::uint32_t template_index) const;

  /// Writes what one template of the bank scores in a frame (as for enqueue()) at each of its
  /// places(), by the prepared settings: OpenCV's values (see MethodInfo), for u8 exact but for the
  /// rounding to f32, whatever the polarity and the contrast. Does not affect an enqueued frame.
  /// The first call for a template, or after prepare() changed something, allocates as prepare()
  /// does. Upright, whatever the poses.
  ///
  /// Host memory has been written when it returns. For memory of the device the work is only
  /// enqueued, on the stream; frame and scores must stay valid until the stream has done it, and so
  /// must the matcher, which until then scores on that stream alone. Errors: as prepare() and
  /// enqueue(), and invalid_argument for scores without data or of too small a pitch.
  Status score(const MatrixView& frame, std::uint32_t template_index, const ScoreMap& scores,
               Stream stream = {});

  /// The response of one template of the bank in a frame: as score(), but closeness by the prepared
  /// polarity, in host memory.
  Status respond(const MatrixView& frame, std::uint32_t template_index, Response& response);

  /// The name of the variant in use for `kernel`: that of the first group, when templates of
  /// several sizes use several; empty before prepare() and while no template fits.
  std::string kernel() const;

  /// What the last prepare() with kernel "tune" that planned anew found and how, and whether it was
  /// saved: a line for a log. Empty before that. Valid until the next prepare().
  const std::string& tuning() const;

 private:
  struct Impl;
  explicit Matcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace xcorr
