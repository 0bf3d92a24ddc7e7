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

/// The variant that is asked for by name, or null for "auto" and "tune"; in the correlate stage the
/// environment's XCORR_KERNEL stands in for "auto". Errors: unsupported, listing the names that
/// there are.
Result<const Variant*> wished_variant(Stage stage, const Device& device, std::string_view name);

/// The variant to use: the wished one, otherwise by the table made from measurements (select.cpp).
/// Errors: unsupported, also when the wished one cannot do the problem.
Result<const Variant*> select_variant(Stage stage, const MatchProblem& problem,
                                      const Device& device, std::string_view name = "auto");

/// The same for the correlate stage of a match, where approximate products of u8 will do: sets
/// `problem.products` to what the variant writes.
Result<const Variant*> select_correlation(MatchProblem& problem, const Device& device,
                                          std::string_view name);

/// Whether that name of a correlate variant asks for what tune.hpp does.
bool is_tuning_wished(std::string_view name);

/// All correlate variants that can do a match but the reference, what "auto" takes first, then as
/// the selector ranks them.
std::vector<const Variant*> able_correlations(const MatchProblem& problem, const Device& device);

}  // namespace xcorr
