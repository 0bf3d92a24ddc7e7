// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The shortlist on the CPU: of many keys few are wanted, so the best ones are sorted some at a
// time.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <vector>

#include "cpu/common.hpp"
#include "stages/survey.hpp"

namespace xcorr::cpu {
namespace {

/// The candidates so far.
class Chosen {
 public:
  explicit Chosen(const stage::Shortlist::Problem& p) : p_(p), least_(p.choice.least) {}

  /// Candidates come best first; false: no more are wanted.
  bool take(const PoseCandidate& one) {
    const PoseChoice& choice = p_.choice;
    if (std::ssize(kept_) == choice.most || one.closeness < least_) return false;
    if (std::ranges::any_of(kept_, [&, crowd = 0](const PoseCandidate& other) mutable {
          return choice.hides(p_.steps, p_.level, other, one, crowd);
        }))
      return true;
    kept_.push_back(one);
    if (std::ranges::all_of(apart_,
                            [&](const PoseCandidate& other) { return choice.apart(one, other); })) {
      apart_.push_back(one);
      if (std::ssize(apart_) == choice.wanted)
        least_ = std::max(least_, one.closeness - choice.margin);
    }
    return true;
  }
  const std::vector<PoseCandidate>& kept() const { return kept_; }

 private:
  const stage::Shortlist::Problem& p_;
  double least_;
  std::vector<PoseCandidate> kept_, apart_;
};

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
  constexpr std::ptrdiff_t chunk = 2048;
  std::vector<SurveyKey> keys = keys_of(p, b);
  Chosen chosen(p);
  bool goes_on = true;
  for (auto from = keys.begin(); goes_on && from != keys.end();) {
    const auto to = from + std::min(chunk, keys.end() - from);
    if (to != keys.end()) std::nth_element(from, to, keys.end(), std::greater{});
    std::sort(from, to, std::greater{});
    for (; goes_on && from != to; ++from)
      goes_on = chosen.take(stage::Shortlist::candidate_of(*from, p.cells(), b.sources));
  }
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
