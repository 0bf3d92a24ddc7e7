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

}  // namespace cudaxcorr
