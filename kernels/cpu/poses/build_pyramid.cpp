// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pyramids of templates on the CPU: once per template, and again after it has changed.
#include "stages/poses/build_pyramid.hpp"

#include "cpu/common/common.hpp"

namespace xcorr::cpu {
namespace {

template <class T>
void build(const stage::BuildPyramid::Problem& p, const stage::BuildPyramid::Buffers& b) {
  T* const pyramid = static_cast<T*>(b.pyramid);
  for (int level = 0; level <= p.pyramid.halvings; ++level) {
    const Size size = p.pyramid.rimmed_size_of(level);
    parallel_for(0, size.height, [&](int y) {
      T* const row = pyramid + p.pyramid.begin_of(level) + std::int64_t{y} * size.width;
      for (int x = 0; x < size.width; ++x)
        row[x] = stage::BuildPyramid::pixel<T>(p, b.pixels, pyramid, level, x, y);
    });
  }
}

Status launch(const stage::BuildPyramid::Problem& p, const Device&,
              const stage::BuildPyramid::Buffers& b, PlanState*) {
  const auto run = p.type == ElementType::u8    ? build<std::uint8_t>
                   : p.type == ElementType::u16 ? build<std::uint16_t>
                                                : build<float>;
  run(p, b);
  return {};
}

constexpr Variant<stage::BuildPyramid> table[] = {
    {{.name = "build_pyramid",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32}},
     {.launch = launch}},
};

}  // namespace

Family build_pyramid_family() { return Family(table); }

}  // namespace xcorr::cpu
