// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The words of a frame of bytes, which products with weighted templates are made of.
#pragma once

#include "device/runtime.hpp"
#include "match/frame_reader.hpp"
#include "stages/image/widen.hpp"

namespace xcorr {

class Widener {
 public:
  /// For parts of a frame of that size.
  static Result<Widener> make(const Device& device, Size size, int planes);

  /// Enqueues the widening. The rows, of u16, stay valid until the next call.
  Result<Rows> run(const Rows& bytes, Stream stream);

 private:
  Device device_;
  stage::Widen::Problem problem_;  ///< the bytes' rows are set by run()
  const Variant<stage::Widen>* variant_ = nullptr;
  Block words_;
};

}  // namespace xcorr
