// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The border to GStreamer, which is C: no exception passes it. The first argument of a callback is
// its element.
#pragma once

#include <xcorr/exceptions.hpp>

#include "common/fault.h"

namespace cudaxcorr {

template <auto function, auto failed>
struct Callback;

template <class Return, class Self, class... Args, Return (*function)(Self*, Args...), auto failed>
struct Callback<function, failed> {
  static Return call(Self* self, Args... args) {
    try {
      return function(self, args...);
    } catch (const std::exception& thrown) {
      post_error(self, fault_of(xcorr::status_of(thrown)));
      return failed;
    }
  }
};

/// The function as a callback that returns `failed` after an exception, which becomes an ERROR.
template <auto function, auto failed>
inline constexpr auto callback = Callback<function, failed>::call;

}  // namespace cudaxcorr
