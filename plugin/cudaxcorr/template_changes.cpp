// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/template_changes.h"

#include <utility>

#include <xcorr/exceptions.hpp>

#include "cudaxcorr/element.h"
#include "matching/capture.h"
#include "matching/masking.h"

namespace cudaxcorr {
namespace {

std::string text_or_none(const gchar* text) { return text ? text : ""; }

Fault unusable(const std::string& text, Where where = Where::here()) {
  return {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, text, where};
}

/// Masks the templates of the template set and those of signals, which are in the settings.
std::optional<Fault> mask_all(TemplateSet& template_set, Settings& settings) {
  Fault fault;
  template_set.added = settings.templates.added;
  if (!mask_templates(template_set, settings.templates.mask, settings.search.match.method, fault))
    return fault;
  settings.templates.added = template_set.added;
  return std::nullopt;
}

/// Changes settings and template set (null while stopped) together, unless `change` returns a fault
/// or a template cannot have its mask.
template <class Change>
std::optional<Fault> change_templates(GstCudaXCorr* self, Change change) {
  Element& element = *self->element;
  const std::lock_guard changing(element.changing);
  Snapshot changed;
  {
    const ObjectLock lock(self);
    changed = element.shared;
  }
  const auto template_set =
      changed.template_set ? std::make_shared<TemplateSet>(*changed.template_set) : nullptr;
  try {
    if (const auto fault = change(changed.settings, template_set.get())) return fault;
    if (template_set)
      if (const auto fault = mask_all(*template_set, changed.settings)) return fault;
  } catch (const std::exception& thrown) {
    return fault_of(xcorr::status_of(thrown));
  }
  const ObjectLock lock(self);  // what is replaced is released outside of it
  std::swap(element.shared.settings.templates, changed.settings.templates);
  if (element.shared.template_set)
    changed.template_set = std::exchange(element.shared.template_set, template_set);
  return std::nullopt;
}

/// Adds the image that `make(max_pixels, id, fault)` returns. Gives its id, or 0 after a warning.
template <class Make>
guint add(GstCudaXCorr* self, Make make) {
  guint id = 0;
  const auto fault =
      change_templates(self, [&](Settings& settings, TemplateSet*) -> std::optional<Fault> {
        Fault fault;
        SharedImage image =
            make(settings.max_template_pixels, self->element->last_template_id + 1, fault);
        if (!image) return fault;
        id = self->element->last_template_id = image->id;
        settings.templates.added.push_back(std::move(image));
        return std::nullopt;
      });
  if (!fault) return id;
  self->element->deferred_warnings.warn(self, *fault);
  return 0;
}

// ---- signals --------------------------------------------------------------------------------

guint add_template(GstCudaXCorr* self, GstSample* sample, const gchar* label) {
  return add(self, [&](unsigned max_pixels, guint id, Fault& fault) {
    return copy_sample(sample, text_or_none(label), max_pixels, id, fault);
  });
}

guint add_template_file(GstCudaXCorr* self, const gchar* file, const gchar* label) {
  return add(self, [&](unsigned max_pixels, guint id, Fault& fault) {
    return load_file(text_or_none(file), text_or_none(label), max_pixels, id, fault);
  });
}

guint capture_template(GstCudaXCorr* self, gint x, gint y, gint width, gint height) {
  Sample frame;
  bool in_color;
  {
    const ObjectLock lock(self);
    frame = self->element->last_frame;
    in_color = self->element->shared.settings.search.match.match_on == xcorr::MatchOn::color;
  }
  return add(self, [&](unsigned max_pixels, guint id, Fault& fault) -> SharedImage {
    if (!frame) {
      fault = unusable("Cannot capture a template: no frame has passed with 'enable-capture'");
      return nullptr;
    }
    const Sample patch = capture(frame.get(), {x, y, width, height}, in_color, fault);
    return patch ? copy_sample(patch.get(), "captured", max_pixels, id, fault) : nullptr;
  });
}

gboolean remove_template(GstCudaXCorr* self, guint id) {
  const auto fault = change_templates(
      self, [&](Settings& settings, TemplateSet* template_set) -> std::optional<Fault> {
        bool found = false;
        const auto erase_from = [&](LoadedImages& list) {
          found |= std::erase_if(list, [id](const auto& image) { return image->id == id; }) > 0;
        };
        if (template_set) {
          for (const auto list : TemplateSet::lists) erase_from(template_set->*list);
          settings.templates = settings_of(*template_set);
        } else {
          erase_from(settings.templates.added);
        }
        if (found) return std::nullopt;
        return unusable("There is no template of the id " + std::to_string(id));
      });
  if (fault)
    self->element->deferred_warnings.warn(self, *fault);
  else
    notify_templates(self);
  return !fault;
}

}  // namespace

void install_template_signals(GstElementClass* klass) {
  // GObject has no names for arguments, so this text goes to gst-inspect-1.0.
  std::string overview;
  const auto install = [&](const char* name, const char* arguments, GCallback handler, GType result,
                           auto... types) {
    g_signal_new_class_handler(name, G_TYPE_FROM_CLASS(klass),
                               static_cast<GSignalFlags>(G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION),
                               handler, nullptr, nullptr, nullptr, result, sizeof...(types),
                               types...);
    overview.append(overview.empty() ? "" : ", ").append(name).append(arguments);
  };
  /**
   * GstCudaXCorr::add-template:
   * @sample: an image: raw video with caps
   * @label: (nullable): its label, %NULL: `sample`
   *
   * Returns: the template's id, or 0 after a warning message
   *
   * Since: 0.1
   */
  install("add-template", "(sample, label)", G_CALLBACK(add_template), G_TYPE_UINT, GST_TYPE_SAMPLE,
          G_TYPE_STRING);
  /**
   * GstCudaXCorr::add-template-file:
   * @file: an image file
   * @label: (nullable): its label, %NULL: the file's name without extension
   *
   * Returns: the template's id, or 0 after a warning message
   *
   * Since: 0.1
   */
  install("add-template-file", "(file, label)", G_CALLBACK(add_template_file), G_TYPE_UINT,
          G_TYPE_STRING, G_TYPE_STRING);
  /**
   * GstCudaXCorr::capture-template:
   * @x: left edge in pixels of the frame that passed last
   * @y: top edge
   * @width: width in pixels
   * @height: height
   *
   * Adds a patch of that frame, labelled `captured`; `enable-capture` must be set.
   *
   * Returns: the template's id, or 0 after a warning message
   *
   * Since: 0.1
   */
  install("capture-template", "(x, y, width, height)", G_CALLBACK(capture_template), G_TYPE_UINT,
          G_TYPE_INT, G_TYPE_INT, G_TYPE_INT, G_TYPE_INT);
  /**
   * GstCudaXCorr::remove-template:
   * @id: of a template, however it came
   *
   * Returns: %TRUE, or %FALSE after a warning message when there is no such template
   *
   * Since: 0.1
   */
  install("remove-template", "(id)", G_CALLBACK(remove_template), G_TYPE_BOOLEAN, G_TYPE_UINT);
  gst_element_class_add_metadata(klass, "signals", overview.c_str());
}

std::optional<Fault> set_templates(GstCudaXCorr* self, const Property& property,
                                   const GValue* value) {
  return change_templates(
      self, [&](Settings& settings, TemplateSet* template_set) -> std::optional<Fault> {
        Fault fault;
        if (!property.set(settings, value)) return malformed(property.spec, value);
        const auto list = *property.images;
        if (!template_set || !list ||
            load(*template_set, list, settings.templates, settings.max_template_pixels,
                 self->element->last_template_id, fault))
          return std::nullopt;
        return fault;
      });
}

std::optional<Fault> load_templates(GstCudaXCorr* self) {
  Element& element = *self->element;
  const std::lock_guard changing(element.changing);
  Settings settings;
  {
    const ObjectLock lock(self);
    settings = element.shared.settings;
  }
  auto template_set = std::make_shared<TemplateSet>();
  Fault fault;
  for (const auto list : {&TemplateSet::single, &TemplateSet::several, &TemplateSet::sampled,
                          &TemplateSet::mask_file})
    if (!load(*template_set, list, settings.templates, settings.max_template_pixels,
              element.last_template_id, fault))
      return fault;
  if (const auto fault = mask_all(*template_set, settings)) return fault;
  const ObjectLock lock(self);
  element.shared.settings.templates.added = template_set->added;
  element.shared.template_set = std::move(template_set);
  return std::nullopt;
}

void notify_templates(GstCudaXCorr* self) {
  for (const Property& property : properties())
    if (property.images) g_object_notify_by_pspec(G_OBJECT(self), property.spec);
}

}  // namespace cudaxcorr
