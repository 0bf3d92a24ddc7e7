// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Changes of the templates, from any thread and in any state: by the properties that name them and
// by the signals add-template, add-template-file, capture-template and remove-template. A change is
// made to a copy of the template set, which then replaces it; the streaming thread takes the
// present template set with each frame. A change that fails leaves everything as it was.
#pragma once

#include <optional>

#include "common/fault.h"
#include "cudaxcorr/gstcudaxcorr.h"
#include "cudaxcorr/properties.h"

namespace cudaxcorr {

void install_template_signals(GstElementClass* klass);

/// Sets a property that has `images`. While the element is started, files are read at once.
std::optional<Fault> set_templates(GstCudaXCorr* self, const Property& property,
                                   const GValue* value);

/// At the start: loads the template set from the settings.
std::optional<Fault> load_templates(GstCudaXCorr* self);

/// At the end, when the template set is gone: changes of the folder are not seen any more.
void stop_watching(GstCudaXCorr* self);

/// Emits `notify` for the properties of templates.
void notify_templates(GstCudaXCorr* self);

}  // namespace cudaxcorr
