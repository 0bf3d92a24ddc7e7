// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device.hpp"

#include <nanobind/stl/string.h>

#include "errors.hpp"

namespace xcorr::python {

namespace nb = nanobind;
using namespace nb::literals;

void bind_device(nb::module_& module) {
  nb::class_<Device>(module, "Device")
      .def_prop_ro("is_gpu", [](const Device& d) { return d.backend == Backend::cuda; })
      .def_ro("ordinal", &Device::ordinal)
      .def_ro("name", &Device::name);
  module.def(
      "open_device",
      [](bool gpu, int ordinal) {
        return take(xcorr::open_device(gpu ? Backend::cuda : Backend::cpu, ordinal));
      },
      "gpu"_a, "ordinal"_a = -1, nb::call_guard<nb::gil_scoped_release>());
  module.def(
      "set_max_threads", [](int count) { check(set_max_threads(count)); }, "count"_a,
      nb::call_guard<nb::gil_scoped_release>());
  module.def("max_threads", &max_threads);
}

}  // namespace xcorr::python
