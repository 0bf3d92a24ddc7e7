// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The choice among peaks and among what was rescored, on the CPU. What cannot be kept is left out
// at once; the rest is put in order by its similarity and its number.
#include "cpu/poses/choice.hpp"
#include "stages/common/stage.hpp"

namespace xcorr::cpu {
namespace {

/// A candidate by its number in the list.
struct Ranked {
  double similarity;
  std::int64_t number;

  /// No two are equal, so that any way to sort gives one order.
  static bool before(const Ranked& a, const Ranked& b) {
    return a.similarity != b.similarity ? a.similarity > b.similarity : a.number < b.number;
  }
};

/// Where what is kept goes.
struct Output {
  PoseCandidate* candidates;
  std::int32_t* count;
  RefinedPose* starts;
};

/// \param candidate  gives the candidate of a number
template <class Problem, class Buffers, class Candidate>
void keep(const Problem& p, const Buffers& b, std::vector<Ranked>& ranked,
          const Candidate& candidate, const Output& to) {
  Chosen chosen(p.choice, p.steps, p.level);
  take_in_order(ranked, Ranked::before,
                [&](const Ranked& one) { return chosen.take(candidate(one.number)); });
  const std::vector<PoseCandidate>& kept = chosen.kept();
  *to.count = static_cast<std::int32_t>(kept.size());
  if (p.level > 0) {
    std::ranges::transform(kept, to.candidates,
                           [&](const PoseCandidate& c) { return p.choice.one_level_down(c); });
    return;
  }
  std::ranges::copy(kept, to.candidates);
  const PoseTables tables{b.angles, b.inverse_scales};
  auto* const end = std::ranges::transform(kept, to.starts, [&](const PoseCandidate& one) {
                      return start_of(one, tables);
                    }).out;
  std::fill(end, to.starts + p.choice.most, RefinedPose{});
}

Status collect_candidates(const stage::CollectCandidates::Problem& p, const Device&,
                          const stage::CollectCandidates::Buffers& b, PlanState*) {
  std::vector<Ranked> ranked;
  for (int image = 0; image < p.images; ++image) {
    const std::int64_t first = std::int64_t{image} * p.max_peaks;
    for (std::int64_t i = first; i < first + b.peak_counts[image]; ++i) {
      const double similarity =
          similarity_of(p.minimum, p.polarity, b.peaks[i].score) + b.sources[image].bonus;
      if (similarity >= p.choice.least) ranked.push_back({similarity, i});
    }
  }
  const auto candidate = [&](std::int64_t number) -> PoseCandidate {
    const RefinedPeak& peak = b.peaks[number];
    const stage::CollectCandidates::Source& source = b.sources[number / p.max_peaks];
    return {similarity_of(p.minimum, p.polarity, peak.score) + source.bonus, peak.score,
            source.twice_x(peak.x), source.twice_y(peak.y), source.pose};
  };
  keep(p, b, ranked, candidate, {b.candidates, b.candidate_count, b.starts});
  return {};
}

Status prune_candidates(const stage::PruneCandidates::Problem& p, const Device&,
                        const stage::PruneCandidates::Buffers& b, PlanState*) {
  std::vector<PoseCandidate> best(*b.candidate_count);
  std::vector<Ranked> ranked;
  for (int i = 0; i < *b.candidate_count; ++i) {
    best[i] = stage::PruneCandidates::best_of(p, b, i);
    if (best[i].similarity > no_similarity && best[i].similarity >= p.choice.least)
      ranked.push_back({best[i].similarity, i});
  }
  keep(p, b, ranked, [&](std::int64_t number) { return best[number]; },
       {b.kept, b.kept_count, b.starts});
  return {};
}

constexpr Features features{Feature::u8, Feature::contrast};
constexpr Variant<stage::CollectCandidates> collect_candidates_table[] = {
    {{.name = "collect_candidates", .backend = Backend::cpu, .features = features},
     {.launch = collect_candidates}},
};
constexpr Variant<stage::PruneCandidates> prune_candidates_table[] = {
    {{.name = "prune_candidates", .backend = Backend::cpu, .features = features},
     {.launch = prune_candidates}},
};

}  // namespace

Family prune_candidates_family() {
  return Family(collect_candidates_table, prune_candidates_table);
}

}  // namespace xcorr::cpu
