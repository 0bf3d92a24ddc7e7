// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Templates that adapt to what is found (`template-update`), alongside the images that they
// started from. A live template is kept on the device, shared by all matchers that use it, for as
// long as its image is in the template set.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <xcorr/match.hpp>

#include "matching/luma_image.h"

namespace cudaxcorr {

/// One entry per image. Either all images have a live template, or all entries are null.
using LiveTemplates = std::vector<std::shared_ptr<xcorr::LiveTemplate>>;

/// Live templates for `images`. Those of images that are unchanged are carried over from `before`
/// with what they have learnt; the others start from their images.
xcorr::Result<LiveTemplates> live_templates(const xcorr::Device& device,
                                            const std::vector<LumaImage>& images,
                                            const std::vector<LumaImage>& images_before,
                                            const LiveTemplates& before);

/// Gives a matcher the live templates or, where there are none, the images; with their masks.
xcorr::Status set_templates_of(auto& matcher, std::span<const LumaImage> images,
                               std::span<const std::shared_ptr<xcorr::LiveTemplate>> live) {
  std::vector<xcorr::MatrixView> views, masks;
  for (const LumaImage& image : images) {
    views.push_back(image.view());
    masks.push_back(image.mask_view());
  }
  if (!live.empty() && live.front())
    return matcher.set_templates(
        std::vector<std::shared_ptr<const xcorr::LiveTemplate>>(live.begin(), live.end()), masks);
  return matcher.set_templates(views, masks);
}

}  // namespace cudaxcorr
