// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/loaded_templates.h"

#include <string>
#include <utility>

namespace cudaxcorr {

xcorr::Status with_names_of(const TemplateSet& template_set, const xcorr::Status& error) {
  std::string names;
  for (std::size_t i = 0; i < template_set.size(); ++i)
    names += (i ? ", '" : "'") + template_set[i].name() + "'";
  return {error.code(), error.message() + " (the templates are " + names + ")"};
}

xcorr::Result<LoadedTemplates> load_bank(std::shared_ptr<const TemplateSet> template_set,
                                         const GstVideoInfo& format, const xcorr::Device& device,
                                         const TemplateForm& form, const LoadedTemplates& before) {
  const bool halves = !form.weighted && template_set->mask.kind == MaskKind::weights;
  std::vector<LumaImage> images;
  for (std::size_t i = 0; i < template_set->size(); ++i) {
    auto image = luma_in(format, (*template_set)[i], form.in_color);
    if (!image)
      return xcorr::Status(
          xcorr::Code::invalid_argument,
          "Cannot convert the template '" + (*template_set)[i].name() + "' to the frames' format");
    for (std::uint8_t& weight : image->mask)
      if (halves) weight = weight >= opaque;
    images.push_back(std::move(*image));
  }
  LoadedTemplates loaded;
  loaded.live.resize(images.size());
  if (form.live) {
    auto made = live_templates(device, images, *before.images, before.live);
    if (!made.ok()) return with_names_of(*template_set, made.status());
    loaded.live = std::move(made.value());
  }
  loaded.images = std::make_shared<std::vector<LumaImage>>(std::move(images));
  loaded.things = things_of(*template_set);
  loaded.template_set = std::move(template_set);
  loaded.form = form;
  return loaded;
}

}  // namespace cudaxcorr
