// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What every target has: the function that gets an input, the input read as numbers and text, and
// require(), which ends the program when something that must hold does not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

/// libFuzzer's entry into a target; replay.cpp calls it too.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

/// Past the end there are zeros.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return rest_.empty(); }

  std::string take(std::size_t count) {
    std::string bytes(rest_.substr(0, count));
    rest_.remove_prefix(bytes.size());
    return bytes;
  }
  template <class Number>
  Number number() {
    Number value = {};
    const std::string bytes = take(sizeof value);
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  /// Both ends included.
  int between(int low, int high) {
    const unsigned range = static_cast<unsigned>(high - low) + 1;
    const unsigned value = range <= 256 ? number<std::uint8_t>() : number<std::uint32_t>();
    return low + static_cast<int>(value % range);
  }
  bool flag() { return number<std::uint8_t>() & 1; }
  /// One time in eight anything, else in that range.
  int mostly_between(int low, int high) {
    return between(0, 7) == 7 ? number<int>() : between(low, high);
  }
  template <class Item, std::size_t count>
  const Item& one_of(const Item (&items)[count]) {
    return items[between(0, count - 1)];
  }
  /// A length and as many bytes.
  std::string text() { return take(number<std::uint8_t>()); }

 private:
  std::string_view rest_;
};

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}
