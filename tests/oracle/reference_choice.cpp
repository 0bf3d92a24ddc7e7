// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the stages that choose candidates of poses: collect_candidates, select_candidates
// and prune_candidates, bit for bit as their headers define them.
#include <algorithm>
#include <functional>
#include <vector>

#include "oracle/reference_types.hpp"
#include "stages/poses/coarse_search.hpp"

namespace xcorr::cpu {
namespace {

/// How close a score is to that of a copy, by its sign.
double similarity(bool minimum, Polarity polarity, double score) {
  return minimum ? 1 - score : sign_of(polarity, score) * score;
}

/// Those that are kept, of the level or the one below, and where they begin to be refined.
struct Kept {
  PoseCandidate* candidates;
  std::int32_t* count;
  RefinedPose* starts;
};

void choose(const PoseChoice& choice, const PoseSteps& steps, int level,
            std::vector<PoseCandidate> from, const PoseTables& tables, const Kept& to) {
  std::ranges::stable_sort(from, std::ranges::greater{}, &PoseCandidate::similarity);
  std::vector<PoseCandidate> kept, apart;
  double least = choice.least;
  for (const PoseCandidate& one : from) {
    if (static_cast<int>(kept.size()) == choice.most || one.similarity < least) break;
    int near = 0;
    bool adjoins = false;
    for (const PoseCandidate& other : kept) {
      const double x = one.twice_x - other.twice_x, y = one.twice_y - other.twice_y;
      if (x * x + y * y >= choice.near * choice.near) continue;
      ++near;
      adjoins = adjoins || (x * x + y * y < choice.next * choice.next &&
                            steps.adjoin(level, one.pose, other.pose, choice.turns, choice.sizes));
    }
    if (adjoins || near >= choice.share) continue;
    kept.push_back(one);
    if (!std::ranges::all_of(apart,
                             [&](const PoseCandidate& other) { return choice.apart(one, other); }))
      continue;
    apart.push_back(one);
    if (static_cast<int>(apart.size()) == choice.wanted)
      least = std::max(least, one.similarity - choice.margin);
  }
  *to.count = static_cast<std::int32_t>(kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i)
    to.candidates[i] = level > 0 ? choice.one_level_down(kept[i]) : kept[i];
  if (level > 0) return;
  std::fill_n(to.starts, choice.most, RefinedPose{});
  for (std::size_t i = 0; i < kept.size(); ++i) to.starts[i] = start_of(kept[i], tables);
}

Status collect_candidates(const stage::CollectCandidates::Problem& p, const Device&,
                          const stage::CollectCandidates::Buffers& b, PlanState*) {
  std::vector<PoseCandidate> all;
  for (int i = 0; i < p.images; ++i)
    for (std::uint32_t k = 0; k < b.peak_counts[i]; ++k) {
      const RefinedPeak& peak = b.peaks[std::int64_t{i} * p.max_peaks + k];
      const stage::CollectCandidates::Source& source = b.sources[i];
      all.push_back({similarity(p.minimum, p.polarity, peak.score) + source.bonus, peak.score,
                     2 * peak.x + source.width - 1 + source.twice_right,
                     2 * peak.y + source.height - 1 + source.twice_down, source.pose});
    }
  choose(p.choice, p.steps, p.level, std::move(all), {b.angles, b.inverse_scales},
         {b.candidates, b.candidate_count, b.starts});
  return {};
}

Status select_candidates(const stage::SelectCandidates::Problem& p, const Device&,
                         const stage::SelectCandidates::Buffers& b, PlanState*) {
  const CoarseCells cells = p.cells();
  std::vector<PoseCandidate> all;
  for (std::int64_t i = 0; i < p.keys(); ++i) {
    const std::int64_t image = i / cells.count();
    if (!b.best[i] || !b.searched[image]) continue;
    PoseCandidate one = stage::SelectCandidates::candidate_of(b.best[i], cells, b.sources);
    one.similarity = one.score = static_cast<float>(one.similarity) + b.sources[image].bonus;
    all.push_back(one);
  }
  choose(p.choice, p.steps, p.level, std::move(all), {},
         {b.candidates, b.candidate_count, nullptr});
  return {};
}

/// Of the tries inside the frame the closest one, of equals the first; null: there is none.
const RescoredPlace* closest_try(const stage::PruneCandidates::Problem& p,
                                 const RescoredPlace* tries) {
  const RescoredPlace* best = nullptr;
  for (const RescoredPlace* one = tries; one < tries + p.tries(); ++one)
    if (one->is_inside && (!best || similarity(p.minimum, p.polarity, one->score) >
                                        similarity(p.minimum, p.polarity, best->score)))
      best = one;
  return best;
}

Status prune_candidates(const stage::PruneCandidates::Problem& p, const Device&,
                        const stage::PruneCandidates::Buffers& b, PlanState*) {
  std::vector<PoseCandidate> all;
  for (int i = 0; i < *b.candidate_count; ++i)
    if (const RescoredPlace* one = closest_try(p, b.found + i * p.tries()))
      all.push_back({similarity(p.minimum, p.polarity, one->score), one->score, one->twice_x,
                     one->twice_y, one->pose});
  choose(p.choice, p.steps, p.level, std::move(all), {b.angles, b.inverse_scales},
         {b.kept, b.kept_count, b.starts});
  return {};
}

constexpr Features u8 = Feature::u8;
constexpr Variant<stage::CollectCandidates> collect_candidates_table[] = {
    {{.name = "reference", .backend = Backend::cpu, .features = u8 | Feature::contrast},
     {.launch = collect_candidates}},
};
constexpr Variant<stage::SelectCandidates> select_candidates_table[] = {
    {{.name = "reference", .backend = Backend::cpu, .features = u8}, {.launch = select_candidates}},
};
constexpr Variant<stage::PruneCandidates> prune_candidates_table[] = {
    {{.name = "reference", .backend = Backend::cpu, .features = u8 | Feature::contrast},
     {.launch = prune_candidates}},
};

}  // namespace

Family reference_choice_family() {
  return Family(collect_candidates_table, select_candidates_table, prune_candidates_table);
}

}  // namespace xcorr::cpu
