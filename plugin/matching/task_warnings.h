// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Warnings about a task that can be done: templates that cannot match, settings without effect.
#pragma once

#include <string>
#include <vector>

#include "matching/loaded_templates.h"
#include "matching/task.h"

namespace cudaxcorr {

/// `asked` is what the application has set, `done` what of it can be done.
std::vector<std::string> warnings_of(const Task& asked, const Task& done,
                                     const LoadedTemplates& templates, const GstVideoInfo& format,
                                     std::size_t devices);

}  // namespace cudaxcorr
