// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The selection of candidates on the CPU: results of the coarse search that are similar enough.
#include <cmath>
#include <functional>

#include "cpu/common/common.hpp"
#include "cpu/poses/choice.hpp"
#include "stages/poses/coarse_search.hpp"

namespace xcorr::cpu {
namespace {

/// The least key of a place that is so close.
CoarseKey least_key(double similarity) {
  auto least = static_cast<float>(similarity);
  if (least < similarity) least = std::nextafter(least, INFINITY);
  return coarse_key(least, ~std::uint32_t{0});
}

std::vector<CoarseKey> keys_of(const stage::SelectCandidates::Problem& p,
                               const stage::SelectCandidates::Buffers& b) {
  const CoarseKey least = least_key(p.choice.least);
  const std::int64_t cells = p.cells().count();
  std::vector<std::vector<CoarseKey>> of_images(p.images);
  parallel_for(0, p.images, [&](int image) {
    if (!b.searched[image]) return;
    for (std::int64_t i = image * cells; i < (image + 1) * cells; ++i) {
      const CoarseKey key = stage::SelectCandidates::ranked(b.best[i], b.sources[image]);
      if (key >= least) of_images[image].push_back(key);
    }
  });
  std::vector<CoarseKey> keys;
  for (const auto& some : of_images) keys.insert(keys.end(), some.begin(), some.end());
  return keys;
}

Status launch(const stage::SelectCandidates::Problem& p, const Device&,
              const stage::SelectCandidates::Buffers& b, PlanState*) {
  std::vector<CoarseKey> keys = keys_of(p, b);
  Chosen chosen(p.choice, p.steps, p.level);
  take_in_order(keys, std::greater{}, [&](CoarseKey key) {
    return chosen.take(stage::SelectCandidates::candidate_of(key, p.cells(), b.sources));
  });
  *b.candidate_count = static_cast<std::int32_t>(chosen.kept().size());
  std::ranges::transform(chosen.kept(), b.candidates,
                         [&](const PoseCandidate& c) { return p.choice.one_level_down(c); });
  return {};
}

constexpr Variant<stage::SelectCandidates> variants[] = {
    {{.name = "select_candidates", .backend = Backend::cpu, .features = Feature::u8},
     {.launch = launch}},
};

}  // namespace

Family select_candidates_family() { return Family(variants); }

}  // namespace xcorr::cpu
