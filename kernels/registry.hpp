// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The list of all variants, and the choice among them.
#pragma once

#include <vector>

#include "variant.hpp"

namespace xcorr {

/// Every variant that was built, CPU first, the references first of all.
const std::vector<const Variant*>& all_variants();

/// The variant of that stage, backend and name, or null.
const Variant* find_variant(Stage stage, Backend backend, std::string_view name);

/// The variant to use. `name` "auto" leaves it to the table made from measurements (select.cpp);
/// the environment's XCORR_KERNEL then stands in for "auto" in the correlate stage. Errors:
/// unsupported, when there is none of that name or it cannot do the problem.
Result<const Variant*> select_variant(Stage stage, const MatchProblem& problem,
                                      const Device& device, std::string_view name = "auto");

/// The same for the correlate stage of a match, where approximate products of u8 will do: sets
/// `problem.products` to what the variant writes.
Result<const Variant*> select_correlation(MatchProblem& problem, const Device& device,
                                          std::string_view name);

}  // namespace xcorr
