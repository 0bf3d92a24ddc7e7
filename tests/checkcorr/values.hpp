// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the stages read and write, as an array in host memory for each member of Buffers: filled
// for a case from its seed, or written by a variant.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cases.hpp"
#include "stages/variant.hpp"

namespace checkcorr {

using xcorr::MatchProblem;
using xcorr::Problem;
using xcorr::Stage;

/// A pointer of Buffers.
enum class Role : std::uint8_t {
  lefts,
  rights,
  templates,
  right_sums,
  filtered,
  products,
  window_sums,
  window_squares,
  product_error,
  scores,
  candidates,
  counts,
  peaks,
  peak_counts,
  averages,
  next_averages,
  blended,
  centred,
};
inline constexpr std::size_t role_count = 18;

const char* name_of(Role role);

/// What a stage reads and what it writes.
struct StageRoles {
  std::span<const Role> inputs, outputs;
};
StageRoles roles_of(Stage stage);

/// Whether the stage reads inputs of a case alone, and no other reads what it writes of them.
constexpr bool stands_alone(Stage stage) {
  return stage == Stage::right_sums || stage == Stage::blend;
}

/// Bytes of that array for the problem.
std::size_t bytes_of(Role role, const MatchProblem& problem);

using Values = std::array<std::vector<std::byte>, role_count>;

template <class T>
std::span<const T> view(const Values& values, Role role) {
  const auto& bytes = values[static_cast<std::size_t>(role)];
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

/// The square sum of a window, of the type that the problem's have.
double window_square_at(const Problem& p, const Values& values, std::size_t place);

/// Calls f.operator()<T>() with the type of pixels in memory.
template <class F>
auto with_pixels(ElementType type, F f) {
  switch (type) {
    case ElementType::u8:
      return f.template operator()<std::uint8_t>();
    case ElementType::i32:
      return f.template operator()<std::int32_t>();
    case ElementType::f64:
      return f.template operator()<double>();
    default:
      return f.template operator()<float>();
  }
}

/// The case's matrices and the sums of its rights. `centred`: f32 rights less their mean, as they
/// are when matching.
Values make_inputs(const Case& c, std::uint64_t seed, bool centred);

/// The weights of a case of the filter stage.
xcorr::FilterWeights weights_of(const Case& c, std::uint64_t seed);

/// Products in the problem's layout from dense ones; what lies between rows is spoiled.
std::vector<std::byte> spread_products(const MatchProblem& problem,
                                       const std::vector<std::byte>& dense);
/// Dense products from the problem's layout.
std::vector<std::byte> dense_products(const MatchProblem& problem,
                                      const std::vector<std::byte>& spread);

/// The same inputs with every element's sign taken away.
Values absolute(const Case& c, const Values& inputs);

}  // namespace checkcorr
