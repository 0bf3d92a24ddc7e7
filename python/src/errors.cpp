// SPDX-License-Identifier: LGPL-2.1-or-later
#include "errors.hpp"

#include <nanobind/nanobind.h>

namespace xcorr::python {
namespace {

[[noreturn]] void raise(PyObject* type, const Status& status) {
  const nanobind::gil_scoped_acquire locked;
  PyErr_SetString(type, status.message().c_str());
  throw nanobind::python_error();
}

}  // namespace

void check(const Status& status) {
  switch (status.code()) {
    case Code::ok:
      return;
    case Code::invalid_argument:
    case Code::over_budget:
      raise(PyExc_ValueError, status);
    case Code::out_of_memory:
      raise(PyExc_MemoryError, status);
    case Code::unsupported:
    case Code::not_found:
    case Code::device_error:
    case Code::stopped:
      raise(PyExc_RuntimeError, status);
  }
}

void check_value(const Status& status) {
  if (status.code() == Code::unsupported) raise(PyExc_ValueError, status);
  check(status);
}

}  // namespace xcorr::python
