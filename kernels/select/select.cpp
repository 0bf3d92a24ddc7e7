// SPDX-License-Identifier: LGPL-2.1-or-later
#include "select/select.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "select/measured.hpp"

namespace xcorr {
namespace {

// ---- names ----------------------------------------------------------------------------------

/// XCORR_KERNEL of the environment replaces "auto".
std::string_view requested_name(std::string_view name) {
  if (name == "auto")
    if (const char* request = std::getenv("XCORR_KERNEL"); request && *request) return request;
  return name;
}

std::vector<MatchKernel> matching_kernels(Backend backend) {
  std::vector<MatchKernel> kernels;
  for (const auto* variant : variants_on<stage::Search>(backend)) kernels.push_back(variant);
  for (const auto* variant : variants_on<stage::Correlate>(backend)) kernels.push_back(variant);
  return kernels;
}

// ---- choice ---------------------------------------------------------------------------------

const Variant<stage::Correlate>* correlate_variant(const Variant<stage::Correlate>* variant) {
  return variant;
}
const Variant<stage::Correlate>* correlate_variant(const MatchKernel& kernel) {
  return kernel.correlate;
}

/// An able candidate that is the quickest whatever the tables say, or nothing.
template <class Candidate, class Able>
std::optional<Candidate> winner(const Problem& problem, const std::vector<Candidate>& candidates,
                                Able able) {
  for (const Candidate& candidate : candidates)
    if (const auto* variant = correlate_variant(candidate);
        variant && variant->extra.wins && variant->extra.wins(problem) && able(candidate))
      return candidate;
  return std::nullopt;
}

/// The first able candidate of the first name that has one, or nothing.
template <class Candidate, class Able>
std::optional<Candidate> first_able(const std::vector<const char*>& names,
                                    const std::vector<Candidate>& candidates, Able able) {
  for (const char* name : names)
    for (const Candidate& candidate : candidates)
      if (fnmatch(name, candidate->name, 0) == 0 && able(candidate)) return candidate;
  return std::nullopt;
}

/// The able candidate that is quickest by measurements, see measured_names(), or nothing.
template <class Candidate, class Able>
std::optional<Candidate> quickest_measured(const Problem& problem, Backend backend, bool match,
                                           bool any_form, const std::vector<Candidate>& candidates,
                                           Able able) {
  const auto is_able = [&](const char* name) {
    return first_able({name}, candidates, able).has_value();
  };
  return first_able(measured_names(problem, backend, match, any_form, is_able), candidates, able);
}

/// In this order: a variant that wins in any case; measurements of the form; the paper's table, if
/// the output is nearly the whole one as in the paper; measurements of other forms; the paper's
/// table in any case; any able variant.
template <class Candidate, class Able>
std::optional<Candidate> choice(const Problem& problem, Backend backend,
                                const std::vector<Candidate>& candidates, Able able) {
  const auto among = [&](const std::vector<const char*>& names) {
    return first_able(names, candidates, able);
  };
  if (auto best = winner(problem, candidates, able)) return best;
  const bool guided = backend == Backend::cuda;
  const auto measured = [&](bool any_form) {
    return quickest_measured(problem, backend, false, any_form, candidates, able);
  };
  if (auto best = measured(false)) return best;
  if (guided && covers_whole_output(problem))
    if (auto best = among(guideline_names(problem))) return best;
  if (auto best = measured(true)) return best;
  if (guided)
    if (auto best = among(guideline_names(problem))) return best;
  return highest_ranked(candidates, able);
}

/// In this order: a variant that wins in any case; measurements of whole matches; a variant without
/// surfaces; the best one for the products alone.
template <class Able>
std::optional<MatchKernel> choice_of_all(const Problem& problem, Backend backend,
                                         const std::vector<MatchKernel>& kernels, Able able) {
  if (auto best = winner(problem, kernels, able)) return best;
  for (const bool any_form : {false, true})
    if (auto best = quickest_measured(problem, backend, true, any_form, kernels, able)) return best;
  const auto is_able_as = [&](bool search) {
    return [&able, search](const MatchKernel& kernel) {
      return (kernel.search != nullptr) == search && able(kernel);
    };
  };
  if (auto best = highest_ranked(kernels, is_able_as(true)); best && (*best)->rank >= 0)
    return best;
  return choice(problem, backend, kernels, is_able_as(false));
}

/// For windows a variant without surfaces wherever there is one: theirs were not measured.
template <class Able>
std::optional<MatchKernel> matching_choice(const Problem& problem, Backend backend,
                                           const std::vector<MatchKernel>& kernels, Able able) {
  const auto searches = [&](const MatchKernel& kernel) { return kernel.search && able(kernel); };
  return problem.own_lefts && std::ranges::any_of(kernels, searches)
             ? choice_of_all(problem, backend, kernels, searches)
             : choice_of_all(problem, backend, kernels, able);
}

/// The type in which the kernel can write a match's products, or nothing if it cannot do the
/// problem.
std::optional<ElementType> products_by(const MatchKernel& kernel, MatchProblem problem,
                                       const Device& device) {
  if (kernel.search)
    return !problem.is_coarse && kernel.search->able(problem, device)
               ? std::optional(problem.correlate.output_type())
               : std::nullopt;
  for (const ElementType products : {problem.correlate.output_type(), ElementType::f32}) {
    problem.products = products;
    // Approximate products of u8 are of templates less the mean of all their pixels, and what
    // coarse searches knows only exact ones, as what adds those of several planes. Of a part of a
    // template their error may be more than a score.
    if ((problem.masking || problem.is_coarse || problem.correlate.planes > 1 ||
         problem.overhang) &&
        products != problem.correlate.output_type())
      break;
    if (kernel.correlate->able(problem.correlation(), device)) return products;
  }
  return std::nullopt;
}

/// What does approximately the same as the kernel in less time, or the kernel.
MatchKernel quicker(const MatchKernel& kernel, const MatchProblem& problem, const Device& device) {
  if (!kernel.correlate) return kernel;
  for (const auto* variant : variants_on<stage::Correlate>(device.backend))
    if (const char* than = variant->extra.quicker_than;
        than && than == std::string_view(kernel->name) && products_by(variant, problem, device))
      return variant;
  return kernel;
}

std::string quoted(const char* stage, std::string_view name) {
  return std::string(stage) + " kernel '" + std::string(name) + "'";
}

}  // namespace

Status unknown_kernel(const char* stage, std::string_view name, Backend backend,
                      const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& each : known) list += (list.empty() ? "" : ", ") + each;
  return {Code::unsupported, "no " + quoted(stage, name) + " on the " + name_of(backend) +
                                 " backend; there are: " + list};
}

Status unable_kernel(const char* stage, std::string_view name, Backend backend) {
  return {Code::unsupported, name.empty() ? std::string("no ") + stage + " kernel of the " +
                                                name_of(backend) + " backend can do this problem"
                                          : quoted(stage, name) + " cannot do this problem"};
}

template <>
Result<const Variant<stage::Correlate>*> select_variant<stage::Correlate>(
    const stage::Correlate::Problem& problem, const Device& device, std::string_view name) {
  using Pointer = const Variant<stage::Correlate>*;
  return select_among(
      stage::Correlate::name, requested_name(name), device.backend,
      variants_on<stage::Correlate>(device.backend),
      [&](Pointer variant) { return variant->able(problem, device); },
      [&](const auto& candidates, auto able) {
        return choice(problem.correlate, device.backend, candidates, able);
      });
}

bool is_choice_left(std::string_view name) {
  return requested_name(name) == "auto" || requested_name(name).empty();
}
bool is_tuning_requested(std::string_view name) { return requested_name(name) == "tune"; }

Status check_matching_name(const Device& device, std::string_view name) {
  const auto any = [](const MatchKernel&) { return true; };
  return select_among("match", requested_name(name), device.backend,
                      matching_kernels(device.backend), any,
                      [](const auto& kernels, auto) { return std::optional(kernels.front()); })
      .status();
}

Result<MatchKernel> select_matching(MatchProblem& problem, const Device& device,
                                    std::string_view name) {
  auto kernel = select_among(
      "match", requested_name(name), device.backend, matching_kernels(device.backend),
      [&](const MatchKernel& each) { return products_by(each, problem, device).has_value(); },
      [&](const auto& kernels, auto able) {
        return choose_preferred(
            able,
            [&](const MatchKernel& each) {
              return !each.search || is_preferred(*each.search, problem, device);
            },
            [&](auto admits) {
              return matching_choice(problem.correlate, device.backend, kernels, admits);
            });
      });
  if (kernel.ok() && problem.approximate && is_choice_left(name))
    kernel = quicker(kernel.value(), problem, device);
  if (kernel.ok()) problem.products = *products_by(kernel.value(), problem, device);
  return kernel;
}

std::vector<MatchKernel> able_to_match(const MatchProblem& problem, const Device& device) {
  std::vector<MatchKernel> ranked, rest = matching_kernels(device.backend);
  const auto able = [&](const MatchKernel& kernel) {
    return kernel->rank >= 0 && products_by(kernel, problem, device);
  };
  while (const auto best = matching_choice(problem.correlate, device.backend, rest, able)) {
    ranked.push_back(*best);
    std::erase(rest, *best);
  }
  return ranked;
}

}  // namespace xcorr
