// SPDX-License-Identifier: LGPL-2.1-or-later
#include "values.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <random>
#include <string_view>

#include "stages/match/score.hpp"

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

/// Near flat and of low contrast by steps of one, like bytes.
std::uint16_t draw(Fill fill, bool flat, std::uint16_t, Random& random) {
  switch (flat ? Fill::constant : fill) {
    case Fill::extremes:
      return 65535;
    case Fill::reals:
    case Fill::flat_left:
    case Fill::flat_right:
    case Fill::copies:
      return static_cast<std::uint16_t>(random());
    case Fill::near_flat:
      return random() % 97 ? 65000 : 65001;
    default:
      return draw(fill, flat, std::uint8_t{}, random);
  }
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
  // Planes lie at a distance of all lefts: see problem_of().
  for_each_element<T>(lefts, p.left, p.left_pitch, p.left_stride, p.planes * p.total_lefts(),
                      [&](std::int64_t, int, int, T& v) {
                        v = draw(c.fill, c.fill == Fill::flat_left, T{}, random);
                      });
  const auto hush = [&](std::int64_t plane, T& v) {
    if constexpr (std::is_same_v<T, std::uint8_t>)
      if (plane > 0) v = static_cast<T>(128 + (v >> c.quiet) - (128 >> c.quiet));
  };
  if (c.quiet)
    for_each_element<T>(lefts, p.left, p.left_pitch, p.left_stride, p.planes * p.total_lefts(),
                        [&](std::int64_t m, int, int, T& v) { hush(m / p.total_lefts(), v); });
  if (const Rect& inner = c.picture; !inner.empty())
    for_each_element<T>(lefts, p.left, p.left_pitch, p.left_stride, p.planes * p.total_lefts(),
                        [&](std::int64_t, int x, int y, T& v) {
                          if (x < inner.x || y < inner.y || x >= inner.x + inner.width ||
                              y >= inner.y + inner.height)
                            v = 0;
                        });
  const int room_x = p.left.width - p.right.width + 1, room_y = p.left.height - p.right.height + 1;
  for_each_element<T>(
      rights, p.right, p.right_pitch, p.right_stride, p.planes * p.total_rights(),
      [&](std::int64_t m, int x, int y, T& v) {
        if (c.fill == Fill::copies) {
          const auto plane = m / p.total_rights(), r = m % p.total_rights();
          const auto from_x = x + (5 + 17 * r) % room_x, from_y = y + (3 + 7 * r) % room_y;
          v = reinterpret_cast<const T*>(lefts.data() + plane * p.left_plane + p.left_offset(r) +
                                         from_y * p.left_pitch)[from_x];
        } else {
          v = draw(c.fill, c.fill == Fill::flat_right, T{}, random);
          if (c.quiet) hush(m / p.total_rights(), v);
        }
      });
}

/// How often a pixel counts.
int weight_of(Mask mask, Size size, int x, int y, Random& random) {
  const double u = (2 * x + 1.0) / size.width - 1, v = (2 * y + 1.0) / size.height - 1;
  switch (mask) {
    case Mask::none:
      return true;
    case Mask::disc:
      return u * u + v * v <= 1;
    case Mask::ring:
      return std::min({x, y, size.width - 1 - x, size.height - 1 - y}) < 2;
    case Mask::noise:
      return random() & 1;
    case Mask::pixel:
      return x == size.width / 2 && y == size.height / 2;
    case Mask::weights:
      // Runs of the most in the middle, single ones round it, none at the corners.
      return static_cast<int>(std::clamp(510 * (1.2 - u * u - v * v), 0.0, 255.0));
  }
  return 1;
}

/// One byte a pixel of a right; empty without a mask.
std::vector<std::byte> mask_of(const Case& c) {
  std::vector<std::byte> mask;
  if (c.mask == Mask::none) return mask;
  Random random(hash(c.name, 0));
  for (int y = 0; y < c.right.height; ++y)
    for (int x = 0; x < c.right.width; ++x)
      mask.push_back(static_cast<std::byte>(weight_of(c.mask, c.right, x, y, random)));
  return mask;
}

/// Calls visit(matrix, element) for the elements of rights that do not count.
template <class T, class Visit>
void for_masked_out(const Problem& p, const std::vector<std::byte>& mask,
                    std::vector<std::byte>& rights, Visit visit) {
  if (mask.empty()) return;
  for_each_element<T>(rights, p.right, p.right_pitch, p.right_stride, p.planes * p.total_rights(),
                      [&](std::int64_t, int x, int y, T& v) {
                        if (mask[y * p.right.width + x] == std::byte{0}) visit(v);
                      });
}

/// Of `counted` pixels; the others are 0.
template <class T>
std::vector<xcorr::TemplateSums> template_sums_of(const Problem& p, std::int64_t counted,
                                                  const std::vector<std::byte>& mask,
                                                  std::vector<std::byte>& rights) {
  std::vector<xcorr::TemplateSums> sums(static_cast<std::size_t>(p.planes * p.total_rights()));
  const auto each = [&](auto visit) {
    for_each_element<T>(rights, p.right, p.right_pitch, p.right_stride, p.planes * p.total_rights(),
                        visit);
  };
  const auto times = [&](int x, int y) {
    return mask.empty() ? 1 : std::to_integer<int>(mask[y * p.right.width + x]);
  };
  each([&](std::int64_t m, int x, int y, T v) {
    sums[m].sum += times(x, y) * double(v);
    sums[m].squares += times(x, y) * double(v) * v;
  });
  const double n = static_cast<double>(counted);
  each([&](std::int64_t m, int x, int y, T v) {
    sums[m].n2_variance += times(x, y) * (v - sums[m].sum / n) * (v - sums[m].sum / n);
  });
  for (auto& s : sums) {
    s.n2_variance *= n;
    if (is_integral(p.type)) {
      const auto sum = static_cast<xcorr::Int128>(s.sum);
      s.n2_variance =
          static_cast<double>(counted * static_cast<xcorr::Int128>(s.squares) - sum * sum);
    }
  }
  return sums;
}

template <class T>
void append(std::vector<std::byte>& bytes, std::span<const T> values) {
  const auto* first = reinterpret_cast<const std::byte*>(values.data());
  bytes.assign(first, first + values.size_bytes());
}

}  // namespace

xcorr::Masking masking_of(const Case& c) {
  const std::vector<std::byte> mask = mask_of(c);
  xcorr::Masking masking;
  for (const std::byte weight : mask) masking.counted += std::to_integer<int>(weight);
  masking.weighted = c.mask == Mask::weights;
  return masking;
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
  const Problem p = problem_of(c);
  Values values;
  auto &lefts = values["lefts"], &rights = values["rights"];
  // Gaps between rows and matrices are 255 or NaN, so that they spoil any result that uses them.
  lefts.assign(static_cast<std::size_t>(xcorr::lefts_of(p).bytes), std::byte{0xff});
  rights.assign(static_cast<std::size_t>(xcorr::rights_of(p).bytes), std::byte{0xff});

  Random random(hash(c.name, seed));
  const std::vector<std::byte> mask = mask_of(c);
  const std::int64_t n = masking_of(c).pixels(c.right);
  with_pixels(c.type, [&]<class T>() {
    fill_sides<T>(c, p, random, lefts, rights);
    values["unmasked"] = rights;
    for_masked_out<T>(p, mask, rights, [](T& v) { v = 0; });
    append<xcorr::TemplateSums>(values["template_sums"], template_sums_of<T>(p, n, mask, rights));
  });
  values["templates"] = rights;
  values["mask"] = mask;
  std::vector<float> averages(static_cast<std::size_t>(p.right.area()));
  for (float& average : averages) average = static_cast<float>(uniform(random, 0, 255));
  append<float>(values["averages"], averages);
  if (centred && c.type == ElementType::f32) {
    const auto each = view<xcorr::TemplateSums>(values, "template_sums");
    for_each_element<float>(rights, p.right, p.right_pitch, p.right_stride,
                            p.planes * p.total_rights(), [&](std::int64_t m, int, int, float& v) {
                              v = static_cast<float>(v - each[m].sum / static_cast<double>(n));
                            });
    for_masked_out<float>(p, mask, rights, [](float& v) { v = 0; });
  }
  return values;
}

namespace {

/// Calls visit(dense, spread) for each row: where it begins in either layout.
template <class Visit>
void for_each_row(const Rows& rows, Visit visit) {
  for (std::int64_t i = 0; i < rows.count; ++i)
    for (std::int64_t y = 0; y < rows.height; ++y)
      visit((i * rows.height + y) * rows.width, i * rows.stride + y * rows.pitch);
}

}  // namespace

std::vector<std::byte> spread(const Rows& rows, const std::vector<std::byte>& dense) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(rows.count * rows.stride), std::byte{0xff});
  for_each_row(rows, [&](std::int64_t from, std::int64_t to) {
    std::copy_n(dense.begin() + from, rows.width, bytes.begin() + to);
  });
  return bytes;
}

std::vector<std::byte> dense(const Rows& rows, const std::vector<std::byte>& spread) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(rows.count * rows.height * rows.width));
  for_each_row(rows, [&](std::int64_t to, std::int64_t from) {
    std::copy_n(spread.begin() + from, rows.width, bytes.begin() + to);
  });
  return bytes;
}

Values absolute(const Case& c, const Values& inputs) {
  Values values = inputs;
  if (c.type == ElementType::u8 || c.type == ElementType::u16) return values;
  const Problem p = problem_of(c);
  with_pixels(c.type, [&]<class T>() {
    const auto positive = [](std::int64_t, int, int, T& v) { v = v < 0 ? -v : v; };
    for_each_element<T>(values["lefts"], p.left, p.left_pitch, p.left_stride,
                        p.planes * p.total_lefts(), positive);
    for_each_element<T>(values["rights"], p.right, p.right_pitch, p.right_stride,
                        p.planes * p.total_rights(), positive);
  });
  return values;
}

}  // namespace checkcorr
