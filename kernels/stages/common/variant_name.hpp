// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Names of tunings, composed of their parameters at compile time, so that a name always matches its
// tuning. A name must be a static object, since variants point to its text.
#pragma once

#include <cstddef>

namespace xcorr {

struct VariantName {
  char text[48] = {};

  constexpr void add(const char* part) {
    std::size_t end = 0;
    while (text[end]) ++end;
    while (*part) text[end++] = *part++;
  }
  constexpr void add(int number) {
    char digits[12] = {};
    std::size_t first = sizeof digits - 1;
    do {
      digits[--first] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number);
    add(digits + first);
  }
  /// Appends a letter and its number, if `wanted`.
  constexpr void add_if(bool wanted, const char* letter, int number) {
    if (!wanted) return;
    add(letter);
    add(number);
  }
};

/// Concatenates texts and numbers.
template <class... Parts>
constexpr VariantName variant_name(Parts... parts) {
  VariantName name;
  (name.add(parts), ...);
  return name;
}

}  // namespace xcorr
