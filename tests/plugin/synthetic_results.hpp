// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Synthetic results as cudaxcorr attaches them, for tests of the elements that read them.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "support.hpp"

struct MadePeak {
  double x = 0, y = 0, width = 0, height = 0;  ///< pixels
  guint64 id = 0;
  bool lost = false;
  const char* state = nullptr;  ///< null: there is no such field
  const char* label = "patch";
  double angle = 0;  ///< degrees; x to height are then those of the template before it is turned
  /// x and y of the upright box where a lost one may be.
  std::optional<std::pair<double, double>> candidate = std::nullopt;
};

/// Attaches the result for a frame of that size. Returns its structure, which may be modified.
GstStructure* attach_result(GstBuffer* buffer, int frame_width, int frame_height,
                            const std::vector<MadePeak>& peaks, bool analysed = true);
