// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the filter stage: the convolution with all weights of the plane at once, in plain
// loops. Double holds the sums of u8 images exactly; the others are computed in long double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle/reference_methods.hpp"
#include "stages/image/filter.hpp"

namespace xcorr::cpu {
namespace {

using namespace plain;

template <class T>
long double filtered_at(const Matrix<T>& image, const FilterWeights& weights, int x, int y) {
  const AxisWeights &across = weights.across, &down = weights.down;
  long double sum = 0;
  for (int j = -down.radius; j <= down.radius; ++j)
    for (int i = -across.radius; i <= across.radius; ++i) {
      const int from_x = std::clamp(x - i, 0, image.size.width - 1);
      const int from_y = std::clamp(y - j, 0, image.size.height - 1);
      sum += static_cast<long double>(down.values[down.radius + j]) *
             across.values[across.radius + i] * image.at(from_x, from_y);
    }
  return sum;
}

template <class T>
T stored(long double sum) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(
        std::clamp<long double>(std::floor(sum + 0.5L), 0, std::numeric_limits<T>::max()));
  else
    return static_cast<T>(sum);
}

template <class T>
void filter_as(const stage::Filter::Problem& p, const stage::Filter::Buffers& b) {
  for (int i = 0; i < p.count; ++i) {
    const Matrix<T> image{static_cast<const std::byte*>(b.images) + i * p.stride, p.pitch, p.size};
    T* out = static_cast<T*>(b.filtered) + i * p.stride_out();
    for (int y = 0; y < p.region.height; ++y)
      for (int x = 0; x < p.region.width; ++x)
        out[y * p.pitch_out() + x] =
            stored<T>(filtered_at(image, *p.weights, p.region.x + x, p.region.y + y));
  }
}

Status filter(const stage::Filter::Problem& p, const Device&, const stage::Filter::Buffers& b,
              PlanState*) {
  if (p.type == ElementType::u8)
    filter_as<std::uint8_t>(p, b);
  else if (p.type == ElementType::u16)
    filter_as<std::uint16_t>(p, b);
  else if (p.type == ElementType::f32)
    filter_as<float>(p, b);
  else
    filter_as<double>(p, b);
  return {};
}

constexpr Variant<stage::Filter> table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::f64, Feature::several_images,
                   Feature::pitched_output}},
     {.launch = filter}},
};

}  // namespace

Family reference_filter_family() { return Family(table); }

}  // namespace xcorr::cpu
