// SPDX-License-Identifier: LGPL-2.1-or-later
#include "correlator.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include <xcorr/correlate.hpp>

#include "device.hpp"
#include "errors.hpp"
#include "image.hpp"

namespace xcorr::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

/// A plan for two images.
class CorrelatorOf {
 public:
  CorrelatorOf(const Device& device, const Image& left, const Image& right,
               std::tuple<int, int, int, int> shifts, const std::string& kernel)
      : correlator_(device) {
    const auto [x, y, width, height] = shifts;
    const MatrixView &l = left.view(), &r = right.view();
    if (l.type != r.type)
      check({Code::invalid_argument, "the two arrays have different types of elements"});
    problem_ = dense_problem(l.type, Form::one_to_one, l.size, r.size, 1, 1, {x, y, width, height});
    problem_.left_pitch = l.pitch;
    problem_.right_pitch = r.pitch;
    on_device(device, [&] {
      auto made = Correlator::create(problem_, device, kernel);
      check_value(made.status());
      correlator_.set(std::move(made.value()));
    });
  }

  /// `out`: dense, of output_type and the shifts' shape; both in the device's memory.
  void run(const Image& left, const Image& right, std::uintptr_t out, std::uintptr_t workspace,
           std::uintptr_t stream) {
    on_device(correlator_.device(), [&] {
      check(correlator_->set_rights(right.view().data, stream_of(stream)));
      check(correlator_->run(left.view().data, reinterpret_cast<void*>(out),
                             reinterpret_cast<void*>(workspace), stream_of(stream)));
    });
  }

  const char* output_type() const { return numpy_type(problem_.output_type()); }
  std::size_t workspace_bytes() const { return correlator_->workspace_bytes(); }
  std::string kernel() const { return correlator_->kernel(); }

 private:
  Problem problem_;
  OnDevice<Correlator> correlator_;
};

}  // namespace

void bind_correlator(nb::module_& module) {
  nb::class_<CorrelatorOf>(module, "Correlator")
      .def(nb::init<const Device&, const Image&, const Image&, std::tuple<int, int, int, int>,
                    const std::string&>(),
           "device"_a, "left"_a, "right"_a, "shifts"_a, "kernel"_a = "auto")
      .def("run", &CorrelatorOf::run, "left"_a, "right"_a, "out"_a, "workspace"_a, "stream"_a = 0)
      .def_prop_ro("output_type", &CorrelatorOf::output_type)
      .def_prop_ro("workspace_bytes", &CorrelatorOf::workspace_bytes)
      .def_prop_ro("kernel", &CorrelatorOf::kernel);
}

}  // namespace xcorr::python
