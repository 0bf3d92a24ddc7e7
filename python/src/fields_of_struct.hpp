// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A plain struct as a structured type of NumPy's, so that arrays of it need no conversion.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

namespace xcorr::python {

namespace nb = nanobind;

/// A structured type of NumPy's over a plain struct: numpy.dtype(...) of it.
class Fields {
 public:
  explicit Fields(std::size_t bytes) { fields_["itemsize"] = bytes; }
  Fields& add(const char* name, nb::object format, std::size_t offset) {
    names_.append(name);
    formats_.append(format);
    offsets_.append(offset);
    return *this;
  }
  Fields& add(const char* name, const char* format, std::size_t offset) {
    return add(name, nb::str(format), offset);
  }
  nb::dict done() {
    fields_["names"] = names_;
    fields_["formats"] = formats_;
    fields_["offsets"] = offsets_;
    return fields_;
  }

 private:
  nb::dict fields_;
  nb::list names_, formats_, offsets_;
};

}  // namespace xcorr::python
