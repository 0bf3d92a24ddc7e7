// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Results as cudaxcorr attaches them, made here: for tests of the elements that read them.
#pragma once

#include <vector>

#include "support.hpp"

struct MadePeak {
  double x = 0, y = 0, width = 0, height = 0;  ///< pixels
  guint64 id = 0;
  bool lost = false;
  const char* state = nullptr;  ///< null: there is no such field
  const char* label = "patch";
};

/// Attaches the result of a frame of that size and gives its structure, which may be changed.
GstStructure* attach_result(GstBuffer* buffer, int frame_width, int frame_height,
                            const std::vector<MadePeak>& peaks, bool analysed = true);
