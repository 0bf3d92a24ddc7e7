// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/live_templates.h"

namespace cudaxcorr {

xcorr::Result<LiveTemplates> live_templates(const xcorr::Device& device,
                                            const std::vector<LumaImage>& images,
                                            const std::vector<LumaImage>& images_before,
                                            const LiveTemplates& before) {
  LiveTemplates live(images.size());
  const auto origins = origins_of(images, images_before);
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (origins[i]) live[i] = before[*origins[i]];
    if (live[i]) continue;
    auto made = xcorr::LiveTemplate::create(device, images[i].view());
    if (!made.ok()) return made.status();
    live[i] = std::move(made.value());
  }
  return live;
}

xcorr::Status set_templates_of(xcorr::Matcher& matcher, std::span<const LumaImage> images,
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
