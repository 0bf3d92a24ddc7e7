// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The choice of a variant for a problem: the requested one, or the fastest one measured for similar
// problems, or without measurements the one of the highest rank.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "select/match_problem.hpp"
#include "select/registry.hpp"

namespace xcorr {

/// For the stages before and after correlate: the selector has no measurements, so the highest rank
/// wins. Errors: unsupported, also when the requested one cannot do the problem.
template <class Stage>
Result<const Variant<Stage>*> select_variant(const typename Stage::Problem& problem,
                                             const Device& device, std::string_view name = "auto");

/// The same, into a variable, which an error leaves as it is.
template <class Stage>
Status choose_into(const Variant<Stage>*& chosen, const typename Stage::Problem& problem,
                   const Device& device) {
  auto variant = select_variant<Stage>(problem, device);
  if (variant.ok()) chosen = variant.value();
  return variant.status();
}

/// By the measured table. The environment's XCORR_KERNEL replaces "auto".
template <>
Result<const Variant<stage::Correlate>*> select_variant<stage::Correlate>(
    const stage::Correlate::Problem& problem, const Device& device, std::string_view name);

/// The kernel with which a match finds its candidates: a variant of search, or one of correlate,
/// followed by normalise and peaks.
struct MatchKernel {
  const Variant<stage::Search>* search = nullptr;
  const Variant<stage::Correlate>* correlate = nullptr;

  constexpr MatchKernel() = default;
  constexpr MatchKernel(const Variant<stage::Search>* variant) : search(variant) {}
  constexpr MatchKernel(const Variant<stage::Correlate>* variant) : correlate(variant) {}
  constexpr bool operator==(const MatchKernel&) const = default;

  constexpr const VariantInfo& operator*() const {
    return search ? static_cast<const VariantInfo&>(*search) : *correlate;
  }
  constexpr const VariantInfo* operator->() const { return &**this; }
};

/// The kernel to match with, which may write approximate products of u8; sets `problem.products` to
/// their type. The environment's XCORR_KERNEL replaces "auto".
Result<MatchKernel> select_matching(MatchProblem& problem, const Device& device,
                                    std::string_view name);

/// Whether select_matching() knows the name. Errors: unsupported, listing the known ones.
Status check_matching_name(const Device& device, std::string_view name);

/// Whether that name, or the environment, leaves the choice to the selector.
bool is_choice_left(std::string_view name);
/// Whether that name requests the measurements of match/tune.hpp.
bool is_tuning_requested(std::string_view name);

/// All variants that can do a match, but those that run only when requested: first the one that
/// "auto" takes, then in the selector's order.
std::vector<MatchKernel> able_to_match(const MatchProblem& problem, const Device& device);

// ---- implementation of the template ---------------------------------------------------------

/// "no STAGE kernel 'NAME' on the cuda backend; there are: ..."
Status unknown_kernel(const char* stage, std::string_view name, Backend backend,
                      const std::vector<std::string>& known);
/// "STAGE kernel 'NAME' cannot do this problem", or for "auto" that no kernel can.
Status unable_kernel(const char* stage, std::string_view name, Backend backend);

/// The able candidate of the highest rank, among equal ones the first by name; or nothing.
/// Candidates are pointers to variants or MatchKernels.
template <class Candidate, class Able>
std::optional<Candidate> highest_ranked(const std::vector<Candidate>& candidates, Able able) {
  std::optional<Candidate> best;
  for (const Candidate& candidate : candidates) {
    if (!able(candidate)) continue;
    const bool better =
        !best || candidate->rank > (*best)->rank ||
        (candidate->rank == (*best)->rank && std::string_view(candidate->name) < (*best)->name);
    if (better) best = candidate;
  }
  return best;
}

/// The requested one, or what `choose` returns, given the candidates and the predicate of which are
/// able. `choose` returns an optional.
template <class Candidate, class Able, class Choose>
Result<Candidate> select_among(const char* stage, std::string_view name, Backend backend,
                               const std::vector<Candidate>& candidates, Able able, Choose choose) {
  if (name == "auto" || name == "tune" || name.empty()) {
    const std::optional<Candidate> best = choose(candidates, able);
    if (!best) return unable_kernel(stage, "", backend);
    return *best;
  }
  std::vector<std::string> known;
  for (const Candidate& candidate : candidates) {
    if (name == candidate->name) {
      if (!able(candidate)) return unable_kernel(stage, name, backend);
      return candidate;
    }
    known.push_back(candidate->name);
  }
  return unknown_kernel(stage, name, backend, known);
}

/// See VariantFunctions::is_preferred.
template <class Stage>
bool is_preferred(const Variant<Stage>& variant, const typename Stage::Problem& problem,
                  const Device& device) {
  return !variant.is_preferred || variant.is_preferred(problem, device);
}

/// What `choose` takes of the able candidates that pay, or if there are none, of the able ones.
/// \param choose  gets what says whether a candidate is one
template <class Able, class IsPreferred, class Choose>
auto choose_preferred(Able able, IsPreferred is_preferred, Choose choose) {
  const auto best = choose([&](const auto& each) { return able(each) && is_preferred(each); });
  return best ? best : choose(able);
}

template <class Stage>
Result<const Variant<Stage>*> select_variant(const typename Stage::Problem& problem,
                                             const Device& device, std::string_view name) {
  const auto able = [&](const Variant<Stage>* variant) { return variant->able(problem, device); };
  const auto choose = [&](const auto& candidates, auto is_able) {
    return choose_preferred(
        is_able,
        [&](const Variant<Stage>* variant) { return is_preferred(*variant, problem, device); },
        [&](auto admits) { return highest_ranked(candidates, admits); });
  };
  return select_among(Stage::name, name, device.backend, variants_on<Stage>(device.backend), able,
                      choose);
}

}  // namespace xcorr
