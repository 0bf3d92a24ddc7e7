// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The flags that the elements' properties have, named after the highest state in which a property
// may change.
#pragma once

#include <gst/gst.h>

namespace cudaxcorr {

constexpr auto readable = static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
constexpr auto basic = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
constexpr auto ready = static_cast<GParamFlags>(basic | GST_PARAM_MUTABLE_READY);
constexpr auto playing = static_cast<GParamFlags>(basic | GST_PARAM_MUTABLE_PLAYING);
constexpr auto controllable = static_cast<GParamFlags>(playing | GST_PARAM_CONTROLLABLE);

}  // namespace cudaxcorr
