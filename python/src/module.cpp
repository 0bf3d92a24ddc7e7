// SPDX-License-Identifier: LGPL-2.1-or-later
//
// xcorr._xcorr: the library for the package's own modules, which are its only users. Arguments are
// what the library takes; what users write is translated in Python.
#include <nanobind/nanobind.h>

#include "correlator.hpp"
#include "device.hpp"
#include "field.hpp"
#include "image.hpp"
#include "matcher.hpp"
#include "settings.hpp"

NB_MODULE(_xcorr, module) {
  xcorr::python::bind_device(module);
  xcorr::python::bind_image(module);
  xcorr::python::bind_settings(module);
  xcorr::python::bind_matcher(module);
  xcorr::python::bind_correlator(module);
  xcorr::python::bind_field(module);
  module.attr("version") = XCORR_VERSION;
}
