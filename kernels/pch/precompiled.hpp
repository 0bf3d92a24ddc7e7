// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What most files of the library include and is not ours, for -Dpch=true. No file may count on it,
// since builds without it have to work. Highway is not here: each of its files is read once per
// target.
#ifndef XCORR_PRECOMPILED_HPP  // gcc warns of #pragma once in what it precompiles
#define XCORR_PRECOMPILED_HPP

#include <tbb/parallel_for.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#endif  // XCORR_PRECOMPILED_HPP
