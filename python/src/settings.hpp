// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <nanobind/nanobind.h>

namespace xcorr::python {

/// MatchSettings and PoseRange with their fields, the names of the methods, and the layout of Peak.
void bind_settings(nanobind::module_& module);

}  // namespace xcorr::python
