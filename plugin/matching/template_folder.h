// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The templates of a folder, `templates-dir`: its images, in the order of their names, and what
// `templates.yaml` beside them says.
#pragma once

#include <string>
#include <vector>

#include "common/fault.h"
#include "matching/templates.h"

namespace cudaxcorr {

inline constexpr std::size_t max_folder_images = 4096;

/// Reads the folder into the template set's list `of_folder`; no folder: none. Files that have not
/// changed since that list was read are not read again, and keep their ids. A file that cannot be
/// read leaves what there was, with a warning. False with `fault` (RESOURCE/OPEN_READ) if the
/// folder cannot be read, and then nothing changes.
bool load_folder(TemplateSet& template_set, const std::string& folder, unsigned max_pixels,
                 guint& last_id, std::vector<Fault>& warnings, Fault& fault);

}  // namespace cudaxcorr
