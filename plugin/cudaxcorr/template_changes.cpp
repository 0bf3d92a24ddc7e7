// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/template_changes.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <xcorr/exceptions.hpp>

#include "common/utf8.h"
#include "cudaxcorr/element.h"
#include "matching/capture.h"
#include "matching/masking.h"
#include "matching/template_folder.h"

namespace cudaxcorr {
namespace {

std::string text_or_none(const gchar* text) { return text ? text : ""; }

Fault unusable(const std::string& text, Where where = Where::here()) {
  return {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, text, where};
}

void warn_of_all(GstCudaXCorr* self, const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) self->element->deferred_warnings.warn(self, fault);
}

/// Masks the templates of the template set and those of signals, which are in the settings.
std::optional<Fault> mask_all(GstCudaXCorr* self, TemplateSet& template_set, Settings& settings) {
  Fault fault;
  std::vector<Fault> left_out;
  template_set.added = settings.templates.added;
  const bool masked =
      mask_templates(template_set, settings.templates.mask, settings.search.match, left_out, fault);
  if (!masked) return fault;
  warn_of_all(self, left_out);
  settings.templates.added = template_set.added;
  return std::nullopt;
}

/// Replaces one of the lists, other than `added`.
std::optional<Fault> load_list(GstCudaXCorr* self, TemplateSet& template_set,
                               LoadedImages TemplateSet::*list, const Settings& settings) {
  const unsigned max_pixels = settings.max_template_pixels;
  guint& last_id = self->element->last_template_id;
  Fault fault;
  if (list != &TemplateSet::of_folder) {
    if (load(template_set, list, settings.templates, max_pixels, last_id, fault))
      return std::nullopt;
    return fault;
  }
  std::vector<Fault> warnings;
  if (!load_folder(template_set, settings.templates.folder, max_pixels, last_id, warnings, fault))
    return fault;
  // What is still so has been said.
  std::vector<std::string>& told = self->element->told_of_folder;
  std::vector<std::string> texts;
  for (const Fault& warning : warnings) texts.push_back(warning.text);
  std::erase_if(warnings, [&](const Fault& warning) {
    return std::ranges::find(told, warning.text) != told.end();
  });
  told = std::move(texts);
  warn_of_all(self, warnings);
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
      if (const auto fault = mask_all(self, *template_set, changed.settings)) return fault;
  } catch (const std::exception& thrown) {
    return fault_of(xcorr::status_of(thrown));
  }
  const bool is_new = template_set && *template_set != *changed.template_set;
  const ObjectLock lock(self);  // what is replaced is released outside of it
  std::swap(element.shared.settings.templates, changed.settings.templates);
  if (element.shared.template_set && is_new)
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

/// Watches the folder that is set now, if there is one, and takes its changes over.
void watch_folder(GstCudaXCorr* self) {
  Element& element = *self->element;
  std::unique_ptr<FolderWatch> before;  // waits for its thread outside the lock
  const std::lock_guard watching(element.watching);
  std::string folder;
  {
    const ObjectLock lock(self);
    if (element.shared.template_set) folder = element.shared.settings.templates.folder;
  }
  if (element.folder_watch && element.folder_watch->folder() == folder) return;
  before = std::move(element.folder_watch);
  if (folder.empty()) return;
  const auto reload = [self] {
    const auto fault = change_templates(self, [&](Settings& settings, TemplateSet* template_set) {
      return template_set ? load_list(self, *template_set, &TemplateSet::of_folder, settings)
                          : std::nullopt;
    });
    if (fault) self->element->deferred_warnings.warn(self, *fault);
  };
  const auto warn = [self, folder](const std::string& reason) {
    self->element->deferred_warnings.warn(
        self, {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
               "The folder of templates '" + valid_utf8(folder) +
                   "' cannot be watched, so its changes are not seen: " + reason});
  };
  element.folder_watch = std::make_unique<FolderWatch>(folder, reload, warn);
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
    in_color = xcorr::is_in_color(self->element->shared.settings.search.match.match_on);
  }
  return add(self, [&](unsigned max_pixels, guint id, Fault& fault) -> SharedImage {
    if (!frame) {
      fault = unusable("Cannot capture a template: no frame has passed with 'enable-capture'");
      return nullptr;
    }
    const Sample patch = capture(frame.get(), {x, y, width, height}, in_color, fault);
    return patch ? copy_sample(patch.get(), "", max_pixels, id, fault, "captured") : nullptr;
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
  auto fault = change_templates(
      self, [&](Settings& settings, TemplateSet* template_set) -> std::optional<Fault> {
        if (!property.set(settings, value)) return malformed(property.spec, value);
        const auto list = *property.images;
        return template_set && list ? load_list(self, *template_set, list, settings) : std::nullopt;
      });
  if (!fault && property.images == &TemplateSet::of_folder) watch_folder(self);
  return fault;
}

std::optional<Fault> load_templates(GstCudaXCorr* self) {
  Element& element = *self->element;
  {
    const std::lock_guard changing(element.changing);
    element.told_of_folder.clear();
    Settings settings;
    {
      const ObjectLock lock(self);
      settings = element.shared.settings;
    }
    auto template_set = std::make_shared<TemplateSet>();
    for (const auto list : {&TemplateSet::single, &TemplateSet::several, &TemplateSet::sampled,
                            &TemplateSet::of_folder, &TemplateSet::mask_file})
      if (const auto fault = load_list(self, *template_set, list, settings)) return fault;
    if (const auto fault = mask_all(self, *template_set, settings)) return fault;
    const ObjectLock lock(self);
    element.shared.settings.templates.added = template_set->added;
    element.shared.template_set = std::move(template_set);
  }
  watch_folder(self);
  return std::nullopt;
}

void stop_watching(GstCudaXCorr* self) {
  std::unique_ptr<FolderWatch> before;  // waits for its thread outside the lock
  const std::lock_guard watching(self->element->watching);
  before = std::move(self->element->folder_watch);
}

void notify_templates(GstCudaXCorr* self) {
  for (const Property& property : properties())
    if (property.images) g_object_notify_by_pspec(G_OBJECT(self), property.spec);
}

}  // namespace cudaxcorr
