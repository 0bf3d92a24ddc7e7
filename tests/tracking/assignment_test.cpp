// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The assignment problem against exhaustive search.
#include "tracking/association/assignment.hpp"

#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace xcorr::follow {
namespace {

struct Problem {
  int rows, columns;
  double alone;
  std::vector<double> costs;

  double cost(int row, int column) const {
    return column < 0 ? alone : costs[row * columns + column];
  }
};

double least_cost(const Problem& problem, int row, std::vector<bool>& taken) {
  if (row == problem.rows) return 0;
  double least = problem.alone + least_cost(problem, row + 1, taken);
  for (int column = 0; column < problem.columns; ++column) {
    if (taken[column]) continue;
    taken[column] = true;
    least = std::min(least, problem.cost(row, column) + least_cost(problem, row + 1, taken));
    taken[column] = false;
  }
  return least;
}

Problem random_problem(std::mt19937& random) {
  Problem problem{static_cast<int>(random() % 6 + 1),
                  static_cast<int>(random() % 6 + 1),
                  static_cast<double>(random() % 12),
                  {}};
  // Few values, so that many solutions are equally good.
  for (int i = 0; i < problem.rows * problem.columns; ++i)
    problem.costs.push_back(static_cast<double>(random() % 10));
  return problem;
}

TEST(Assignment, IsAsCheapAsTheBestOfAll) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    const Problem problem = random_problem(random);
    const auto chosen = assign(problem.costs, problem.columns, problem.alone);
    ASSERT_EQ(chosen.size(), problem.rows);
    double cost = 0;
    std::multiset<int> columns;
    for (int row = 0; row < problem.rows; ++row) {
      cost += problem.cost(row, chosen[row]);
      if (chosen[row] >= 0) columns.insert(chosen[row]);
    }
    for (int column : columns) ASSERT_EQ(columns.count(column), 1) << "round " << round;
    std::vector<bool> taken(problem.columns);
    ASSERT_DOUBLE_EQ(cost, least_cost(problem, 0, taken)) << "round " << round;
  }
}

TEST(Assignment, GivesWayWhereThatIsCheaperInAll) {
  // Both rows prefer the first column, but the second row has no alternative.
  EXPECT_EQ(assign(std::vector<double>{1, 2, 1, 9}, 2, 10), (std::vector{1, 0}));
}

TEST(Assignment, RatherAloneThanDear) {
  EXPECT_EQ(assign(std::vector<double>{5}, 1, 4), std::vector{-1});
  EXPECT_EQ(assign(std::vector<double>{5, 3}, 2, 4), std::vector{1});
  EXPECT_EQ(assign(std::vector<double>{1, 1, 1}, 1, 4).size(), 3);
}

TEST(Assignment, OfNobody) { EXPECT_TRUE(assign({}, 3, 1).empty()); }

}  // namespace
}  // namespace xcorr::follow
