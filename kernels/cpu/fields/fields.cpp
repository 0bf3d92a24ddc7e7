// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What becomes of a field between its passes, on the CPU: a row of the grid a task.
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
      b.smoothed[at] = p.filled ? filled(p.weight, b.vectors, p.grid, x, y)
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
    {{"validate", Backend::cpu, {}}, supports_all, validate},
};
constexpr Variant<stage::SmoothField> smooth_table[] = {
    {{"smooth_field", Backend::cpu, {}}, supports_all, smooth},
};
constexpr Variant<stage::Predict> predict_table[] = {
    {{"predict", Backend::cpu, {}}, supports_all, predict},
};

}  // namespace

Family fields_family() { return Family(validate_table, smooth_table, predict_table); }

}  // namespace xcorr::cpu
