// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Any text as `templates.yaml`: rules or a reason, never both, and rules are such as the element
// takes.
#include "matching/template_rules.h"

#include "bytes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string reason;
  const auto rules = cudaxcorr::parse_rules({reinterpret_cast<const char*>(data), size}, reason);
  require(rules.has_value() == reason.empty(), "there are rules, or there is a reason");
  if (!rules) return 0;
  require(rules->size() <= size, "a template takes a name");
  for (const auto& [name, of_template] : *rules) {
    require(!of_template.threshold || (*of_template.threshold >= -1 && *of_template.threshold <= 1),
            "a threshold is one of the element's");
    const xcorr::Rect& region = of_template.region;
    require(region == xcorr::Rect() || (region.x >= 0 && region.y >= 0 && !region.empty()),
            "a region has pixels");
    require(of_template.label.find('\0') == std::string::npos, "a label is a text");
  }
  return 0;
}
