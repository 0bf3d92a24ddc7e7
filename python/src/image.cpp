// SPDX-License-Identifier: LGPL-2.1-or-later
#include "image.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <iterator>
#include <limits>
#include <utility>

namespace xcorr::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

/// In the order of ElementType.
constexpr const char* numpy_types[] = {"u1", "u2", "u4", "u8", "i4", "i8", "f4", "f8"};

std::string type_of(const nb::dlpack::dtype& type) {
  using Code = nb::dlpack::dtype_code;
  const auto code = static_cast<Code>(type.code);
  const char kind = code == Code::Int       ? 'i'
                    : code == Code::UInt    ? 'u'
                    : code == Code::Float   ? 'f'
                    : code == Code::Complex ? 'c'
                    : code == Code::Bool    ? 'b'
                                            : 'V';
  return kind + std::to_string(type.bits / 8);
}

// As Python has it.
std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

ElementType element_type(const std::string& type, const std::string& name) {
  if (type == "b1") return ElementType::u8;
  for (std::size_t i = 0; i < std::size(numpy_types); ++i)
    if (type == numpy_types[i]) return static_cast<ElementType>(i);
  throw nb::type_error(
      (name + " has elements of type " + type + ", which xcorr does not know").c_str());
}

const char* numpy_type(ElementType type) { return numpy_types[static_cast<std::uint8_t>(type)]; }

void Image::set_planes(const std::vector<std::int64_t>& shape, const std::string& name) {
  set_shape({shape[1], shape[2]}, name, "");
  view_.pitch = shape[2] * static_cast<std::ptrdiff_t>(size_of(view_.type));
  for (int i = 0; i < color_planes; ++i)
    view_.color[i] = {static_cast<const std::byte*>(view_.data) + i * shape[1] * view_.pitch,
                      view_.pitch};
}

void Image::set_shape(const std::vector<std::int64_t>& shape, const std::string& name,
                      const std::string& colours) {
  const auto refuse = [&](const std::string& what) {
    throw nb::value_error((name + what).c_str());
  };
  if (colours == "planes" && shape.size() == 3 && shape[0] == color_planes)
    return set_planes(shape, name);
  const bool coloured = shape.size() == 3 && !colours.empty();
  if (shape.size() != 2 && !coloured)
    refuse((colours.empty() ? " must have two dimensions: height and width"
                            : " must have two dimensions, or three with channels last") +
           ("; it has the shape " + text_of(shape)));
  for (const std::int64_t extent : shape)
    if (extent > std::numeric_limits<int>::max()) refuse(" is too large");
  view_.size = {static_cast<int>(shape[1]), static_cast<int>(shape[0])};
  if (!coloured || shape[2] == 1) return;
  if (shape[2] != 3 && shape[2] != 4) refuse(" must have 1, 3 or 4 channels");
  if (view_.type != ElementType::u8)
    throw nb::type_error((name + " has channels, which only images of uint8 may have").c_str());
  const int red = colours == "rgb" ? 0 : 2;
  view_.pixels = packed_rgb(static_cast<int>(shape[2]), red, 1, 2 - red);
  view_ = with_packed_color(view_, red, 1, 2 - red);
}

Image::Image(Array array, const std::string& name, const std::string& colours)
    : array_(std::move(array)) {
  const auto device = array_.device_type();
  if (device == nb::device::cuda::value || device == nb::device::cuda_managed::value) {
    view_.memory = Memory::device;
    ordinal_ = array_.device_id();
  } else if (device != nb::device::cpu::value && device != nb::device::cuda_host::value) {
    throw nb::type_error((name + " is neither in host memory nor on an NVIDIA GPU").c_str());
  }
  view_.data = array_.data();
  view_.type = element_type(type_of(array_.dtype()), name);
  if (array_.ndim() > 0)
    view_.pitch = array_.stride(0) * static_cast<std::ptrdiff_t>(size_of(view_.type));
  set_shape({array_.shape_ptr(), array_.shape_ptr() + array_.ndim()}, name, colours);
}

Image::Image(nb::object owner, std::uintptr_t pointer, const std::vector<std::int64_t>& shape,
             std::int64_t pitch, const std::string& type, int ordinal, const std::string& name,
             const std::string& colours)
    : owner_(std::move(owner)), ordinal_(ordinal) {
  view_.data = reinterpret_cast<const void*>(pointer);
  view_.type = element_type(type, name);
  view_.memory = Memory::device;
  view_.pitch = pitch;
  set_shape(shape, name, colours);
}

ScoreMap Image::scores() const {
  if (view_.type != ElementType::f32) throw nb::type_error("out must be of float32");
  return {static_cast<float*>(const_cast<void*>(view_.data)), view_.pitch, view_.memory};
}

void bind_image(nb::module_& module) {
  nb::class_<Image>(module, "Image")
      .def(nb::init<Image::Array, const std::string&, const std::string&>(), "array"_a, "name"_a,
           "colours"_a = "")
      .def(nb::init<nb::object, std::uintptr_t, const std::vector<std::int64_t>&, std::int64_t,
                    const std::string&, int, const std::string&, const std::string&>(),
           "owner"_a, "pointer"_a, "shape"_a, "pitch"_a, "type"_a, "ordinal"_a, "name"_a,
           "colours"_a = "")
      .def_prop_ro("type", [](const Image& p) { return numpy_type(p.view().type); })
      .def_prop_ro("height", [](const Image& p) { return p.view().size.height; })
      .def_prop_ro("width", [](const Image& p) { return p.view().size.width; })
      .def_prop_ro("ordinal", &Image::ordinal);
}

}  // namespace xcorr::python
