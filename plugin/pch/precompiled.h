// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What most files of the plugin include and is not ours, for -Dpch=true. No file may count on it,
// since builds without it have to work.
#ifndef CUDAXCORR_PRECOMPILED_H  // gcc warns of #pragma once in what it precompiles
#define CUDAXCORR_PRECOMPILED_H

#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#endif  // CUDAXCORR_PRECOMPILED_H
