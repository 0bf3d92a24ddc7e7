// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What to search for and how.
#pragma once

#include <memory>

#include "matching/search_settings.h"
#include "matching/templates.h"

namespace cudaxcorr {

struct Task {
  std::shared_ptr<const TemplateSet> template_set;
  SearchSettings search;

  bool operator==(const Task&) const = default;
};

inline bool asks_for_weights(const Task& task) {
  return task.template_set->mask.kind == MaskKind::weights;
}

}  // namespace cudaxcorr
