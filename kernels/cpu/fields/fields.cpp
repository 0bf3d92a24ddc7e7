// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stages between the passes of a field, on the CPU.
#include "cpu/common/common.hpp"
#include "stages/fields/predict.hpp"
#include "stages/fields/smooth_field.hpp"
#include "stages/fields/validate.hpp"

namespace xcorr::cpu {
namespace {

/// Calls body(x, y, index) for each vector: those at places are one row, which is shared out, too.
template <class Body>
void for_vectors(Size grid, const Body& body) {
  parallel_for(std::int64_t{0}, grid.area(), [&](std::int64_t at) {
    body(static_cast<int>(at % grid.width), static_cast<int>(at / grid.width), at);
  });
}

Status validate(const stage::Validate::Problem& p, const Device&, const stage::Validate::Buffers& b,
                PlanState*) {
  for_vectors(p.grid, [&](int x, int y, std::int64_t at) {
    b.validated[at] = validated(p.limits, b.vectors, p.grid, x, y,
                                p.explicit_places ? b.neighbours + at : nullptr);
  });
  return {};
}

Status smooth(const stage::SmoothField::Problem& p, const Device&,
              const stage::SmoothField::Buffers& b, PlanState*) {
  for_vectors(p.grid, [&](int x, int y, std::int64_t at) {
    b.smoothed[at] = p.bells.reach > 0 ? filled(p.bells, b.vectors, p.grid, x, y)
                                       : smoothed(p.weight, b.vectors, p.grid, x, y,
                                                  p.explicit_places ? b.neighbours + at : nullptr);
  });
  return {};
}

Status predict(const stage::Predict::Problem& p, const Device&, const stage::Predict::Buffers& b,
               PlanState*) {
  for_vectors(p.to.count, [&](int x, int y, std::int64_t at) {
    b.windows[at] = p.explicit_places ? predicted(p, b.vectors, b.vectors[at],
                                                  b.explicit_windows[at], b.neighbours[at])
                                      : predicted(p, b.vectors, b.nodes[at], x, y);
    if (p.bent)
      b.bends[at] = p.explicit_places ? bend_of(b.vectors, b.vectors[at], b.neighbours[at])
                                      : bend_of(p, b.vectors, x, y);
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
