// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What single templates of a folder are searched by, where that is not what the element's
// properties say: the file `templates.yaml` in the folder, which a stranger may have made.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <xcorr/types.hpp>

namespace cudaxcorr {

struct TemplateRules {
  std::string label;                ///< empty: the file's name
  std::optional<double> threshold;  ///< none: the element's
  xcorr::Rect region;               ///< empty: the element's

  bool operator==(const TemplateRules&) const = default;
};

/// By names of files without extension.
using FolderRules = std::map<std::string, TemplateRules>;

inline constexpr const char* rules_file = "templates.yaml";
inline constexpr std::size_t max_rules_bytes = std::size_t{512} << 10;

/// Of the text of such a file. Nothing with the reason, which names the line.
std::optional<FolderRules> parse_rules(std::string_view text, std::string& reason);

}  // namespace cudaxcorr
