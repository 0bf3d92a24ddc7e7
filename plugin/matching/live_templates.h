// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The templates that take up what is found of them (`template-update`), beside the pictures that
// they began as. One lives on the device for all matchers of it, and for as long as its picture
// stays.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <xcorr/match.hpp>

#include "matching/templates.h"

namespace cudaxcorr {

/// One a picture; null: it stays as it is. All of them are, or none is.
using LiveTemplates = std::vector<std::shared_ptr<xcorr::LiveTemplate>>;

/// Those of `images`: of a picture that was there before what it has become, if it is there.
xcorr::Result<LiveTemplates> live_templates(const xcorr::Device& device,
                                            const std::vector<LumaImage>& images,
                                            const std::vector<LumaImage>& images_before,
                                            const LiveTemplates& before);

/// Gives a matcher the templates as they live, or else the pictures.
xcorr::Status set_templates_of(xcorr::Matcher& matcher, std::span<const LumaImage> images,
                               std::span<const std::shared_ptr<xcorr::LiveTemplate>> live);

}  // namespace cudaxcorr
