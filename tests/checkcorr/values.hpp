// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the stages read and write, as arrays in host memory: filled for a case from its seed, or
// written by a variant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cases.hpp"
#include "select/match_problem.hpp"
#include "stages/image/filter.hpp"

namespace checkcorr {

using xcorr::MatchProblem;
using xcorr::Problem;

/// By the names that stages give their arguments (Stage::arguments).
using Values = std::map<std::string, std::vector<std::byte>>;

template <class T>
std::span<const T> view(const Values& values, const std::string& name) {
  const auto found = values.find(name);
  if (found == values.end()) return {};
  return {reinterpret_cast<const T*>(found->second.data()), found->second.size() / sizeof(T)};
}

/// Calls f.operator()<T>() with the type of pixels in memory.
template <class F>
auto with_pixels(ElementType type, F f) {
  switch (type) {
    case ElementType::u8:
      return f.template operator()<std::uint8_t>();
    case ElementType::u16:
      return f.template operator()<std::uint16_t>();
    case ElementType::i32:
      return f.template operator()<std::int32_t>();
    case ElementType::f64:
      return f.template operator()<double>();
    default:
      return f.template operator()<float>();
  }
}

/// The case's matrices (`lefts`, `rights`, `templates`), the sums of its rights, running averages,
/// and its mask, where rights and templates are 0; `unmasked` are the templates before. `centred`:
/// f32 rights less their mean, as they are when matching.
Values make_inputs(const Case& c, std::uint64_t seed, bool centred);

/// The pixels of a case's rights that count.
xcorr::Masking masking_of(const Case& c);

/// The weights of a case of the filter stage.
xcorr::FilterWeights weights_of(const Case& c, std::uint64_t seed);

/// The layout of the rows of some surfaces, which need not be dense, in bytes.
struct Rows {
  std::int64_t width, height, count, pitch, stride;
};
/// Surfaces in that layout from dense ones; gaps between rows are filled with garbage.
std::vector<std::byte> spread(const Rows& rows, const std::vector<std::byte>& dense);
/// Dense surfaces from that layout.
std::vector<std::byte> dense(const Rows& rows, const std::vector<std::byte>& spread);

/// The absolute values of a correlation's inputs.
Values absolute(const Case& c, const Values& inputs);

}  // namespace checkcorr
