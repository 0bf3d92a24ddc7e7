// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The assignment problem: who gets what, so that the sum of the costs is least. The Hungarian
// method (Kuhn 1955, Munkres 1957) in its form with shortest augmenting paths: rows are added one
// at a time, each by the cheapest chain of exchanges, measured in costs less the prices that rows
// and columns have so far. For r rows and c columns it takes r^2 (r + c) steps at most.
#pragma once

#include <span>
#include <vector>

namespace cudaxcorr {

/// `costs` has a row of `columns` (at least 1) finite costs for each who wants something. Gives
/// each row its column, or -1: a row stays alone at the cost `alone`, and does so rather than take
/// a column that costs more.
std::vector<int> assign(std::span<const double> costs, int columns, double alone);

}  // namespace cudaxcorr
