// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <nanobind/nanobind.h>

namespace xcorr::python {

/// Correlator, of one left and one right.
void bind_correlator(nanobind::module_& module);

}  // namespace xcorr::python
