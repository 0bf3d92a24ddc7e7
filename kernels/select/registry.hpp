// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The list of all variants that were built.
#pragma once

#include <string_view>
#include <vector>

#include "stages/common/stage.hpp"

namespace xcorr {

/// Every variant of every stage, in no particular order.
const std::vector<Family::Entry>& all_variants();

/// The variants of a stage.
template <class Stage>
const std::vector<const Variant<Stage>*>& variants_of() {
  static const std::vector<const Variant<Stage>*> list = [] {
    std::vector<const Variant<Stage>*> found;
    for (const Family::Entry& entry : all_variants())
      if (std::string_view(entry.stage) == Stage::name)
        found.push_back(static_cast<const Variant<Stage>*>(entry.variant));
    return found;
  }();
  return list;
}

/// The variants of a stage for a backend.
template <class Stage>
std::vector<const Variant<Stage>*> variants_on(Backend backend) {
  std::vector<const Variant<Stage>*> found = variants_of<Stage>();
  std::erase_if(found, [=](const Variant<Stage>* v) { return v->backend != backend; });
  return found;
}

/// The variant of that name, or null.
template <class Stage>
const Variant<Stage>* find_variant(Backend backend, std::string_view name) {
  for (const Variant<Stage>* variant : variants_of<Stage>())
    if (variant->backend == backend && name == variant->name) return variant;
  return nullptr;
}

}  // namespace xcorr
