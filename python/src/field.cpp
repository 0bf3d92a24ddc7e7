// SPDX-License-Identifier: LGPL-2.1-or-later
#include "field.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <xcorr/field.hpp>

#include "device.hpp"
#include "errors.hpp"
#include "fields_of_struct.hpp"
#include "image.hpp"

namespace xcorr::python {
namespace {

using namespace nb::literals;

static_assert(std::is_standard_layout_v<FieldVector> && std::is_trivially_copyable_v<FieldVector>);
static_assert(std::is_same_v<std::underlying_type_t<FieldStatus>, std::int32_t>);

nb::dict vector_fields() {
  return Fields(sizeof(FieldVector))
      .add("x", "f4", offsetof(FieldVector, x))
      .add("y", "f4", offsetof(FieldVector, y))
      .add("dx", "f4", offsetof(FieldVector, dx))
      .add("dy", "f4", offsetof(FieldVector, dy))
      .add("dx_by_x", "f4", offsetof(FieldVector, dx_by_x))
      .add("dx_by_y", "f4", offsetof(FieldVector, dx_by_y))
      .add("dy_by_x", "f4", offsetof(FieldVector, dy_by_x))
      .add("dy_by_y", "f4", offsetof(FieldVector, dy_by_y))
      .add("score", "f4", offsetof(FieldVector, score))
      .add("ratio", "f4", offsetof(FieldVector, ratio))
      .add("sigma", "f4", offsetof(FieldVector, sigma))
      .add("status", "i4", offsetof(FieldVector, status))
      .done();
}

class FieldMatcherOf {
 public:
  /// places: x and y of each
  /// type: as Image.type
  FieldMatcherOf(const Device& device, const std::string& type, int height, int width,
                 FieldSettings settings, const std::optional<const Image*>& mask,
                 const std::vector<std::pair<float, float>>& places)
      : matcher_(device) {
    settings.type = element_type(type, "images");
    std::vector<FieldPlace> centers;
    for (const auto& [x, y] : places) centers.push_back({x, y});
    on_device(device, [&] {
      matcher_.set(take(FieldMatcher::make(device, {width, height}, settings,
                                           mask ? (*mask)->view() : MatrixView{}, centers)));
    });
  }

  std::pair<int, int> grid() const {
    const Size size = matcher_->grid();
    return {size.height, size.width};
  }

  void set_reference(const Image& image, std::uintptr_t stream) {
    locked([&] { check(matcher_->set_reference(image.view(), stream_of(stream))); });
  }

  nb::object match(const Image& frame, std::uintptr_t stream) {
    auto vectors = std::make_unique<std::vector<FieldVector>>();
    locked([&] {
      check(matcher_->enqueue(frame.view(), stream_of(stream)));
      check(matcher_->collect(*vectors));
    });
    return as_array(std::move(vectors));
  }

  nb::object match_ensemble(const std::vector<std::pair<const Image*, const Image*>>& images,
                            std::uintptr_t stream) {
    std::vector<FieldPair> pairs;
    for (const auto& [reference, frame] : images)
      pairs.push_back({reference->view(), frame->view()});
    auto vectors = std::make_unique<std::vector<FieldVector>>();
    locked([&] { check(matcher_->match_ensemble(pairs, *vectors, stream_of(stream))); });
    return as_array(std::move(vectors));
  }

  void advance() {
    locked([&] { check(matcher_->advance()); });
  }

 private:
  /// Bytes, without a copy.
  static nb::object as_array(std::unique_ptr<std::vector<FieldVector>> vectors) {
    const std::size_t bytes = vectors->size() * sizeof(FieldVector);
    auto* data = reinterpret_cast<std::uint8_t*>(vectors->data());
    const nb::capsule owner(
        vectors.get(), [](void* p) noexcept { delete static_cast<std::vector<FieldVector>*>(p); });
    (void)vectors.release();
    return nb::ndarray<nb::numpy, std::uint8_t>(data, {bytes}, owner).cast();
  }

  template <class Body>
  void locked(const Body& body) {
    on_device(matcher_.device(), [&] {
      const std::lock_guard lock(mutex_);
      body();
    });
  }

  OnDevice<FieldMatcher> matcher_;
  std::mutex mutex_;
};

}  // namespace

void bind_field(nb::module_& module) {
  nb::class_<FieldSettings>(module, "FieldSettings")
      .def(nb::init<>())
      .def_rw("windows", &FieldSettings::windows)
      .def_rw("spacing", &FieldSettings::spacing)
      .def_rw("search_range", &FieldSettings::search_range)
      .def_rw("later_range", &FieldSettings::later_range)
      .def_prop_rw(
          "subpixel", [](const FieldSettings& s) { return static_cast<int>(s.subpixel); },
          [](FieldSettings& s, int subpixel) { s.subpixel = static_cast<FieldSubpixel>(subpixel); })
      .def_rw("order", &FieldSettings::order)
      .def_rw("spline_degree", &FieldSettings::spline_degree)
      .def_rw("weight_sigma", &FieldSettings::weight_sigma)
      .def_rw("median_limit", &FieldSettings::median_limit)
      .def_rw("median_noise", &FieldSettings::median_noise)
      .def_rw("min_score", &FieldSettings::min_score)
      .def_rw("min_ratio", &FieldSettings::min_ratio)
      .def_rw("smoothing", &FieldSettings::smoothing)
      .def_rw("prefilter_sigma", &FieldSettings::prefilter_sigma)
      .def_prop_rw(
          "max_work", [](const FieldSettings& s) { return s.budget.max_work; },
          [](FieldSettings& s, double seconds) { s.budget.max_work = seconds; })
      .def_prop_rw(
          "max_memory", [](const FieldSettings& s) { return s.budget.max_memory; },
          [](FieldSettings& s, std::size_t bytes) { s.budget.max_memory = bytes; })
      .def_rw("deformation", &FieldSettings::deformation)
      .def_rw("symmetric", &FieldSettings::symmetric)
      .def_rw("min_counted", &FieldSettings::min_counted);
  nb::class_<FieldMatcherOf>(module, "FieldMatcher")
      .def(nb::init<const Device&, const std::string&, int, int, FieldSettings,
                    const std::optional<const Image*>&,
                    const std::vector<std::pair<float, float>>&>(),
           "device"_a, "type"_a, "height"_a, "width"_a, "settings"_a, "mask"_a.none(), "places"_a)
      .def_prop_ro("grid", &FieldMatcherOf::grid)
      .def("set_reference", &FieldMatcherOf::set_reference, "image"_a, "stream"_a = 0)
      .def("match", &FieldMatcherOf::match, "frame"_a, "stream"_a = 0)
      .def("match_ensemble", &FieldMatcherOf::match_ensemble, "pairs"_a, "stream"_a = 0)
      .def("advance", &FieldMatcherOf::advance);
  module.attr("vector_fields") = vector_fields();
}

}  // namespace xcorr::python
