// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What displacement fields of large images take of memory, which is bounded a pixel, and that
// what is made in bands to that end has no seams.
#include "../address_space.hpp"
#include "field_test.hpp"
#include "select/select.hpp"
#include "stages/fields/spline.hpp"
#include "stages/fields/window_search.hpp"

namespace api {
namespace {

constexpr Size large{16384, 16384};

FieldSettings passes(FieldSettings settings, std::vector<int> windows) {
  settings.windows = std::move(windows);
  settings.spacing = 32;
  settings.budget = {0, 0};
  return settings;
}

/// A matcher has all its memory from the start, but for what it does not touch.
TEST(FieldMemory, OfALargePair) {
  const Device device = open_device(Backend::cpu).value();
  FieldSettings deformed = passes(least_squares(1), {64, 32, 32});
  deformed.deformation = true;
  FieldSettings symmetric = deformed;
  symmetric.symmetric = true;
  const struct {
    const char* name;
    FieldSettings settings;
    double most;  ///< bytes per pixel: images 1 each, their splines 4, deformed ones 1, and vectors
  } rows[] = {
      {"one pass", passes({}, {32}), 3},
      {"three passes", passes({}, {64, 32, 32}), 4.5},
      {"least squares", passes(least_squares(1), {64, 32, 32}), 8.5},
      {"deformation", deformed, 10.5},
      {"symmetric deformation", symmetric, 14.5},
  };
  for (const auto& row : rows) {
    const std::size_t before = AddressSpace::in_use();
    FieldSettings settings = row.settings;
    settings.budget.max_memory = 4e9;
    const auto matcher = FieldMatcher::make(device, large, settings);
    ASSERT_TRUE(matcher.ok()) << row.name << ": " << matcher.status().message();
    const auto taken = static_cast<double>(AddressSpace::in_use() - before);
    EXPECT_LE(taken, row.most * static_cast<double>(large.area())) << row.name;
    EXPECT_LE(taken, 4e9) << row.name;
  }
}

/// Twice as many rows take no more.
TEST(FieldMemory, WorkspacesAreOfBands) {
  for (const Backend backend : {Backend::cpu, Backend::cuda}) {
    const Device device = backend == Backend::cpu ? Device{} : Device{backend, 0, 90, 132, "a GPU"};
    const auto bytes_of = [&]<class Stage>(const typename Stage::Problem& problem) {
      const auto variant = select_variant<Stage>(problem, device);
      return variant.ok() ? variant.value()->workspace_bytes(problem, device) : 0;
    };
    for (const auto& [type, grid] :
         {std::pair{ElementType::u8, false}, {ElementType::u8, true}, {ElementType::u16, false}}) {
      std::size_t window_search[2], spline[2];
      for (const int i : {0, 1}) {
        const Size size{large.width, large.height << i};
        const std::int64_t pitch = size.width * static_cast<std::int64_t>(size_of(type));
        stage::WindowSearch::Problem p{size, pitch, pitch};
        p.type = type;
        p.columns = size.width / 16 - 1;
        p.spacing = grid ? 16 : 0;
        p.count = p.columns * (size.height / 16 - 1);
        window_search[i] = bytes_of.template operator()<stage::WindowSearch>(p);
        spline[i] = bytes_of.template operator()<stage::Spline>({size, size.width});
      }
      EXPECT_EQ(window_search[0], window_search[1]) << name_of(backend);
      EXPECT_EQ(spline[0], spline[1]) << name_of(backend);
      EXPECT_LT(window_search[0], 5e8) << name_of(backend);
      EXPECT_LT(spline[0], 3e8) << name_of(backend);
    }
  }
}

TEST(FieldMemory, BandsOfSplinesHaveNoSeams) {
  const Size size{4200, 4100};  // more than a band
  const Bytes image = random_image<std::uint8_t>(size, 3);
  const auto coefficients_of = [&](int from) {
    const stage::Spline::Problem p{{size.width, size.height - from}, size.width};
    const auto* variant = select_variant<stage::Spline>(p, Device{}).value();
    std::vector<std::byte> workspace(variant->workspace_bytes(p, Device{}));
    std::vector<float> to(static_cast<std::size_t>(p.size.area()));
    const auto* pixels = image.data.data() + std::int64_t{from} * size.width;
    EXPECT_TRUE(
        variant->launch(p, Device{}, {{workspace.data(), {}}, pixels, to.data()}, nullptr).ok());
    return to;
  };
  constexpr int from = 3000, reach = SplineFilter::radius;  // a part of a single band
  const std::vector<float> all = coefficients_of(0), part = coefficients_of(from);
  const auto skipped = std::ptrdiff_t{reach} * size.width;
  EXPECT_TRUE(std::equal(part.begin() + skipped, part.end(),
                         all.begin() + std::ptrdiff_t{from} * size.width + skipped));
}

}  // namespace
}  // namespace api
