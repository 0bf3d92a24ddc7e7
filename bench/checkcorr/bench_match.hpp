// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The bench's level `match`: whole matches by a kernel of search or of correlate.
#pragma once

#include "report.hpp"
#include "values.hpp"

namespace checkcorr {

/// From a frame in the device's memory to peaks, one frame at a time, by the host's clock, with the
/// settings' defaults: ccoeff-normed, the best peak of each template. A kernel that takes ten times
/// `best` is timed once. Errors: unsupported, when the variant cannot.
xcorr::Result<Timing> time_match(const std::string& kernel, const xcorr::Device& device,
                                 const MatchProblem& problem, const Values& values,
                                 double least_seconds, double best);

}  // namespace checkcorr
