// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stages between the passes of a field, on the GPU: one thread per node of the grid.
#include "cuda/common/launch.cuh"
#include "stages/fields/predict.hpp"
#include "stages/fields/smooth_field.hpp"
#include "stages/fields/validate.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads_x = 32, threads_y = 4;

dim3 grid_of(Size nodes) {
  return dim3(ceil_div(nodes.width, threads_x), grid_extent(ceil_div(nodes.height, threads_y)));
}

/// Calls body(column, row) for the thread's nodes.
template <class Body>
__device__ void for_nodes(Size nodes, Body body) {
  const int column = blockIdx.x * threads_x + threadIdx.x;
  if (column >= nodes.width) return;
  for (int row = blockIdx.y * threads_y + threadIdx.y; row < nodes.height;
       row += gridDim.y * threads_y)
    body(column, row);
}

__global__ void __launch_bounds__(threads_x* threads_y, 4)
    validate(stage::Validate::Problem p, const FieldVector* vectors,
             const FieldNeighbours* neighbours, FieldVector* to) {
  for_nodes(p.grid, [&](int column, int row) {
    const std::int64_t at = std::int64_t{row} * p.grid.width + column;
    to[at] = validated(p.limits, vectors, p.grid, column, row,
                       p.explicit_places ? neighbours + at : nullptr);
  });
}

__global__ void __launch_bounds__(threads_x* threads_y)
    smooth(stage::SmoothField::Problem p, const FieldVector* vectors,
           const FieldNeighbours* neighbours, FieldVector* to) {
  for_nodes(p.grid, [&](int column, int row) {
    const std::int64_t at = std::int64_t{row} * p.grid.width + column;
    to[at] = p.bells.reach > 0 ? filled(p.bells, vectors, p.grid, column, row)
                               : smoothed(p.weight, vectors, p.grid, column, row,
                                          p.explicit_places ? neighbours + at : nullptr);
  });
}

__global__ void __launch_bounds__(threads_x* threads_y)
    predict(stage::Predict::Problem p, const FieldVector* vectors, const FieldStatus* nodes,
            const InterrogationWindow* explicit_windows, const FieldNeighbours* neighbours,
            InterrogationWindow* windows, FieldBend* bends) {
  for_nodes(p.to.count, [&](int column, int row) {
    const std::int64_t at = std::int64_t{row} * p.to.count.width + column;
    windows[at] = p.explicit_places
                      ? predicted(p, vectors, vectors[at], explicit_windows[at], neighbours[at])
                      : predicted(p, vectors, nodes[at], column, row);
    if (p.bent)
      bends[at] = p.explicit_places ? bend_of(vectors, vectors[at], neighbours[at])
                                    : bend_of(p, vectors, column, row);
  });
}

Status launch_validate(const stage::Validate::Problem& p, const Device&,
                       const stage::Validate::Buffers& b, PlanState*) {
  return enqueue("validate", validate, grid_of(p.grid), dim3(threads_x, threads_y), 0, b.stream, p,
                 b.vectors, b.neighbours, b.validated);
}

Status launch_smooth(const stage::SmoothField::Problem& p, const Device&,
                     const stage::SmoothField::Buffers& b, PlanState*) {
  return enqueue("smooth_field", smooth, grid_of(p.grid), dim3(threads_x, threads_y), 0, b.stream,
                 p, b.vectors, b.neighbours, b.smoothed);
}

Status launch_predict(const stage::Predict::Problem& p, const Device&,
                      const stage::Predict::Buffers& b, PlanState*) {
  return enqueue("predict", predict, grid_of(p.to.count), dim3(threads_x, threads_y), 0, b.stream,
                 p, b.vectors, b.nodes, b.explicit_windows, b.neighbours, b.windows, b.bends);
}

constexpr Variant<stage::Validate> validate_table[] = {
    {{.name = "validate", .backend = Backend::cuda}, {.launch = launch_validate}},
};
constexpr Variant<stage::SmoothField> smooth_table[] = {
    {{.name = "smooth_field", .backend = Backend::cuda}, {.launch = launch_smooth}},
};
constexpr Variant<stage::Predict> predict_table[] = {
    {{.name = "predict", .backend = Backend::cuda}, {.launch = launch_predict}},
};

}  // namespace

Family fields_family() { return Family(validate_table, smooth_table, predict_table); }

}  // namespace xcorr::cuda
