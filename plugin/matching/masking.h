// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Masks for the templates of a template set, however they came.
#pragma once

#include <vector>

#include <xcorr/match.hpp>

#include "common/fault.h"
#include "matching/templates.h"

namespace cudaxcorr {

/// Which pixels of an image count, in the way of `pixels`; empty with the reason if it cannot be
/// mapped.
Mask read_mask(const LoadedImage& image, Mask (*pixels)(const MappedFrame&), std::string& reason);

/// Gives every template the mask that the settings and the template set's `mask_file` make. If one
/// cannot have that mask, sets `fault` (LIBRARY/SETTINGS) and returns false: the file has another
/// size, no pixel would count, or those that would are flat where the rest is not, and what `match`
/// compares needs contrast. Those of a folder are left out instead, with the faults in `left_out`.
bool mask_templates(TemplateSet& template_set, const MaskSettings& settings,
                    const xcorr::MatchSettings& match, std::vector<Fault>& left_out, Fault& fault);

}  // namespace cudaxcorr
