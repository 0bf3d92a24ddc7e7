// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What programs of tests by GoogleTest include and is not ours, for -Dpch=true.
#ifndef XCORR_PRECOMPILED_GTEST_HPP  // gcc warns of #pragma once in what it precompiles
#define XCORR_PRECOMPILED_GTEST_HPP

#include <gtest/gtest.h>

#include <random>

#include "../../kernels/pch/precompiled.hpp"

#endif  // XCORR_PRECOMPILED_GTEST_HPP
