// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stages between the passes of a field, on the CPU: one task per row of the grid.
#include "cpu/common/common.hpp"
#include "stages/fields/predict.hpp"
#include "stages/fields/smooth_field.hpp"
#include "stages/fields/validate.hpp"

namespace xcorr::cpu {
namespace {

Status validate(const stage::Validate::Problem& p, const Device&, const stage::Validate::Buffers& b,
                PlanState*) {
  parallel_for(0, p.grid.height, [&](int y) {
    for (int x = 0; x < p.grid.width; ++x)
      b.validated[std::int64_t{y} * p.grid.width + x] = validated(
          p.limits, b.vectors, p.grid, x, y,
          p.explicit_places ? b.neighbours + std::int64_t{y} * p.grid.width + x : nullptr);
  });
  return {};
}

Status smooth(const stage::SmoothField::Problem& p, const Device&,
              const stage::SmoothField::Buffers& b, PlanState*) {
  parallel_for(0, p.grid.height, [&](int y) {
    for (int x = 0; x < p.grid.width; ++x) {
      const std::int64_t at = std::int64_t{y} * p.grid.width + x;
      b.smoothed[at] = p.bells.reach > 0
                           ? filled(p.bells, b.vectors, p.grid, x, y)
                           : smoothed(p.weight, b.vectors, p.grid, x, y,
                                      p.explicit_places ? b.neighbours + at : nullptr);
    }
  });
  return {};
}

Status predict(const stage::Predict::Problem& p, const Device&, const stage::Predict::Buffers& b,
               PlanState*) {
  parallel_for(0, p.to.count.height, [&](int y) {
    for (int x = 0; x < p.to.count.width; ++x) {
      const std::int64_t at = std::int64_t{y} * p.to.count.width + x;
      b.windows[at] = p.explicit_places ? predicted(p, b.vectors, b.vectors[at],
                                                    b.explicit_windows[at], b.neighbours[at])
                                        : predicted(p, b.vectors, b.nodes[at], x, y);
      if (p.bent)
        b.bends[at] = p.explicit_places ? bend_of(b.vectors, b.vectors[at], b.neighbours[at])
                                        : bend_of(p, b.vectors, x, y);
    }
  });
  return {};
}

constexpr Variant<stage::Validate> validate_table[] = {
    {{.name = "validate", .backend = Backend::cpu}, {.launch = validate}},
};
constexpr Variant<stage::SmoothField> smooth_table[] = {
    {{.name = "smooth_field", .backend = Backend::cpu}, {.launch = smooth}},
};
constexpr Variant<stage::Predict> predict_table[] = {
    {{.name = "predict", .backend = Backend::cpu}, {.launch = predict}},
};

}  // namespace

Family fields_family() { return Family(validate_table, smooth_table, predict_table); }

}  // namespace xcorr::cpu
