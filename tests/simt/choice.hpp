// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which of several threads runs next.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "simt/execution.hpp"

namespace simt {

class Choice {
 public:
  Choice(Order order, std::uint64_t seed) : order_(order), state_(seed * 2 + 1) {}

  /// See set_order().
  static Choice from_environment() {
    const char* order = std::getenv("XCORR_SIMT_ORDER");
    const std::string name = order ? order : "ascending";
    if (name == "ascending") return {Order::ascending, 1};
    if (name == "descending") return {Order::descending, 1};
    if (name == "shuffled") return {Order::shuffled, 1};
    if (name.starts_with("shuffled:"))
      return {Order::shuffled, std::strtoull(&name[name.find(':') + 1], nullptr, 10)};
    std::fprintf(stderr, "simt: no order '%s' (XCORR_SIMT_ORDER)\n", order);
    std::abort();
  }

  /// The number of one of the bits that are set.
  int among(unsigned bits) {
    switch (order_) {
      case Order::ascending:
        return std::countr_zero(bits);
      case Order::descending:
        return 31 - std::countl_zero(bits);
      case Order::shuffled:
        break;
    }
    const int first = random() % 32;
    return (std::countr_zero(std::rotr(bits, first)) + first) % 32;
  }

 private:
  int random() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>(state_ >> 40);
  }

  Order order_;
  std::uint64_t state_;
};

}  // namespace simt
