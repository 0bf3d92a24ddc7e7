// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The assignment problem: pairs rows with columns so that the sum of the costs is minimal. The
// Hungarian method (Kuhn 1955, Munkres 1957) with shortest augmenting paths: rows are added one at
// a time, each by the cheapest chain of exchanges in reduced costs, which are the costs minus the
// prices of rows and columns so far. For r rows and c columns it takes at most r^2 (r + c) steps.
#pragma once

#include <span>
#include <vector>

namespace xcorr::follow {

/// `costs` has rows of `columns` (at least 1) finite costs. Returns the column of each row, or -1
/// for a row that is left alone, which costs `alone`; no row gets a column that costs more than
/// that.
std::vector<int> assign(std::span<const double> costs, int columns, double alone);

}  // namespace xcorr::follow
