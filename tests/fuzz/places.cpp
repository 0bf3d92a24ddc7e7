// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Any text as the file of places-file: places or a reason, never both, and the library takes or
// refuses what is read.
#include "fields/places.h"

#include <xcorr/device.hpp>

#include "bytes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string reason;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto places = cudaxcorr::fields::places_in(text, reason);
  require(places.empty() != reason.empty(), "there are places, or there is a reason");
  require(places.size() <= size, "a place takes a line");
  static const xcorr::Device device = xcorr::open_device(xcorr::Backend::cpu).value();
  const auto made = xcorr::FieldMatcher::make(device, {64, 48}, {.windows = {8}}, {}, places);
  require(!made.ok() || places.empty() || made.value().grid().area() == std::int64_t(places.size()),
          "there is a window at each place");
  return 0;
}
