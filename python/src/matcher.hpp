// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <nanobind/nanobind.h>

namespace xcorr::python {

/// Matcher, MultiMatcher and LiveTemplate, which several threads may use: calls that must not
/// overlap wait for each other, without the GIL.
void bind_matcher(nanobind::module_& module);

}  // namespace xcorr::python
