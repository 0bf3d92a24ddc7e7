// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <nanobind/nanobind.h>

namespace xcorr::python {

/// FieldMatcher, its settings and the fields of a vector.
void bind_field(nanobind::module_& module);

}  // namespace xcorr::python
