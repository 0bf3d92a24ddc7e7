// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle: the stages in plain loops straight from their definitions, on one thread. What is
// shipped does not have it; tests compare every variant with it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stages/common/stage.hpp"

namespace xcorr::oracle {

/// One variant a stage, named "reference".
const std::vector<Family::Entry>& variants();

/// That of the stage. Errors: unsupported.
template <class Stage>
Result<const Variant<Stage>*> variant_for(const typename Stage::Problem& problem) {
  for (const Family::Entry& entry : variants()) {
    if (std::string_view(entry.stage) != Stage::name) continue;
    const auto* variant = static_cast<const Variant<Stage>*>(entry.variant);
    if (variant->able(problem, Device())) return variant;
  }
  return Status(Code::unsupported, std::string("the oracle cannot do this ") + Stage::name);
}

}  // namespace xcorr::oracle
