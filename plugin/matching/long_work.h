// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is said of frames that take long, where `max-work` refuses none.
#pragma once

#include <string>

#include <xcorr/budget.hpp>

namespace cudaxcorr {

/// Empty where there is nothing to say. The number is rounded, so that a task says it once.
/// \param what  is it for
std::string text_of_work(double seconds, const xcorr::Budget& budget, const char* what);

}  // namespace cudaxcorr
