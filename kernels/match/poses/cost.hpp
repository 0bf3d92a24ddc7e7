// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What searching a template at all its poses will take, before any of its images is made.
#pragma once

#include "match/poses/template.hpp"

namespace xcorr {

/// \param region  of the frame, at the top level
/// Returns seconds; over_budget where these, or the memory for the images, are too much. `before`:
/// seconds of the templates before.
Result<double> pose_search_cost(const PoseTemplate& templ, Size region, const Device& device,
                                const Budget& budget, double before);

}  // namespace xcorr
