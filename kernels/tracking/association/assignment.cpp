// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/association/assignment.hpp"

#include <algorithm>
#include <limits>

namespace xcorr::follow {
namespace {

class Assignment {
 public:
  Assignment(std::span<const double> costs, int columns, double alone)
      : costs_(costs),
        columns_(columns),
        rows_(static_cast<int>(costs.size()) / columns),
        alone_(alone),
        row_price_(rows_),
        column_price_(columns_ + rows_),
        row_of_(columns_ + rows_, none) {}

  std::vector<int> solve() {
    for (int row = 0; row < rows_; ++row) add(row);
    std::vector<int> column_of(rows_, none);
    for (int column = 0; column < columns_; ++column)
      if (row_of_[column] != none) column_of[row_of_[column]] = column;
    return column_of;
  }

 private:
  static constexpr int none = -1;

  static constexpr double infinite = std::numeric_limits<double>::infinity();

  struct Reached {
    double cost = infinite;
    int before = none;  ///< the column given up by the row that takes this one
    bool final = false;
  };

  /// After the real columns there is a virtual one for each row, which only that takes, to stay
  /// alone: if it were of any, each row would first ask all those that are alone already.
  double cost(int row, int column) const {
    if (column >= columns_) return column - columns_ == row ? alone_ : infinite;
    return std::min(costs_[static_cast<std::size_t>(row) * columns_ + column], alone_ + 1);
  }

  /// Dijkstra's search from a new row to the nearest free column.
  void add(int start) {
    std::vector<Reached> reached(columns_ + rows_);
    int row = start, column = none;
    double so_far = 0;
    while (row != none) {
      column = next(reached, row, column, so_far);
      reached[column].final = true;
      so_far = reached[column].cost;
      row = row_of_[column];
    }
    reprice(start, reached, so_far);
    exchange(start, reached, column);
  }

  int next(std::vector<Reached>& reached, int row, int before, double so_far) const {
    int nearest = none;
    for (int column = 0; column < columns_ + rows_; ++column) {
      Reached& here = reached[column];
      if (here.final) continue;
      const double there = so_far + cost(row, column) - row_price_[row] - column_price_[column];
      if (there < here.cost) here = {there, before};
      if (nearest == none || here.cost < reached[nearest].cost) nearest = column;
    }
    return nearest;
  }

  /// Keeps all reduced costs non-negative, and zero along the path.
  void reprice(int start, const std::vector<Reached>& reached, double length) {
    row_price_[start] += length;
    for (int column = 0; column < columns_ + rows_; ++column) {
      if (!reached[column].final || row_of_[column] == none) continue;
      row_price_[row_of_[column]] += length - reached[column].cost;
      column_price_[column] -= length - reached[column].cost;
    }
  }

  void exchange(int start, const std::vector<Reached>& reached, int column) {
    while (column != none) {
      const int before = reached[column].before;
      row_of_[column] = before == none ? start : row_of_[before];
      column = before;
    }
  }

  std::span<const double> costs_;
  int columns_, rows_;
  double alone_;
  std::vector<double> row_price_, column_price_;
  std::vector<int> row_of_;  ///< by column
};

}  // namespace

std::vector<int> assign(std::span<const double> costs, int columns, double alone) {
  return Assignment(costs, columns, alone).solve();
}

}  // namespace xcorr::follow
