// SPDX-License-Identifier: LGPL-2.1-or-later
//
// warp-per-overlap (paper section 4.4, thesis 3.5): a warp computes one overlap: its lanes divide
// the elements among themselves, and shuffles add their sums. It has 32 times the threads of
// overlap_wise: it wins where there are so few overlaps that one thread each leaves the GPU idle,
// at the cost of reusing nothing loaded. Split into jobs of some rows (split-row, see
// row_jobs.hpp), even one overlap has several warps.
//
// warp_per_overlap[.simple].wW[jR[t]]: W overlaps (warps) per block. Lanes take the overlap's
// elements row after row as if they were one line; `simple`: each lane has its own columns. R rows
// per job; t: triangle, exactly the jobs needed; else rectangle, equally many for each overlap.
#include "cuda/common/launch.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/definition/overlap_sum.cuh"
#include "cuda/definition/partial_sums.cuh"
#include "cuda/definition/row_jobs.hpp"
#include "stages/common/variant_name.hpp"

namespace xcorr::cuda {
namespace {

enum Indexing { serial, simple };

template <class E, Indexing indexing>
__global__ void warp_per_overlap(Problem p, const std::byte* lefts, const std::byte* rights,
                                 int first_right, int right_count,
                                 const __grid_constant__ RowJobs jobs, typename E::Out* out) {
  const int lane = threadIdx.x, x = blockIdx.x * blockDim.y + threadIdx.y;
  if (x >= p.shifts.width) return;
  for (int o = blockIdx.z; o < p.lefts * right_count; o += gridDim.z) {
    const Pair pair = pair_of(p, o, first_right, right_count);
    for (int worker = blockIdx.y; worker < jobs.workers; worker += gridDim.y) {
      const RowJob job = jobs.at(worker);
      const int dx = p.shifts.x + x, dy = p.shifts.y + job.row;
      Span rows = overlap(dy, p.left.height, p.right.height);
      if (jobs.split()) {
        rows.begin += job.number * jobs.rows_per_job;
        rows.end = min(rows.end, rows.begin + jobs.rows_per_job);
        if (rows.begin >= rows.end) continue;
      }
      const Overlap<E> elements = overlap_of<E>(p, lefts, rights, pair, dx, dy, rows);
      const auto sum = warp_sum(indexing == serial ? serial_sum<32>(elements, lane)
                                                   : column_sum<32>(elements, lane));
      if (lane > 0) continue;
      auto& element = out[(std::int64_t{o} * p.shifts.height + job.row) * p.shifts.width + x];
      if (jobs.split())
        add_part(&element, sum);
      else
        element = sum;
    }
  }
}

struct Tuning {
  int warps;  ///< per block
  Indexing indexing;
  Distribution jobs = Distribution::none;
  int rows_per_job = 1;
};

template <Tuning t>
Status launch(const stage::Correlate::Problem& problem, const Device&,
              const stage::Correlate::Buffers& b, PlanState*) {
  const Problem& p = problem.correlate;
  const RowJobs jobs = split_rows(p, t.jobs, t.rows_per_job);
  if (jobs.split())
    if (Status s = clear_products(p, b); !s.ok()) return s;

  return with_element(p, [&]<class E>() {
    const dim3 grid(ceil_div(p.shifts.width, t.warps), grid_extent(jobs.workers),
                    grid_extent(std::int64_t{p.lefts} * b.right_count));
    return enqueue("warp_per_overlap", warp_per_overlap<E, t.indexing>, grid, dim3(32, t.warps), 0,
                   b.stream, p, static_cast<const std::byte*>(b.lefts),
                   static_cast<const std::byte*>(b.rights), b.first_right, b.right_count, jobs,
                   static_cast<typename E::Out*>(b.products));
  });
}

bool supports(const stage::Correlate::Problem& p, const Device&) { return supports_definition(p); }

template <Tuning t>
constexpr VariantName name = [] {
  VariantName made =
      variant_name("warp_per_overlap", t.indexing == simple ? ".simple" : "", ".w", t.warps);
  made.add_if(t.jobs != Distribution::none, "j", t.rows_per_job);
  made.add(t.jobs == Distribution::triangle ? "t" : "");
  return made;
}();

template <Tuning t>
constexpr Variant<stage::Correlate> variant() {
  return {{.name = name<t>.text, .backend = Backend::cuda, .features = definition_features},
          {.supports = supports, .launch = launch<t>}};
}

constexpr auto rectangle = Distribution::rectangle, triangle = Distribution::triangle;

constexpr Variant<stage::Correlate> table[] = {
    variant<Tuning{.warps = 8, .indexing = serial}>(),
    variant<Tuning{.warps = 8, .indexing = simple}>(),
    variant<Tuning{.warps = 8, .indexing = serial, .jobs = rectangle, .rows_per_job = 8}>(),
    variant<Tuning{.warps = 8, .indexing = simple, .jobs = triangle, .rows_per_job = 16}>(),
};

}  // namespace

Family warp_per_overlap_family() { return Family(table); }

}  // namespace xcorr::cuda
