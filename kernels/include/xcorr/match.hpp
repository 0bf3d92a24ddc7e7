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

#include <xcorr/budget.hpp>
#include <xcorr/device.hpp>
#include <xcorr/export.hpp>
#include <xcorr/live_template.hpp>
#include <xcorr/methods.hpp>
#include <xcorr/poses.hpp>
#include <xcorr/types.hpp>

namespace xcorr {

/// The largest number of pixels of a template: up to it 64-bit sums of 8-bit products are exact.
inline constexpr std::int64_t max_template_pixels = 11'900'000;

/// How the sub-pixel place of a match is found.
enum class Subpixel : std::uint8_t {
  none,           ///< not at all: whole pixels, and poses of the search grid
  quadratic,      ///< the extremum of a quadratic through the scores around the peak
  least_squares,  ///< least squares, for any brightness and contrast
};

/// What of a picture is compared.
enum class MatchOn : std::uint8_t {
  luma,
  /// Its three planes, see MatrixView::color. A score is OpenCV's for three channels: sums are over
  /// all planes, means of each. A gray template has its gray in all of them; a frame must have
  /// colour. At most a third of max_template_pixels. On a GPU of u8.
  color,
  /// The directions of its edges. A score is the mean cosine of the angle between the template's
  /// gradients and the frame's, over the template's edges, 0 where the frame has none: 1 for an
  /// exact copy, whatever its brightness and contrast, and the visible share of what is partly
  /// hidden. `method` does not matter; with Polarity::either angles are doubled, so that each edge
  /// may have either contrast (peaks are then never `inverted`). Of u8.
  edges,
  /// The same of the three planes of a picture that has them: at each pixel the longest of their
  /// gradients, so what differs from its ground in hue alone has edges, too. A gray template has
  /// those of its gray; a frame must have colour.
  color_edges,
};

/// Whether the directions of edges are compared.
constexpr bool is_on_edges(MatchOn match_on) {
  return match_on == MatchOn::edges || match_on == MatchOn::color_edges;
}
/// Whether frames must have colour.
constexpr bool is_in_color(MatchOn match_on) {
  return match_on == MatchOn::color || match_on == MatchOn::color_edges;
}

struct MatchSettings {
  MatchOn match_on = MatchOn::luma;

  /// On edges: the gradient that an edge of a template has at least, in gray levels a pixel of the
  /// image smoothed by about one pixel; in frames half of it is enough, and in a template that has
  /// few edges. In (0, 64].
  double edge_contrast = 1.5;

  Method method = Method::ccoeff_normed;

  /// How close a match must be, in [-1, 1]. A peak's score is at least `threshold` times what an
  /// exact copy of the template scores; for the two sqdiff methods, at most (1 - threshold) times
  /// what a black template window scores (1 for sqdiff-normed, the template's own sum of squares
  /// for sqdiff).
  double threshold = 0.5;

  /// The contrast of a match. `inverted` and `either` need ccoeff or ccoeff_normed, whose scores
  /// have a sign.
  Polarity polarity = Polarity::same;

  /// The least standard deviation of a template window's pixels under the mask, in gray levels.
  /// Windows below it never match. 0: no limit. Finite, not negative.
  double min_contrast = 0;

  /// Above 0: a second look at each peak tells apart what differs in a small part. The template is
  /// cut into squares of 8 x 8 pixels, from its upper left corner on. A peak stays where template
  /// and frame differ by at most that in each: the root mean square over all planes and the
  /// square's pixels that count, or 16 where fewer do, in gray levels of the template. Before that
  /// the frame gets the template's brightness and contrast, as far as the method does not compare
  /// them: by ccoeff_normed both, by ccoeff brightness, by ccorr_normed a factor. Upright peaks
  /// that go count towards max_peaks. At other poses squares are of the frame, and the template is
  /// turned and scaled to the refined one. On luma and colour, without overhang. Finite, >= 0.
  double confirm_threshold = 0;

  /// Masks are weights: a pixel counts as often as its byte of the mask says, 0 to 255 times, in
  /// means, squares and products; scores are exact. Least squares, and at poses all before those
  /// scores, take the pixels of at least half the largest weight, or the heaviest that make up half
  /// of all. For normed methods on luma and colour, without overhang; upright of u8, without
  /// confirm_threshold. False: a pixel counts where its mask is not 0.
  bool weights = false;

  int max_peaks = 1;  ///< per template, 1 to 1024

  /// Pixels. A peak reaches the threshold and none of its eight neighbours beats it; of equal ones
  /// the upper, then the left one wins. Peaks are taken by score, best first. Each suppresses those
  /// within |dx| < distance and |dy| < distance; a suppressed peak suppresses none. 0: half the
  /// template's width and height. The extent of the search region or more: one peak.
  int min_peak_distance = 0;

  /// The sub-pixel place is at most one pixel away from the peak, in x and in y. Least squares need
  /// at least 16 pixels that are 2 or more away from the rims of template and mask, and a peak that
  /// is not at the border of the search region. Otherwise, and where they do not converge, the
  /// quadratic is used. With poses every value but `none` means least squares.
  Subpixel subpixel = Subpixel::least_squares;

  /// In [-1, 1]. Peaks of less similarity stay at whole pixels, which is faster where many are
  /// found and only the best matter. It does not affect poses.
  double subpixel_threshold = -1;

  /// The share of a template's pixels that count which may lie outside the frame, 0 to 0.5. The
  /// score is that of those inside, as exact as others. Above 0 it needs a normed method, and for
  /// poses the CPU. At 0 what does not count of upright templates may stick out.
  double overhang = 0;

  /// The part of the frame that is searched. A match lies completely inside, but where the part
  /// reaches the frame's border it may stick out there as `overhang` says. See searched_region.
  Rect search_region;

  /// Pixels, 0 to 10. Above 0 the frame and the templates are smoothed separately before matching,
  /// with gaussian_weights(prefilter_sigma) in both directions, see FilterProblem: u8 stays u8, and
  /// scores are exactly those of the smoothed images. This reduces noise; near a template's
  /// edges, whose surroundings are unknown, a copy differs slightly.
  double prefilter_sigma = 0;

  /// Where several templates match at one place, only the best is reported, see
  /// keep_best_templates(). The others still count towards the max_peaks of their templates.
  bool best_template = false;

  /// The kernel that finds the matches: the name of a variant of the search stage, which keeps no
  /// scores, or of the correlate stage; "auto" (the fastest in benchmarks of similar problems) or
  /// "tune" (the fastest on this device, see Matcher::prepare).
  std::string kernel = "auto";

  /// With "auto", u8 and no masks: products may be approximate where that is faster (on the CPU
  /// "fft_single" instead of "fft"). Scores of peaks stay exact. Where the scores of neighbouring
  /// shifts differ by less than about 1e-5, another of them may become the peak.
  bool approximate = false;

  /// Poses need a normed method and no prefilter; frames of u8 are the fastest. The number of
  /// pyramid levels of a live template is fixed when the matcher is prepared. A score is that of
  /// the rotated and scaled template at a whole pixel of the frame, over the pixels of its mask
  /// that lie completely inside; it is exact except for f32. See docs/poses.md.
  PoseRange poses;

  /// What a frame may cost.
  Budget budget;

  /// How sure it must be that a peak's place is right, up to 1; others are not reported. From 0 on
  /// peaks have a confidence; below 0, the default, they have none. It needs ccoeff_normed on luma
  /// or edges, and max_peaks of at most 1023. It costs the search for one more peak, down to a
  /// similarity of 0.3 or 0.2: see docs/confidence.md.
  double min_confidence = -1;

  bool operator==(const MatchSettings&) const = default;
};

/// The effective search region in a frame. An empty region (the default) means the whole frame.
/// Others are clipped to the frame; width or height is 0 where nothing is left.
XCORR_API Rect searched_region(Size frame, const Rect& region);

struct Peak {
  std::uint32_t template_index;  ///< position in the bank
  double x, y;                   ///< top-left corner in the frame, pixels; a fraction with subpixel
  int width, height;             ///< the template's; with a pose its upright bounds
  /// OpenCV's value at the whole-pixel position, exact for u8. If `inverted`, that of the template
  /// with inverted contrast, which is the negative.
  double score;
  /// The highest threshold (see MatchSettings) that the score reaches: 1 for an exact copy.
  double similarity = 0;
  Pose pose = {};
  bool inverted = false;  ///< the match has the opposite contrast, see MatchSettings::polarity
  /// The probability that the place is right, 0 to 1; -1 unless MatchSettings::min_confidence asks.
  double confidence = -1;
};

/// Whether masks can be weights, see MatchSettings::weights, of frames of u8 or at poses.
XCORR_API bool can_weigh(const MatchSettings& settings);

/// Whether a prefilter of that sigma leaves more than a slope of a template of that size: in its
/// middle half of the weights, or more, lie inside. Without it a prepare() is refused.
XCORR_API bool survives_prefilter(Size size, double sigma);

/// Whether peaks can have a confidence, see MatchSettings::min_confidence.
XCORR_API bool has_confidence(const MatchSettings& settings);

/// Non-maximum suppression between templates. Of peaks of different templates that share more than
/// `max_overlap` (0 to 1) of the smaller one's area, only the most similar one stays; of equal ones
/// the first. A suppressed peak suppresses none. The order stays.
XCORR_API void keep_best_templates(std::vector<Peak>& peaks, double max_overlap);

/// The same between samples: templates that show one thing. Of each thing at most `max_peaks` peaks
/// stay. `things`: for each template the number of what it shows, from 0 and without gaps.
XCORR_API void keep_best_samples(std::vector<Peak>& peaks, std::span<const std::uint32_t> things,
                                 double max_overlap, int max_peaks);

/// How well a template matches at every position.
struct Response {
  Rect places;  ///< of its top-left corner in the frame; empty: it does not fit
  /// The similarity (see Peak) at each place, row by row, dense. 0 for a template that cannot
  /// match.
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
  /// every template window: scores, peaks and thresholds are those of these pixels alone, for all
  /// methods, and exact for u8. With MatchSettings::weights masks are weights. A mask without data
  /// is one in which all count. Templates of one size that share a mask are searched together, and
  /// their window sums are computed once. Errors: invalid_argument for a mask of another size or
  /// type, or one that leaves no pixel, and for a pixel of f32 that counts but is not finite, or
  /// where the largest of them is beyond [1e-18, 1e15] and not 0: products are added up in single
  /// precision. Frames are not looked at: of other magnitudes than the template's they are matched
  /// by the normed methods alone.
  Status set_templates(std::span<const MatrixView> templates,
                       std::span<const MatrixView> masks = {});
  /// Shares live templates of the matcher's device. Each frame is matched with their state at its
  /// enqueue(), which updates derived data of changed templates on the device; it still neither
  /// allocates nor waits. On an error the previous bank is kept.
  Status set_templates(std::span<const std::shared_ptr<const LiveTemplate>> templates,
                       std::span<const MatrixView> masks = {});

  /// Prepares for frames of this type and size: allocates, plans, transforms the templates. Cheap
  /// if nothing relevant has changed. The templates must have the frames' type. Templates that do
  /// not fit into the search region never match, see all_fit(). Errors: invalid_argument,
  /// over_budget, unsupported (no such kernel, checked even without templates, or it cannot do this
  /// problem), out_of_memory, device_error.
  ///
  /// With kernel "tune" a new problem is measured with each variant that supports it: whole matches
  /// of noise on the device, at most 2 s in total, one matcher of the process at a time. A problem
  /// is identified by the device with its driver, this library's version, the type, the sizes of
  /// search region and template, the number of templates of that size, method, max_peaks and peak
  /// distances. The result is kept in tuned-kernels.txt in $XDG_CACHE_HOME/cudaxcorr or
  /// $HOME/.cache/cudaxcorr, also for other programs; failing to write it is not an error.
  Status prepare(ElementType type, Size frame, const MatchSettings& settings);

  /// What a frame costs as prepared.
  Cost cost() const;

  /// Whether each template fits into the prepared search region, at some pose. Errors:
  /// invalid_argument, naming the first that does not, with both sizes.
  Status all_fit() const;

  /// Enqueues the whole match of a frame (host or device memory, of the prepared type and size);
  /// neither allocates nor waits for the device; a frame in ordinary host memory has been read when
  /// it returns. A frame in device memory, in memory from allocate_host() or of register_host()
  /// must stay valid until collect() has returned. Without a stream the matcher uses its own. The
  /// first frame in ordinary host memory allocates pinned memory, through which such frames are
  /// uploaded to a GPU. A frame in another GPU's memory is copied to the matcher's.
  ///
  /// A u8 frame may have any PixelLayout. Where pixels have more than luma, the luma of the search
  /// region is computed on the device; the first such frame allocates memory for it. Errors:
  /// invalid_argument, out_of_memory, device_error; the frame is not enqueued then and not read any
  /// more.
  Status enqueue(const MatrixView& frame, Stream stream = {});

  /// Waits for the enqueued frame's peaks: templates in order, best first within a template.
  Status collect(std::vector<Peak>& peaks);

  /// The places of a template's top-left corner in the prepared frames; empty: it does not fit, or
  /// there is no such template, or prepare() has not been called.
  Rect places(std::uint32_t template_index) const;

  /// Writes the scores of one template of the bank in a frame (as for enqueue()), at each of its
  /// places(), with the prepared settings: OpenCV's values (see MethodInfo), for u8 exact except
  /// for the rounding to f32. Polarity, minimum contrast and poses are ignored: the template is
  /// upright. Does not affect an enqueued frame. The first call for a template, or after prepare()
  /// changed something, allocates as prepare() does.
  ///
  /// Host memory has been written when it returns. For memory of the device the work is only
  /// enqueued, on the stream; frame and scores must stay valid until the stream has done it, and so
  /// must the matcher, which until then scores on that stream alone. Errors: as prepare() and
  /// enqueue(), and invalid_argument for scores without data or of too small a pitch.
  Status score(const MatrixView& frame, std::uint32_t template_index, const ScoreMap& scores,
               Stream stream = {});

  /// The response of one template of the bank in a frame: as score(), but similarity by the
  /// prepared polarity, in host memory.
  Status respond(const MatrixView& frame, std::uint32_t template_index, Response& response);

  /// The name of the variant in use for `kernel`: that of the first group, when templates of
  /// several sizes use several; empty before prepare() and while no template fits.
  std::string kernel() const;

  /// A line for a log about the last prepare() with kernel "tune" that measured: the kernel, how it
  /// was found, and whether that was saved. Empty before that. Valid until the next prepare().
  const std::string& tuning() const;

 private:
  friend struct SharedBank;  // of the library: matchers of the same templates share their pixels
  struct Impl;
  explicit Matcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace xcorr
