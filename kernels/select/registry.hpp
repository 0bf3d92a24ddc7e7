// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The list of all variants, and the choice among them.
#pragma once

#include <vector>

#include "stages/variant.hpp"

namespace xcorr {

/// Every variant that was built, CPU first, the references first of all.
const std::vector<const Variant*>& all_variants();

/// The variant of that stage, backend and name, or null.
const Variant* find_variant(Stage stage, Backend backend, std::string_view name);

/// The variant to use: the wished one, otherwise by the table made from measurements (select.cpp).
/// Errors: unsupported, also when the wished one cannot do the problem.
Result<const Variant*> select_variant(Stage stage, const MatchProblem& problem,
                                      const Device& device, std::string_view name = "auto");

/// The variant to match with, of the search or of the correlate stage; approximate products of u8
/// will do: sets `problem.products` to what the variant writes, or would. The environment's
/// XCORR_KERNEL stands in for "auto", here and in the correlate stage.
Result<const Variant*> select_matching(MatchProblem& problem, const Device& device,
                                       std::string_view name);

/// Whether select_matching() knows the name. Errors: unsupported, listing those that there are.
Status check_matching_name(const Device& device, std::string_view name);

/// Whether that name asks for what tune.hpp does.
bool is_tuning_wished(std::string_view name);

/// All variants but the reference that can do a match, what "auto" takes first, then as the
/// selector ranks them.
std::vector<const Variant*> able_to_match(const MatchProblem& problem, const Device& device);

}  // namespace xcorr
