// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The shortlist on the CPU: of what the survey found, what is close enough.
#include <cmath>
#include <functional>

#include "cpu/choice.hpp"
#include "cpu/common.hpp"
#include "stages/survey.hpp"

namespace xcorr::cpu {
namespace {

/// The least key of a place that is so close.
SurveyKey least_key(double closeness) {
  auto least = static_cast<float>(closeness);
  if (least < closeness) least = std::nextafter(least, INFINITY);
  return survey_key(least, ~std::uint32_t{0});
}

std::vector<SurveyKey> keys_of(const stage::Shortlist::Problem& p,
                               const stage::Shortlist::Buffers& b) {
  const SurveyKey least = least_key(p.choice.least);
  const std::int64_t cells = p.cells().count();
  std::vector<std::vector<SurveyKey>> of_pictures(p.pictures);
  tbb::parallel_for(0, p.pictures, [&](int picture) {
    if (b.searched[picture])
      std::copy_if(b.best + picture * cells, b.best + (picture + 1) * cells,
                   std::back_inserter(of_pictures[picture]),
                   [&](SurveyKey key) { return key >= least; });
  });
  std::vector<SurveyKey> keys;
  for (const auto& some : of_pictures) keys.insert(keys.end(), some.begin(), some.end());
  return keys;
}

Status launch(const stage::Shortlist::Problem& p, const Device&, const stage::Shortlist::Buffers& b,
              PlanState*) {
  std::vector<SurveyKey> keys = keys_of(p, b);
  Chosen chosen(p.choice, p.steps, p.level);
  take_in_order(keys, std::greater{}, [&](SurveyKey key) {
    return chosen.take(stage::Shortlist::candidate_of(key, p.cells(), b.sources));
  });
  *b.candidate_count = static_cast<std::int32_t>(chosen.kept().size());
  std::ranges::transform(chosen.kept(), b.candidates, one_level_down);
  return {};
}

constexpr Variant<stage::Shortlist> variants[] = {
    {{"shortlist", Backend::cpu, Feature::u8}, supports_all, launch},
};

}  // namespace

Family shortlist_family() { return Family(variants); }

}  // namespace xcorr::cpu
