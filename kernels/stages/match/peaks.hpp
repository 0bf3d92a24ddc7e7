// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stages that end a match.
//   peaks:   scores -> candidates, best first, by non-maximum suppression
//   refine:  region, templates, window sums, candidates -> peaks: exact scores, sub-pixel positions
//   search:  region, templates, window sums -> candidates: the same as by correlate, normalise and
//            peaks, in one step, without surfaces; some variants refine them, too
#pragma once

#include <algorithm>

#include "stages/match/contrast.hpp"
#include "stages/match/normalise.hpp"
#include "stages/match/overhang.hpp"
#include "stages/match/score.hpp"

namespace xcorr {

struct Candidate {
  float score;
  std::int32_t x, y;  ///< element of the output, not shift
};

struct RefinedPeak {
  double score;
  double dx, dy;      ///< subpixel_offset(), in [-1, 1]; 0 without subpixel or across a border
  std::int32_t x, y;  ///< element of the output
};

/// What the scores of single windows are made of.
struct WindowInputs : LaunchOfRights {
  const void* lefts = nullptr;
  const void* templates = nullptr;  ///< as they are, but u8 0 where the mask is; as the rights
  const void* window_sums = nullptr;
  const void* window_squares = nullptr;
  const TemplateSums* template_sums = nullptr;
  const std::uint8_t* mask = nullptr;  ///< see stages/match/mask.hpp

  template <class Visit>
  static void arguments(const Problem& p, const Masking& masking, Visit visit) {
    visit("lefts", &WindowInputs::lefts, lefts_of(p));
    visit("templates", &WindowInputs::templates, rights_of(p));
    visit("window_sums", &WindowInputs::window_sums, window_sums_of(p));
    visit("window_squares", &WindowInputs::window_squares, window_squares_of(p));
    visit("template_sums", &WindowInputs::template_sums, template_sums_of(p));
    visit("mask", &WindowInputs::mask, masking.extent(p.right));
  }
};

/// MatchSettings::min_peak_distance across and down, for a template of that size: at least 1, and
/// at most the region's extent, past which there is nothing to suppress.
constexpr Size peak_distance(int requested, Size pattern, Size region) {
  const auto along = [requested](int length, int extent) {
    return std::clamp(requested ? requested : length / 2, 1, extent);
  };
  return {along(pattern.width, region.width), along(pattern.height, region.height)};
}

namespace stage {

struct Peaks {
  static constexpr const char* name = "peaks";

  struct Problem : BatchedProblem {
    Method method = Method::ccoeff_normed;
    int max_peaks = 1;
    int distance_x = 1, distance_y = 1;  ///< from peak_distance()
    double threshold = 0;                ///< see MatchSettings and score_limit()
    Masking masking = {};

    constexpr std::int64_t pixels() const { return masking.pixels(correlate.right); }
    constexpr Features features() const {
      return features_of(correlate)
          .with(Feature::several_peaks, max_peaks > 1)
          .with(Feature::mask, bool(masking));
    }
    constexpr std::int64_t slots() const { return std::int64_t{correlate.rights} * max_peaks; }
  };

  struct Buffers : LaunchOfRights {
    const float* scores = nullptr;
    const xcorr::TemplateSums* template_sums = nullptr;
    Candidate* candidates = nullptr;  ///< max_peaks per template
    std::uint32_t* counts = nullptr;  ///< candidates of each template
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("scores", &Buffers::scores, scores_of(p.correlate));
    visit("template_sums", &Buffers::template_sums, template_sums_of(p.correlate));
    visit("candidates", &Buffers::candidates, records<Candidate>(p.slots()));
    visit("counts", &Buffers::counts, records<std::uint32_t>(p.correlate.rights));
  }
};

/// A threshold that all scores reach.
inline constexpr double place_all = -INFINITY;

/// Whether a score, oriented(), does not reach the subpixel_threshold of a problem of refine or
/// locate.
template <class Problem>
bool stays_whole(const Problem& p, const xcorr::TemplateSums* template_sums, std::int64_t right,
                 double score) {
  const auto pixels = static_cast<double>(p.masking.pixels(p.correlate.right));
  return misses(p.method, score,
                score_limit(p.method, p.subpixel_threshold, pixels,
                            sums_of_right(p.correlate, template_sums, right)));
}

struct Refine {
  static constexpr const char* name = "refine";

  struct Problem {
    xcorr::Problem correlate;
    Method method = Method::ccoeff_normed;
    int max_peaks = 1;
    bool subpixel = true;
    /// Candidates that do not reach it, see score_limit(), may stay at the whole pixel.
    double subpixel_threshold = place_all;
    Masking masking = {};
    /// Scores are the method's whatever it is: it says which extremum of theirs a peak is.
    Polarity polarity = Polarity::same;
    Overhang overhang = {};

    constexpr std::int64_t pixels() const { return masking.pixels(correlate.right); }
    constexpr Features features() const {
      return features_of(correlate)
          .with(Feature::several_peaks, max_peaks > 1)
          .with(Feature::mask, bool(masking))
          .with(Feature::contrast, polarity != Polarity::same)
          .with(Feature::overhang, bool(overhang));
    }
    constexpr std::int64_t slots() const { return std::int64_t{correlate.rights} * max_peaks; }
    /// What of the window at an element of the output lies in the picture, in its own coordinates.
    XCORR_HD Rect seen(int x, int y) const {
      const xcorr::Problem& p = correlate;
      return overhang.seen(p.shifts.x + x, p.shifts.y + y, p.right);
    }
  };

  struct Buffers : WindowInputs {
    const Candidate* candidates = nullptr;
    const std::uint32_t* counts = nullptr;
    RefinedPeak* peaks = nullptr;          ///< max_peaks per template; may be in pinned host memory
    std::uint32_t* peak_counts = nullptr;  ///< peaks of each template; as above
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    WindowInputs::arguments(p.correlate, p.masking, visit);
    visit("candidates", &Buffers::candidates, records<Candidate>(p.slots()));
    visit("counts", &Buffers::counts, records<std::uint32_t>(p.correlate.rights));
    visit("peaks", &Buffers::peaks, records<RefinedPeak>(p.slots()));
    visit("peak_counts", &Buffers::peak_counts, records<std::uint32_t>(p.correlate.rights));
  }
};

struct Search {
  static constexpr const char* name = "search";

  /// Which candidates of all templates are enough. Where `wanted` windows, of any templates,
  /// are at least `apart` pixels from each other, candidates whose scores are less than
  /// the least of theirs by more than `margin` may be left out.
  struct PruningBound {
    int wanted = 0;  ///< 0: all candidates are needed
    float apart = 0, margin = 0;
  };

  struct Problem : Peaks::Problem {
    bool subpixel = true;
    ContrastRule contrast = {};
    PruningBound pruning_bound = {};
    Overhang overhang = {};
    /// The plane whose products bound the scores over all, for kernels that can leave out windows
    /// by that; -1: none is. It should have most of the contrast.
    int lead_plane = -1;
    /// Window sums are those of the first plane alone, which is the lead. A kernel that does with
    /// these (see Extra) writes others into the memory of all, though it is an input: those of all
    /// windows, or of the nine round each peak.
    bool lead_sums_only = false;

    constexpr Features features() const {
      return Peaks::Problem::features()
          .with(Feature::contrast, bool(contrast))
          .with(Feature::overhang, bool(overhang));
    }
  };

  struct Buffers : WindowInputs {
    Candidate* candidates = nullptr;
    std::uint32_t* counts = nullptr;
    RefinedPeak* peaks = nullptr;  ///< where Extra::refines
    std::uint32_t* peak_counts = nullptr;
    /// With a lead plane, where given: of each template what was left, as a share of what a search
    /// of all planes takes.
    float* open_shares = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    WindowInputs::arguments(p.correlate, p.masking, visit);
    visit("candidates", &Buffers::candidates, records<Candidate>(p.slots()));
    visit("counts", &Buffers::counts, records<std::uint32_t>(p.correlate.rights));
    visit("peaks", &Buffers::peaks, records<RefinedPeak>(p.slots()));
    visit("peak_counts", &Buffers::peak_counts, records<std::uint32_t>(p.correlate.rights));
  }

  struct Extra {
    /// Whether it also does what refine does, and writes peaks. Null: never.
    bool (*refines)(const Problem&) = nullptr;
    /// Whether it does with window sums of the lead plane only. Null: never.
    bool (*completes_sums)(const Problem&, const Device&) = nullptr;
  };
};

}  // namespace stage
}  // namespace xcorr
