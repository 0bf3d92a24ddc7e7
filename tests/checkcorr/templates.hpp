// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the stages that work on templates alone must give, by their definitions in plain loops: no
// reference runs for them, since templates and their sums are made together.
#pragma once

#include "comparison.hpp"

namespace checkcorr {

void compare_right_sums(Comparison& comparison, const Truth& t, const Values& got);
void compare_blended(Comparison& comparison, const Truth& t, const Values& got);

}  // namespace checkcorr
