// SPDX-License-Identifier: LGPL-2.1-or-later
#include "values.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <random>
#include <string_view>

#include "stages/filter_weights.hpp"

namespace checkcorr {
namespace {

using Random = std::mt19937_64;

/// Products of two pass 32 bits, and sums of 2,047 products stay within 63.
constexpr std::int32_t widest_i32 = 1 << 26;

std::uint64_t hash(std::string_view text, std::uint64_t seed) {
  for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return seed;
}

double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

/// One element of a fill. `flat`: of a matrix that the fill makes constant.
template <std::floating_point T>
T draw(Fill fill, bool flat, T, Random& random) {
  if (flat) return 3;
  switch (fill) {
    case Fill::integers:
      return static_cast<T>(static_cast<int>(random() % 31) - 15);
    case Fill::wide:
      return static_cast<T>(
          std::ldexp(uniform(random, -1, 1), static_cast<int>(random() % 21) - 10));
    case Fill::binary:
      return static_cast<T>(random() & 1);
    case Fill::constant:
      return 3;
    case Fill::extremes:
      return 255;
    case Fill::zeros:
      return 0;
    case Fill::near_flat:
      return static_cast<T>(0.5 + 1e-9 * std::normal_distribution<double>()(random));
    case Fill::low_contrast:
      return static_cast<T>(100 + 0.01 * std::normal_distribution<double>()(random));
    default:
      return static_cast<T>(uniform(random, -1, 1));
  }
}

/// The fills that cases of i32 use.
std::int32_t draw(Fill fill, bool flat, std::int32_t, Random& random) {
  if (flat || fill == Fill::constant) return 100;
  if (fill == Fill::integers) return static_cast<std::int32_t>(random() % 31) - 15;
  if (fill == Fill::extremes) return -widest_i32;
  return static_cast<std::int32_t>(random() % (2 * widest_i32 + 1)) - widest_i32;
}

std::uint8_t draw(Fill fill, bool flat, std::uint8_t, Random& random) {
  if (flat) return 100;
  switch (fill) {
    case Fill::integers:
      return random() % 16;
    case Fill::binary:
      return random() & 1;
    case Fill::constant:
      return 100;
    case Fill::extremes:
      return 255;
    case Fill::zeros:
      return 0;
    case Fill::near_flat:
      return random() % 97 ? 128 : 129;
    case Fill::low_contrast:
      return 199 + (random() & 1);
    default:
      return random() & 255;
  }
}

/// The bytes from the first element of the first matrix to the last element of the last one.
std::size_t extent(Size size, std::int64_t pitch, std::int64_t stride, std::int64_t count,
                   ElementType type) {
  return static_cast<std::size_t>((count - 1) * stride + (size.height - 1) * pitch) +
         size.width * xcorr::size_of(type);
}

/// Calls visit(matrix, x, y, element) for every element of one side.
template <class T, class Visit>
void for_each_element(std::vector<std::byte>& bytes, Size size, std::int64_t pitch,
                      std::int64_t stride, std::int64_t count, Visit visit) {
  for (std::int64_t m = 0; m < count; ++m)
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x)
        visit(m, x, y, reinterpret_cast<T*>(bytes.data() + m * stride + y * pitch)[x]);
}

template <class T>
void fill_sides(const Case& c, const Problem& p, Random& random, std::vector<std::byte>& lefts,
                std::vector<std::byte>& rights) {
  for_each_element<T>(lefts, p.left, p.left_pitch, p.left_stride, p.lefts,
                      [&](std::int64_t, int, int, T& v) {
                        v = draw(c.fill, c.fill == Fill::flat_left, T{}, random);
                      });
  const int room_x = p.left.width - p.right.width + 1, room_y = p.left.height - p.right.height + 1;
  for_each_element<T>(
      rights, p.right, p.right_pitch, p.right_stride, p.total_rights(),
      [&](std::int64_t m, int x, int y, T& v) {
        if (c.fill == Fill::copies) {
          const auto from_x = x + (5 + 17 * m) % room_x, from_y = y + (3 + 7 * m) % room_y;
          v = reinterpret_cast<const T*>(lefts.data() + from_y * p.left_pitch)[from_x];
        } else {
          v = draw(c.fill, c.fill == Fill::flat_right, T{}, random);
        }
      });
}

template <class T>
std::vector<xcorr::RightSums> right_sums_of(const Problem& p, std::vector<std::byte>& rights) {
  std::vector<xcorr::RightSums> sums(static_cast<std::size_t>(p.total_rights()));
  const auto each = [&](auto visit) {
    for_each_element<T>(rights, p.right, p.right_pitch, p.right_stride, p.total_rights(), visit);
  };
  each([&](std::int64_t m, int, int, T v) {
    sums[m].sum += v;
    sums[m].squares += double(v) * v;
  });
  const double n = static_cast<double>(p.right.area());
  each([&](std::int64_t m, int, int, T v) {
    sums[m].deviation += (v - sums[m].sum / n) * (v - sums[m].sum / n);
  });
  for (auto& s : sums) {
    s.deviation *= n;
    if (p.type == ElementType::u8) {
      const auto sum = static_cast<std::int64_t>(s.sum);
      s.deviation =
          static_cast<double>(p.right.area() * static_cast<std::int64_t>(s.squares) - sum * sum);
    }
  }
  return sums;
}

template <class T>
void append(std::vector<std::byte>& bytes, std::span<const T> values) {
  const auto* first = reinterpret_cast<const std::byte*>(values.data());
  bytes.assign(first, first + values.size_bytes());
}

constexpr Role filter_in[] = {Role::lefts};
constexpr Role filter_out[] = {Role::filtered};
constexpr Role correlate_in[] = {Role::lefts, Role::rights};
constexpr Role correlate_out[] = {Role::products};
constexpr Role window_sums_in[] = {Role::lefts};
constexpr Role window_sums_out[] = {Role::window_sums, Role::window_squares};
constexpr Role normalise_in[] = {Role::products, Role::window_sums, Role::window_squares,
                                 Role::right_sums, Role::product_error};
constexpr Role normalise_out[] = {Role::scores};
constexpr Role peaks_in[] = {Role::scores, Role::right_sums};
constexpr Role peaks_out[] = {Role::candidates, Role::counts};
constexpr Role refine_in[] = {Role::lefts,          Role::templates,  Role::window_sums,
                              Role::window_squares, Role::right_sums, Role::candidates,
                              Role::counts};
constexpr Role refine_out[] = {Role::peaks, Role::peak_counts};
constexpr Role search_in[] = {Role::lefts,       Role::rights,         Role::templates,
                              Role::window_sums, Role::window_squares, Role::right_sums};
constexpr Role search_out[] = {Role::candidates, Role::counts, Role::peaks, Role::peak_counts};
constexpr Role right_sums_in[] = {Role::templates};
constexpr Role right_sums_out[] = {Role::right_sums, Role::centred};
constexpr Role blend_in[] = {Role::lefts, Role::averages};
constexpr Role blend_out[] = {Role::next_averages, Role::blended};

}  // namespace

const char* name_of(Role role) {
  constexpr const char* names[role_count] = {
      "lefts",       "rights",         "templates",     "right_sums",    "filtered",   "products",
      "window_sums", "window_squares", "product_error", "scores",        "candidates", "counts",
      "peaks",       "peak_counts",    "averages",      "next_averages", "blended",    "centred"};
  return names[static_cast<std::size_t>(role)];
}

StageRoles roles_of(Stage stage) {
  switch (stage) {
    case Stage::filter:
      return {filter_in, filter_out};
    case Stage::correlate:
      return {correlate_in, correlate_out};
    case Stage::window_sums:
      return {window_sums_in, window_sums_out};
    case Stage::normalise:
      return {normalise_in, normalise_out};
    case Stage::peaks:
      return {peaks_in, peaks_out};
    case Stage::refine:
      return {refine_in, refine_out};
    case Stage::search:
      return {search_in, search_out};
    case Stage::right_sums:
      return {right_sums_in, right_sums_out};
    case Stage::blend:
      return {blend_in, blend_out};
  }
  return {};
}

std::size_t bytes_of(Role role, const MatchProblem& problem) {
  const Problem& p = problem.correlate;
  const auto shifts = static_cast<std::size_t>(p.shifts.size().area());
  const auto outputs = static_cast<std::size_t>(p.outputs());
  const auto rights = static_cast<std::size_t>(p.total_rights());
  const auto slots = rights * static_cast<std::size_t>(problem.max_peaks);
  switch (role) {
    case Role::lefts:
      return extent(p.left, p.left_pitch, p.left_stride, p.lefts, p.type);
    case Role::rights:
    case Role::templates:
      return extent(p.right, p.right_pitch, p.right_stride, p.total_rights(), p.type);
    case Role::right_sums:
      return rights * sizeof(xcorr::RightSums);
    case Role::filtered:
    case Role::products:
      return outputs * static_cast<std::size_t>(problem.products_stride()) *
             xcorr::size_of(problem.products);
    case Role::window_sums:
      return shifts * (p.type == ElementType::u8 ? 4 : 8);
    case Role::window_squares:
      return shifts * (p.type == ElementType::u8 ? xcorr::size_of(p.output_type()) : 8);
    case Role::product_error:
      return sizeof(float);
    case Role::scores:
      return outputs * shifts * sizeof(float);
    case Role::candidates:
      return slots * sizeof(xcorr::Candidate);
    case Role::counts:
    case Role::peak_counts:
      return rights * sizeof(std::uint32_t);
    case Role::peaks:
      return slots * sizeof(xcorr::RefinedPeak);
    case Role::averages:
    case Role::next_averages:
      return rights * static_cast<std::size_t>(p.right.area()) * sizeof(float);
    case Role::blended:
      return rights * static_cast<std::size_t>(p.right.area()) * xcorr::size_of(p.type);
    case Role::centred:
      return p.type == ElementType::f32 ? bytes_of(Role::rights, problem) : 0;
  }
  return 0;
}

double window_square_at(const Problem& p, const Values& values, std::size_t place) {
  if (p.type != ElementType::u8) return view<double>(values, Role::window_squares)[place];
  return p.output_type() == ElementType::u64
             ? static_cast<double>(view<std::uint64_t>(values, Role::window_squares)[place])
             : view<std::uint32_t>(values, Role::window_squares)[place];
}

xcorr::FilterWeights weights_of(const Case& c, std::uint64_t seed) {
  Random random(hash(c.name, seed));
  const auto axis = [&](int radius) {
    if (c.sigma > 0) return xcorr::gaussian_weights(c.sigma).value();
    xcorr::AxisWeights weights{radius, {}};
    // Some negative, and so large together that bytes are clamped at both ends.
    for (int i = 0; i < weights.count(); ++i)
      weights.values[i] = uniform(random, -0.5, 1) * 3 / weights.count();
    return weights;
  };
  const xcorr::AxisWeights across = axis(c.radius_x), down = axis(c.radius_y);
  return xcorr::filter_weights(c.type, across, down, c.sums).value();
}

Values make_inputs(const Case& c, std::uint64_t seed, bool centred) {
  const MatchProblem problem{.correlate = problem_of(c)};
  const Problem& p = problem.correlate;
  Values values;
  auto& lefts = values[static_cast<std::size_t>(Role::lefts)];
  auto& rights = values[static_cast<std::size_t>(Role::rights)];
  auto& sums = values[static_cast<std::size_t>(Role::right_sums)];
  // What lies between rows and matrices spoils any result that it gets into: 255, or NaN.
  lefts.assign(bytes_of(Role::lefts, problem), std::byte{0xff});
  rights.assign(bytes_of(Role::rights, problem), std::byte{0xff});

  Random random(hash(c.name, seed));
  with_pixels(c.type, [&]<class T>() {
    fill_sides<T>(c, p, random, lefts, rights);
    append<xcorr::RightSums>(sums, right_sums_of<T>(p, rights));
  });
  values[static_cast<std::size_t>(Role::templates)] = rights;
  std::vector<float> averages(bytes_of(Role::averages, problem) / sizeof(float));
  for (float& average : averages) average = static_cast<float>(uniform(random, 0, 255));
  append<float>(values[static_cast<std::size_t>(Role::averages)], averages);
  if (centred && c.type == ElementType::f32) {
    const auto each = view<xcorr::RightSums>(values, Role::right_sums);
    for_each_element<float>(rights, p.right, p.right_pitch, p.right_stride, p.total_rights(),
                            [&](std::int64_t m, int, int, float& v) {
                              v = static_cast<float>(v - each[m].sum / double(p.right.area()));
                            });
  }
  return values;
}

namespace {

/// Calls visit(dense, spread, bytes) for each row of products: where it lies in either layout.
template <class Visit>
void for_each_product_row(const MatchProblem& problem, Visit visit) {
  const Rect shifts = problem.correlate.shifts;
  const auto element = static_cast<std::int64_t>(xcorr::size_of(problem.products));
  for (std::int64_t output = 0; output < problem.correlate.outputs(); ++output)
    for (int y = 0; y < shifts.height; ++y)
      visit((output * shifts.height + y) * shifts.width * element,
            (output * problem.products_stride() + y * problem.products_pitch()) * element,
            shifts.width * element);
}

}  // namespace

std::vector<std::byte> spread_products(const MatchProblem& problem,
                                       const std::vector<std::byte>& dense) {
  std::vector<std::byte> spread(bytes_of(Role::products, problem), std::byte{0xff});
  for_each_product_row(problem, [&](std::int64_t from, std::int64_t to, std::int64_t bytes) {
    std::copy_n(dense.begin() + from, bytes, spread.begin() + to);
  });
  return spread;
}

std::vector<std::byte> dense_products(const MatchProblem& problem,
                                      const std::vector<std::byte>& spread) {
  const Problem& p = problem.correlate;
  std::vector<std::byte> dense(static_cast<std::size_t>(p.outputs() * p.shifts.size().area()) *
                               xcorr::size_of(problem.products));
  for_each_product_row(problem, [&](std::int64_t to, std::int64_t from, std::int64_t bytes) {
    std::copy_n(spread.begin() + from, bytes, dense.begin() + to);
  });
  return dense;
}

Values absolute(const Case& c, const Values& inputs) {
  Values values = inputs;
  if (c.type == ElementType::u8) return values;
  const Problem p = problem_of(c);
  with_pixels(c.type, [&]<class T>() {
    const auto positive = [](std::int64_t, int, int, T& v) { v = v < 0 ? -v : v; };
    for_each_element<T>(values[static_cast<std::size_t>(Role::lefts)], p.left, p.left_pitch,
                        p.left_stride, p.lefts, positive);
    for_each_element<T>(values[static_cast<std::size_t>(Role::rights)], p.right, p.right_pitch,
                        p.right_stride, p.total_rights(), positive);
  });
  return values;
}

}  // namespace checkcorr
