// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Highway's settings for the families that use it. Their register blocks are arrays of vectors,
// which types without a size known at compile time (SVE, RVV) do not allow: on Arm they use NEON.
// SSSE3 without SSE4 is found in few processors, none newer than 2013, and would be a fifth of the
// code.
// Include before <hwy/foreach_target.h>.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
