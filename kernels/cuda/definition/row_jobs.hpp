// SPDX-License-Identifier: LGPL-2.1-or-later
//
// split-row (paper section 4.2.1, thesis 3.4.2): the rows of an overlap are split into jobs of a
// few rows, one for each worker. All overlaps of an output row have the same rows, but the output
// rows differ: over the whole output their row counts form a trapezoid. This file computes which
// job of which output row a worker does. Job number k of an output row is its rows from k *
// rows_per_job on, so the output rows that have a job k are adjacent, and their number falls by a
// constant from one k to the next, except at two points where the rectangle of shifts cuts the
// trapezoid. That leaves three runs of jobs, in each of which a worker's job is found in exact
// integers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <xcorr/correlate.hpp>

#include "stages/common/host_device.hpp"

namespace xcorr::cuda {

struct RowJob {
  int row;     ///< of the output
  int number;  ///< among the jobs of that row
};

/// Consecutive jobs from number `first_job` on, whose numbers of output rows form a trapezoid.
struct JobRun {
  int first_job = 0, jobs = 0;
  int first_row = 0, row_step = 0;  ///< of the first job, and the step from job to job
  int rows = 0, fewer = 0;          ///< of the first job, and how many fewer each next one has

  /// Rows of the first job and the last; of the second and the last but one; and so on.
  XCORR_HD constexpr int rows_of_two() const { return 2 * rows - fewer * (jobs - 1); }
  XCORR_HD constexpr std::int64_t workers() const { return std::int64_t{jobs} * rows_of_two() / 2; }
  /// The first job is paired with the last one, which gives pairs of equal length.
  XCORR_HD constexpr RowJob at(int worker) const {
    int job = worker / rows_of_two(), row = worker % rows_of_two();
    const int of_job = rows - job * fewer;
    if (row >= of_job) {
      row -= of_job;
      job = jobs - 1 - job;
    }
    return {first_row + job * row_step + row, first_job + job};
  }
};

/// Passed by value to the kernels.
struct RowJobs {
  static constexpr int max_runs = 3;
  JobRun runs[max_runs];
  int first_worker[max_runs] = {};  ///< of each run
  std::int64_t workers = 0;
  int rows_per_job = 0;  ///< 0: all; an output row has one job
  /// Whether results of several workers must be added.
  XCORR_HD constexpr bool split() const { return rows_per_job > 0; }

  XCORR_HD constexpr RowJob at(int worker) const {
    int run = 0;
    while (run + 1 < max_runs && worker >= first_worker[run + 1]) ++run;
    return runs[run].at(worker - first_worker[run]);
  }
};

enum class Distribution : std::uint8_t {
  none,       ///< one job per output row
  rectangle,  ///< each output row has as many workers as the one with the most jobs
  triangle,   ///< exactly the workers that have work
};

namespace row_jobs {

/// The most rows that any overlap has.
constexpr int longest_overlap(const Problem& p) {
  const int last = p.shifts.y + p.shifts.height - 1;
  return std::max(0, std::min({p.left.height, p.right.height, p.left.height - p.shifts.y,
                               p.right.height + last}));
}

/// Jobs [begin, end), between which the trapezoid's sides have no bend. At shift dy an overlap has
/// a row number n, of right.height + dy and left.height - dy, while both are more than n.
constexpr JobRun run_of(const Problem& p, int rows_per_job, int begin, int end) {
  const int n = begin * rows_per_job, last_shift = p.shifts.y + p.shifts.height - 1;
  const int first = std::max(p.shifts.y, n + 1 - p.right.height);
  const int last = std::min(last_shift, p.left.height - 1 - n);
  const bool begins_later = n + 1 - p.right.height > p.shifts.y;
  const bool ends_earlier = p.left.height - 1 - n < last_shift;
  return {begin,
          end - begin,
          first - p.shifts.y,
          begins_later ? rows_per_job : 0,
          last - first + 1,
          rows_per_job * (int{begins_later} + int{ends_earlier})};
}

/// The first job for which the trapezoid's side is that of the matrices, not that of the shifts,
/// when `slack` rows lie between the two.
constexpr int bend(int slack, int rows_per_job, int jobs) {
  return slack < 0 ? 0 : std::min(slack / rows_per_job + 1, jobs);
}

constexpr RowJobs in_order(const std::array<JobRun, RowJobs::max_runs>& runs, int rows_per_job) {
  RowJobs result;
  result.rows_per_job = rows_per_job;
  for (int i = 0; i < RowJobs::max_runs; ++i) {
    result.runs[i] = runs[i];
    result.first_worker[i] = static_cast<int>(result.workers);
    result.workers += runs[i].workers();
  }
  return result;
}

}  // namespace row_jobs

/// One job for each output row.
constexpr RowJobs whole_rows(int output_rows) {
  return row_jobs::in_order({JobRun{0, 1, 0, 0, output_rows, 0}, {}, {}}, 0);
}

/// Overlaps of at most rows_per_job rows are not split.
constexpr RowJobs split_rows(const Problem& p, Distribution distribution, int rows_per_job) {
  const int longest = row_jobs::longest_overlap(p);
  if (distribution == Distribution::none || longest <= rows_per_job)
    return whole_rows(p.shifts.height);
  const int jobs = (longest - 1) / rows_per_job + 1;
  if (distribution == Distribution::rectangle)
    return row_jobs::in_order({JobRun{0, jobs, 0, 0, p.shifts.height, 0}, {}, {}}, rows_per_job);
  const int begins = row_jobs::bend(p.shifts.y + p.right.height - 1, rows_per_job, jobs);
  const int ends = row_jobs::bend(p.left.height - p.shifts.y - p.shifts.height, rows_per_job, jobs);
  const int first = std::min(begins, ends), second = std::max(begins, ends);
  return row_jobs::in_order({row_jobs::run_of(p, rows_per_job, 0, first),
                             row_jobs::run_of(p, rows_per_job, first, second),
                             row_jobs::run_of(p, rows_per_job, second, jobs)},
                            rows_per_job);
}

}  // namespace xcorr::cuda
