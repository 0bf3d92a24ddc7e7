// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An array of Python's as a matrix of the library's, without a copy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <string>
#include <vector>

#include <xcorr/match.hpp>

namespace xcorr::python {

class Image {
 public:
  using Array = nanobind::ndarray<nanobind::ro>;

  /// Of an array in host memory, or of a DLPack capsule; both are kept alive. The elements of a row
  /// are adjacent, which the Python layer has seen to. `name`: for messages. `colours`: "rgb" or
  /// "bgr", what the channels of three-dimensional ones are; "planes", of three that lie one after
  /// the other, dense, and are compared in colour; "" where they must be gray. Throws
  /// TypeError for elements that the library does not know, ValueError for a shape that is none of
  /// an image's.
  Image(Array array, const std::string& name, const std::string& colours);
  /// Of memory on a GPU, which lives as long as `owner`. `type`: NumPy's, such as "u1".
  Image(nanobind::object owner, std::uintptr_t pointer, const std::vector<std::int64_t>& shape,
        std::int64_t pitch, const std::string& type, int ordinal, const std::string& name,
        const std::string& colours);

  const MatrixView& view() const { return view_; }
  /// Where scores go. Throws TypeError for elements other than float32.
  ScoreMap scores() const;
  /// CUDA's number of the device that the memory is on; -1: host memory.
  int ordinal() const { return ordinal_; }

 private:
  void set_shape(const std::vector<std::int64_t>& shape, const std::string& name,
                 const std::string& colours);
  void set_planes(const std::vector<std::int64_t>& shape, const std::string& name);

  Array array_;
  nanobind::object owner_;
  MatrixView view_;
  int ordinal_ = -1;
};

/// NumPy's name of a type, such as "u1".
const char* numpy_type(ElementType type);

/// The type of that name, in which truth values are bytes, too. Throws TypeError, which names what
/// has elements of it.
ElementType element_type(const std::string& type, const std::string& name);

void bind_image(nanobind::module_& module);

}  // namespace xcorr::python
