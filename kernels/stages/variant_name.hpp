// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Names of tunings, made of their numbers when the program is compiled, so that no name can belong
// to another tuning. A name must be a static object, since variants point to its text.
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
  /// A letter with its number, when there is anything to say.
  constexpr void add_if(bool wanted, const char* letter, int number) {
    if (!wanted) return;
    add(letter);
    add(number);
  }
};

/// Texts and numbers, one behind the other.
template <class... Parts>
constexpr VariantName variant_name(Parts... parts) {
  VariantName name;
  (name.add(parts), ...);
  return name;
}

}  // namespace xcorr
