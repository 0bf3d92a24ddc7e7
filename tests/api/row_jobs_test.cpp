// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How rows of overlaps are distributed over workers: each job of each output row goes to exactly
// one, for every position of the shifts relative to the matrices.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <utility>

#include "cuda/definition/row_jobs.hpp"

namespace xcorr::cuda {
namespace {

int rows_of_overlap(const Problem& p, int row) {
  const int dy = p.shifts.y + row;
  return std::min(p.right.height, p.left.height - dy) - std::max(0, -dy);
}

/// How often each job that has work is done.
std::map<std::pair<int, int>, int> jobs_done(const Problem& p, const RowJobs& jobs) {
  std::map<std::pair<int, int>, int> done;
  for (int worker = 0; worker < jobs.workers; ++worker) {
    const RowJob job = jobs.at(worker);
    EXPECT_GE(job.row, 0);
    EXPECT_LT(job.row, p.shifts.height);
    if (job.number * jobs.rows_per_job < rows_of_overlap(p, job.row)) ++done[{job.row, job.number}];
  }
  return done;
}

void check(const Problem& p, Distribution distribution, int rows_per_job) {
  const RowJobs jobs = split_rows(p, distribution, rows_per_job);
  if (!jobs.split()) {
    EXPECT_EQ(jobs.workers, p.shifts.height);
    return;
  }
  std::int64_t wanted = 0, most = 0;
  const auto done = jobs_done(p, jobs);
  for (int row = 0; row < p.shifts.height; ++row) {
    const std::int64_t of_row =
        (std::max(0, rows_of_overlap(p, row)) + rows_per_job - 1) / rows_per_job;
    for (int number = 0; number < of_row; ++number) {
      const auto found = done.find({row, number});
      EXPECT_TRUE(found != done.end() && found->second == 1) << "row " << row << " job " << number;
    }
    wanted += of_row;
    most = std::max(most, of_row);
  }
  EXPECT_GT(most, 1);
  EXPECT_EQ(std::int64_t(done.size()), wanted);
  EXPECT_EQ(jobs.workers, distribution == Distribution::triangle ? wanted : most * p.shifts.height);
}

TEST(RowJobs, EveryJobHasOneWorker) {
  int problems = 0;
  for (const int left : {1, 2, 5, 8, 13})
    for (const int right : {1, 2, 5, 8, 13})
      for (int y = -right - 2; y <= left + 1; ++y)
        for (int height = 1; height <= left + right + 3; ++height)
          for (int rows_per_job = 1; rows_per_job <= 5; ++rows_per_job) {
            Problem p;
            p.left = {3, left};
            p.right = {2, right};
            p.shifts = {-1, y, 4, height};
            SCOPED_TRACE(testing::Message() << left << " rows, " << right << " rows, shifts from "
                                            << y << ", " << height << ", " << rows_per_job);
            for (const auto d :
                 {Distribution::none, Distribution::rectangle, Distribution::triangle})
              check(p, d, rows_per_job);
            ++problems;
            if (HasFailure()) return;
          }
  std::printf("%d problems\n", problems);
}

TEST(RowJobs, ThePapersTriangle) {
  Problem p;
  p.left = p.right = {4, 4};
  p.shifts = full_shifts(p.left, p.right);
  EXPECT_EQ(split_rows(p, Distribution::triangle, 1).workers, 16);
  EXPECT_EQ(split_rows(p, Distribution::triangle, 2).workers, 7 + 3);
  EXPECT_EQ(split_rows(p, Distribution::rectangle, 1).workers, 28);
  EXPECT_EQ(split_rows(p, Distribution::none, 1).workers, 7);
  EXPECT_EQ(split_rows(p, Distribution::triangle, 4).workers, 7);
}

}  // namespace
}  // namespace xcorr::cuda
