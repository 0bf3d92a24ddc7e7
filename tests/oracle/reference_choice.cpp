// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the stages that choose candidates of poses: gather, shortlist and sift, bit for bit
// as their headers define them.
#include <algorithm>
#include <functional>
#include <vector>

#include "oracle/reference_types.hpp"
#include "stages/survey.hpp"

namespace xcorr::cpu {
namespace {

/// How close a score is to that of a copy, by its sign.
double closeness(bool minimum, Polarity polarity, double score) {
  return minimum ? 1 - score : sign_of(polarity, score) * score;
}

/// Those that are kept, of the level or the one below, and where they begin to align.
struct Kept {
  PoseCandidate* candidates;
  std::int32_t* count;
  AlignedPose* starts;
};

void choose(const PoseChoice& choice, const PoseSteps& steps, int level,
            std::vector<PoseCandidate> from, const PoseTables& tables, const Kept& to) {
  std::ranges::stable_sort(from, std::ranges::greater{}, &PoseCandidate::closeness);
  std::vector<PoseCandidate> kept, apart;
  double least = choice.least;
  for (const PoseCandidate& one : from) {
    if (static_cast<int>(kept.size()) == choice.most || one.closeness < least) break;
    int near = 0;
    bool adjoins = false;
    for (const PoseCandidate& other : kept) {
      const double x = one.twice_x - other.twice_x, y = one.twice_y - other.twice_y;
      if (x * x + y * y >= choice.near * choice.near) continue;
      ++near;
      adjoins = adjoins || steps.adjoin(level, one.pose, other.pose);
    }
    if (adjoins || near >= choice.share) continue;
    kept.push_back(one);
    if (!std::ranges::all_of(apart,
                             [&](const PoseCandidate& other) { return choice.apart(one, other); }))
      continue;
    apart.push_back(one);
    if (static_cast<int>(apart.size()) == choice.wanted)
      least = std::max(least, one.closeness - choice.margin);
  }
  *to.count = static_cast<std::int32_t>(kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i)
    to.candidates[i] = level > 0 ? one_level_down(kept[i]) : kept[i];
  if (level > 0) return;
  std::fill_n(to.starts, choice.most, AlignedPose{});
  for (std::size_t i = 0; i < kept.size(); ++i) to.starts[i] = start_of(kept[i], tables);
}

Status gather(const stage::Gather::Problem& p, const Device&, const stage::Gather::Buffers& b,
              PlanState*) {
  std::vector<PoseCandidate> all;
  for (int i = 0; i < p.pictures; ++i)
    for (std::uint32_t k = 0; k < b.peak_counts[i]; ++k) {
      const RefinedPeak& peak = b.peaks[std::int64_t{i} * p.max_peaks + k];
      const stage::Gather::Source& source = b.sources[i];
      all.push_back({closeness(p.minimum, p.polarity, peak.score), peak.score,
                     2 * peak.x + source.width - 1, 2 * peak.y + source.height - 1, source.pose});
    }
  choose(p.choice, p.steps, p.level, std::move(all), {b.angles, b.inverse_scales},
         {b.candidates, b.candidate_count, b.starts});
  return {};
}

Status shortlist(const stage::Shortlist::Problem& p, const Device&,
                 const stage::Shortlist::Buffers& b, PlanState*) {
  const SurveyCells cells = p.cells();
  std::vector<PoseCandidate> all;
  for (std::int64_t i = 0; i < p.keys(); ++i)
    if (b.best[i] && b.searched[i / cells.count()])
      all.push_back(stage::Shortlist::candidate_of(b.best[i], cells, b.sources));
  choose(p.choice, p.steps, p.level, std::move(all), {},
         {b.candidates, b.candidate_count, nullptr});
  return {};
}

/// Of the tries inside the frame the closest one, of equals the first; null: there is none.
const ProbedPlace* closest_try(const stage::Sift::Problem& p, const ProbedPlace* tries) {
  const ProbedPlace* best = nullptr;
  for (const ProbedPlace* one = tries; one < tries + p.tries(); ++one)
    if (one->is_inside && (!best || closeness(p.minimum, p.polarity, one->score) >
                                        closeness(p.minimum, p.polarity, best->score)))
      best = one;
  return best;
}

Status sift(const stage::Sift::Problem& p, const Device&, const stage::Sift::Buffers& b,
            PlanState*) {
  std::vector<PoseCandidate> all;
  for (int i = 0; i < *b.candidate_count; ++i)
    if (const ProbedPlace* one = closest_try(p, b.found + i * p.tries()))
      all.push_back({closeness(p.minimum, p.polarity, one->score), one->score, one->twice_x,
                     one->twice_y, one->pose});
  choose(p.choice, p.steps, p.level, std::move(all), {b.angles, b.inverse_scales},
         {b.kept, b.kept_count, b.starts});
  return {};
}

constexpr Features u8 = Feature::u8;
constexpr Variant<stage::Gather> gather_table[] = {
    {{"reference", Backend::cpu, u8 | Feature::contrast}, supports_all, gather},
};
constexpr Variant<stage::Shortlist> shortlist_table[] = {
    {{"reference", Backend::cpu, u8}, supports_all, shortlist},
};
constexpr Variant<stage::Sift> sift_table[] = {
    {{"reference", Backend::cpu, u8 | Feature::contrast}, supports_all, sift},
};

}  // namespace

Family reference_choice_family() { return Family(gather_table, shortlist_table, sift_table); }

}  // namespace xcorr::cpu
