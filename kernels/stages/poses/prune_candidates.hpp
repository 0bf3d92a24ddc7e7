// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stages that choose the candidates of a search for poses.
//   collect_candidates: the peaks of the top level's images -> its candidates
//   prune_candidates:   candidates and what was rescored near them -> the best of those, fewer
#pragma once

#include "stages/match/peaks.hpp"
#include "stages/poses/local_rescore.hpp"

namespace xcorr {

/// Which candidates are kept: one after the other the best one left (of equals the first), which
/// then stands for all those next to it whose poses adjoin its own.
struct PoseChoice {
  int most = 1;
  double least = 0;  ///< similarity
  /// Twice the distance, in pixels of the level, below which candidates of adjoining poses are one;
  /// not more than `near`.
  double next = 0;
  int turns = 3, sizes = 2;  ///< poses adjoin that are so many steps from each other
  /// Of those kept no more than `share` are so near each other (twice the distance), whatever their
  /// poses: a part that looks alike at many must not take the places of others.
  double near = 0;
  int share = 1;
  /// Once `wanted` of those kept are at least this far from each other (twice the distance), none
  /// is kept whose similarity is less than the last one's by more than the margin.
  double far = 0;
  int wanted = 1;
  double margin = 0;
  /// By how many pixels of the level below this one begins before it, see PyramidDown.
  int before = 0;

  /// Whether one is not kept, since `kept` is. `crowd`: of those asked about so far, in any order,
  /// how many are near.
  XCORR_HD bool hides(const PoseSteps& steps, int level, const PoseCandidate& kept,
                      const PoseCandidate& one, int& crowd) const {
    if (!near_each_other(kept, one)) return false;
    return ++crowd >= share || same(steps, level, kept, one);
  }
  XCORR_HD bool near_each_other(const PoseCandidate& a, const PoseCandidate& b) const {
    return squared_distance(a, b) < square_of(near);
  }
  /// Whether two that are near each other stand for one.
  XCORR_HD bool same(const PoseSteps& steps, int level, const PoseCandidate& a,
                     const PoseCandidate& b) const {
    return squared_distance(a, b) < square_of(next) &&
           steps.adjoin(level, a.pose, b.pose, turns, sizes);
  }
  XCORR_HD bool apart(const PoseCandidate& a, const PoseCandidate& b) const {
    return squared_distance(a, b) >= square_of(far);
  }
  /// What the next level of the pyramid knows as the same.
  XCORR_HD PoseCandidate one_level_down(PoseCandidate c) const {
    // The centre of pixel i lies at 2 i + 0.5 of the level below, less what is before it.
    c.twice_x = 2 * (c.twice_x - before) + 1;
    c.twice_y = 2 * (c.twice_y - before) + 1;
    c.pose = PoseSteps::below(c.pose);
    return c;
  }

 private:
  /// In integers, which take a GPU a fraction of the time.
  XCORR_HD static std::int64_t squared_distance(const PoseCandidate& a, const PoseCandidate& b) {
    const std::int64_t x = a.twice_x - b.twice_x, y = a.twice_y - b.twice_y;
    return x * x + y * y;
  }
  /// Of integers those below are the same as those below the square.
  XCORR_HD static std::int64_t square_of(double distance) {
    return static_cast<std::int64_t>(ceil(distance * distance));
  }
};

/// Less than any similarity.
inline constexpr double no_similarity = -2;

/// Of a normed method.
XCORR_HD inline double similarity_of(bool minimum, Polarity polarity, double score) {
  return minimum ? 1 - score : oriented(polarity, score);
}

namespace stage {

struct CollectCandidates {
  static constexpr const char* name = "collect_candidates";

  struct Source {  ///< an image of the top level
    PoseIndex pose;
    std::int32_t width, height;
    /// Twice the way from the image's centre to the template's.
    std::int32_t twice_right = 0, twice_down = 0;
    /// Of its similarities in a list of candidates: few pixels resemble many places by chance, so
    /// images of more pixels have more. Below 1.
    float bonus = 0;

    /// Twice the coordinates of the template's centre where the image begins there.
    XCORR_HD std::int32_t twice_x(std::int32_t left) const {
      return 2 * left + width - 1 + twice_right;
    }
    XCORR_HD std::int32_t twice_y(std::int32_t top) const {
      return 2 * top + height - 1 + twice_down;
    }
  };

  struct Problem {
    bool minimum = false;  ///< the best score is the smallest
    int images = 1, max_peaks = 1;
    PoseSteps steps;
    int level = 0;
    PoseChoice choice;
    Polarity polarity = Polarity::same;

    constexpr Features features() const {
      return Features(Feature::u8).with(Feature::contrast, polarity != Polarity::same);
    }
    constexpr std::int64_t slots() const { return std::int64_t{images} * max_peaks; }
  };

  struct Buffers : Launch {
    const RefinedPeak* peaks = nullptr;  ///< max_peaks an image
    const std::uint32_t* peak_counts = nullptr;
    const Source* sources = nullptr;
    /// choice.most; of the level below unless the level is 0.
    PoseCandidate* candidates = nullptr;
    std::int32_t* candidate_count = nullptr;
    RefinedPose* starts = nullptr;  ///< see PruneCandidates
    const AngleStep* angles = nullptr;
    const std::int32_t* inverse_scales = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("peaks", &Buffers::peaks, records<RefinedPeak>(p.slots()));
    visit("peak_counts", &Buffers::peak_counts, records<std::uint32_t>(p.images));
    visit("sources", &Buffers::sources, records<Source>(p.images));
    visit("angles", &Buffers::angles, records<AngleStep>(p.steps.angles));
    visit("inverse_scales", &Buffers::inverse_scales, records<std::int32_t>(p.steps.scales));
    visit("candidates", &Buffers::candidates, records<PoseCandidate>(p.choice.most));
    visit("candidate_count", &Buffers::candidate_count, records<std::int32_t>(1));
    visit("starts", &Buffers::starts, records<RefinedPose>(p.level == 0 ? p.choice.most : 0));
  }
};

struct PruneCandidates {
  static constexpr const char* name = "prune_candidates";

  struct Problem {
    bool minimum = false;  ///< the best score is the smallest
    PoseSteps steps;
    int level = 0;
    int count = 1;  ///< at most so many candidates
    PoseChoice choice;
    Polarity polarity = Polarity::same;

    constexpr Features features() const {
      return Features(Feature::u8).with(Feature::contrast, polarity != Polarity::same);
    }
    XCORR_HD int tries() const { return steps.neighbours(); }
  };

  struct Buffers : Launch {
    const PoseCandidate* candidates = nullptr;
    const std::int32_t* candidate_count = nullptr;
    const RescoredPlace* found = nullptr;  ///< see LocalRescore
    const AngleStep* angles = nullptr;
    const std::int32_t* inverse_scales = nullptr;
    /// choice.most; of the level below unless the level is 0.
    PoseCandidate* kept = nullptr;
    std::int32_t* kept_count = nullptr;
    /// At level 0: where each begins to align; of scale 0 where there is none.
    RefinedPose* starts = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("candidates", &Buffers::candidates, records<PoseCandidate>(p.count));
    visit("candidate_count", &Buffers::candidate_count, records<std::int32_t>(1));
    visit("found", &Buffers::found, records<RescoredPlace>(std::int64_t{p.count} * p.tries()));
    visit("angles", &Buffers::angles, records<AngleStep>(p.steps.angles));
    visit("inverse_scales", &Buffers::inverse_scales, records<std::int32_t>(p.steps.scales));
    visit("kept", &Buffers::kept, records<PoseCandidate>(p.choice.most));
    visit("kept_count", &Buffers::kept_count, records<std::int32_t>(1));
    visit("starts", &Buffers::starts, records<RefinedPose>(p.level == 0 ? p.choice.most : 0));
  }

  /// The candidate at the best of its tries, not yet below `no_similarity` if one is inside.
  XCORR_HD static PoseCandidate best_of(const Problem& p, const Buffers& b, int index) {
    PoseCandidate best = b.candidates[index];
    best.similarity = no_similarity;
    for (int k = 0; k < p.tries(); ++k) {
      const RescoredPlace& here = b.found[index * p.tries() + k];
      if (!here.is_inside) continue;
      const double similarity = similarity_of(p.minimum, p.polarity, here.score);
      if (similarity > best.similarity)
        best = {similarity, here.score, here.twice_x, here.twice_y, here.pose};
    }
    return best;
  }
};

}  // namespace stage

/// Where least squares begin from a candidate of level 0.
XCORR_HD inline RefinedPose start_of(const PoseCandidate& c, const PoseTables& tables) {
  const AngleStep angle = tables.angles[c.pose.angle];
  return {0.5 * c.twice_x, 0.5 * c.twice_y, double(angle.cosine) / (1 << 30),
          double(angle.sine) / (1 << 30), double(1 << 24) / tables.inverse_scales[c.pose.scale]};
}

}  // namespace xcorr
