// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the oracles of several stages share about types of pixels and signs of scores.
#pragma once

#include <xcorr/methods.hpp>

#include "stages/common/stage.hpp"

namespace xcorr::cpu {

/// Runs it for the type of pixels.
template <class Problem, class Buffers>
Status for_type(void (*u8)(const Problem&, const Buffers&),
                void (*u16)(const Problem&, const Buffers&),
                void (*f32)(const Problem&, const Buffers&), const Problem& p, const Buffers& b) {
  const ElementType type = [&] {
    if constexpr (requires { p.correlate; })
      return p.correlate.type;
    else
      return p.type;
  }();
  (type == ElementType::u8 ? u8 : type == ElementType::u16 ? u16 : f32)(p, b);
  return {};
}

/// By which a score counts.
inline int sign_of(Polarity polarity, double score) {
  return polarity == Polarity::inverted || (polarity == Polarity::either && score < 0) ? -1 : 1;
}

}  // namespace xcorr::cpu
