// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Template matching: one frame against a bank of templates, peaks out. The stages are those of
// the pipeline filter (if asked for) -> correlate -> normalise -> peaks -> refine; only the last
// one's result leaves the device.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <xcorr/device.hpp>
#include <xcorr/export.hpp>
#include <xcorr/live_template.hpp>
#include <xcorr/methods.hpp>
#include <xcorr/types.hpp>

namespace xcorr {

struct MatchSettings {
  Method method = Method::ccoeff_normed;

  /// How close a match must be, in [-1, 1]. A peak's score is at least `threshold` times what an
  /// exact copy of the template scores; for the two sqdiff methods, at most (1 - threshold) times
  /// what a zero window scores (1 for sqdiff-normed, the template's own sum of squares for
  /// sqdiff).
  double threshold = 0.5;

  int max_peaks = 1;  ///< of each template, 1 to 1024

  /// Pixels. A peak is a shift that no other beats within |dx| < distance and |dy| < distance (of
  /// equal ones the upper, then the left one counts). 0: half the template's width and height.
  int min_peak_distance = 0;

  bool subpixel = true;

  /// The part of the frame that is searched: a match lies wholly inside. See searched_region.
  Rect search_region;

  /// Pixels, 0 to 10. Above 0 the frame and the templates, each by itself, are smoothed before they
  /// are compared, by gaussian_weights of it across and down, see FilterProblem: u8 stays u8, and
  /// scores are exactly those of the smoothed pictures. It takes noise away; near a template's
  /// edges, whose surroundings it does not know, a copy differs a little.
  double prefilter_sigma = 0;

  /// What finds the matches: the name of a variant of the search stage, which keeps no scores, or
  /// of the correlate stage; "auto" (what benchmarks found fastest at problems like this one) or
  /// "tune" (what is fastest here, see Matcher::prepare).
  std::string kernel = "auto";

  bool operator==(const MatchSettings&) const = default;
};

/// What a search region comes to in a frame: an empty one (the default) is the whole frame; of
/// others what reaches over the frame's edge is cut off, to a width or height of 0 where nothing is
/// left.
XCORR_API Rect searched_region(Size frame, const Rect& region);

struct Peak {
  std::uint32_t template_index;  ///< position in the bank
  double x, y;                   ///< top-left corner in the frame, pixels; a fraction with subpixel
  int width, height;             ///< the template's
  double score;                  ///< OpenCV's value at the whole-pixel position, exact for u8
  /// The greatest threshold (see MatchSettings) that the score reaches: 1 for an exact copy.
  double closeness = 0;
};

/// How well a template matches at every place.
struct Response {
  Rect places;  ///< of its top-left corner in the frame; empty: it does not fit
  /// Row by row, dense: the closeness (see Peak) there. 0 for a template that can match nothing.
  std::vector<float> values;
};

/// Follows a bank of templates through frames of one size. Not for several threads at once; one
/// object a thread is fine.
class XCORR_API Matcher {
 public:
  static Result<Matcher> create(const Device& device);
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(Matcher&&) noexcept;
  ~Matcher();

  /// Copies the templates (host memory, all of u8 or all of f32, sizes may differ). On an error the
  /// previous bank stays. At most 11.9 million pixels each (64-bit sums).
  Status set_templates(std::span<const MatrixView> templates);
  /// Shares templates that may change, of the matcher's backend: each frame is matched with what
  /// they are when it is enqueued. enqueue() then makes ready for what has changed by work on the
  /// device; it still neither allocates nor waits. On an error the previous bank stays.
  Status set_templates(std::span<const std::shared_ptr<const LiveTemplate>> templates);

  /// Makes everything ready for frames of this type and size: allocates, plans, transforms the
  /// templates. Cheap when nothing changed that matters. The templates must have the frames' type.
  /// Templates that do not fit into the search region never match, see all_fit(). Errors:
  /// invalid_argument, unsupported (no such kernel, with templates or without, or it cannot do
  /// this), out_of_memory, device_error.
  ///
  /// With kernel "tune" the variants that can do it are measured when a problem is new: whole
  /// matches of noise, on the device, for at most 2 s in all, one matcher of the process at a time.
  /// A problem is the device with its driver, this library's version, the type, the sizes of search
  /// region and template, how many templates have that size, method, max_peaks and peak distances.
  /// The answer is kept in tuned-kernels.txt in $XDG_CACHE_HOME/cudaxcorr or
  /// $HOME/.cache/cudaxcorr, for other programs too; that it cannot be written is no error.
  Status prepare(ElementType type, Size frame, const MatchSettings& settings);

  /// Whether each template fits into the search region that was prepared. Errors: invalid_argument,
  /// which names the first that does not, with both sizes.
  Status all_fit() const;

  /// Enqueues the whole match of a frame (host or device memory, of the prepared type and size);
  /// neither allocates nor waits for the device, but a frame in ordinary host memory has been read
  /// when it returns. A frame in device memory or in that of allocate_host() must live until
  /// collect() returned. Without a stream the matcher uses one of its own. The first frame in
  /// ordinary host memory allocates pinned memory, through which such frames go to a GPU.
  ///
  /// A u8 frame may have any PixelLayout. Where pixels are more than luma, that of the searched
  /// part is made on the device; the first such frame allocates for it. Errors: invalid_argument,
  /// out_of_memory, device_error.
  Status enqueue(const MatrixView& frame, Stream stream = {});

  /// Waits for the enqueued frame's peaks: templates in order, best first within a template.
  Status collect(std::vector<Peak>& peaks);

  /// What one template of the bank scores in a frame as enqueue() takes it, by the settings
  /// prepared. Waits for the result, and leaves a frame that is enqueued alone. The first call for
  /// a template after prepare() made something new allocates as that does. Errors: as prepare() and
  /// enqueue().
  Status respond(const MatrixView& frame, std::uint32_t template_index, Response& response);

  /// The variant in use that `kernel` names: the first group's, when templates of several sizes use
  /// several; empty before prepare() and while no template fits.
  std::string kernel() const;

  /// What the last prepare() with kernel "tune" that made something new found out and how, and
  /// whether it is remembered: a line for a log. Empty before. Valid until the next prepare().
  const std::string& tuning() const;

 private:
  struct Impl;
  explicit Matcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace xcorr
