// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Templates that come and go, from any thread and in any state: the properties that name them, and
// the signals add-template, add-template-file, capture-template and remove-template. A change is
// made on a copy of the bank, which then takes the place of the one before; the streaming thread
// takes the present one with each frame. One that cannot be made leaves all as it was.
#pragma once

#include <optional>

#include "common/fault.h"
#include "cudaxcorr/gstcudaxcorr.h"
#include "cudaxcorr/properties.h"

namespace cudaxcorr {

void install_template_signals(GstElementClass* klass);

/// Sets a property that has `pictures`. While started, files are read at once.
std::optional<Fault> set_templates(GstCudaXCorr* self, const Property& property,
                                   const GValue* value);

/// At the start: fills the bank with what was named before.
std::optional<Fault> load_templates(GstCudaXCorr* self);

/// Tells that properties of templates have another value.
void notify_templates(GstCudaXCorr* self);

}  // namespace cudaxcorr
