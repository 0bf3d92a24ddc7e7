// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Measured rankings for a correlation or a match: names of variants, the fastest first.
#pragma once

#include <functional>
#include <vector>

#include <xcorr/correlate.hpp>
#include <xcorr/device.hpp>

namespace xcorr {

/// Whether a variant of that name, in which a star may stand for anything, can do the problem.
using IsAble = std::function<bool(const char* name)>;

/// Of those that are able, by measurements of problems of its form, or of any; `match`: of whole
/// matches, else of correlations. A star in a name stands for the widths that tilings support, the
/// narrowest first.
std::vector<const char*> measured_names(const Problem& problem, Backend backend, bool match,
                                        bool any_form, const IsAble& is_able);

/// By the table in the paper's section 5.5, which is for CUDA's correlate stage.
std::vector<const char*> guideline_names(const Problem& problem);

/// Whether the shifts are nearly all those at which the two sides overlap, as in the paper.
bool covers_whole_output(const Problem& problem);

}  // namespace xcorr
