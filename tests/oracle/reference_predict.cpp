// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the stage predict, in long double.
#include "stages/fields/predict.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace xcorr::cpu {
namespace {

using Wide = long double;

/// One component on the nodes of a grid.
struct Surface {
  const stage::Predict::Problem& p;
  const FieldVector* vectors;
  float FieldVector::*member;

  Wide at(int x, int y) const {
    x = std::clamp(x, 0, p.from.count.width - 1);
    y = std::clamp(y, 0, p.from.count.height - 1);
    return vectors[y * p.from.count.width + x].*member;
  }
  Wide between(Wide u, Wide v) const {
    const int x = static_cast<int>(u), y = static_cast<int>(v);
    Wide sum = 0;
    for (int i = 0; i < 4; ++i)
      sum +=
          at(x + i % 2, y + i / 2) * std::abs(1 - i % 2 - (u - x)) * std::abs(1 - i / 2 - (v - y));
    return sum;
  }
};

void move_halfway(const stage::Predict::Problem& p, InterrogationWindow& w) {
  const int x = std::clamp(w.x - static_cast<int>(std::floor(w.dx / 2 + 0.5F)), 0,
                           p.frame.width - p.to.window);
  const int y = std::clamp(w.y - static_cast<int>(std::floor(w.dy / 2 + 0.5F)), 0,
                           p.frame.height - p.to.window);
  w.node_x = static_cast<float>(w.x - x);
  w.node_y = static_cast<float>(w.y - y);
  w.x = x;
  w.y = y;
}

/// How slopes change; the window's own ones, where it has any.
class Bending {
 public:
  Bending(const FieldVector& own, InterrogationWindow& window) {
    if (!known(own)) return;
    window.dx_by_x = own.dx_by_x;
    window.dx_by_y = own.dx_by_y;
    window.dy_by_x = own.dy_by_x;
    window.dy_by_y = own.dy_by_y;
  }
  static bool known(const FieldVector& v) { return v.status == FieldStatus::ok; }

  /// Of the change of all slopes along x and y the share of a difference of two vectors'.
  void add(const FieldVector& from, const FieldVector& to, Wide by_x, Wide by_y) {
    const Wide xx = Wide(to.dx_by_x) - from.dx_by_x, xy = Wide(to.dx_by_y) - from.dx_by_y;
    const Wide yx = Wide(to.dy_by_x) - from.dy_by_x, yy = Wide(to.dy_by_y) - from.dy_by_y;
    of_[0] += by_x * xx;
    of_[1] += (by_x * xy + by_y * xx) / 2;
    of_[2] += by_y * xy;
    of_[3] += by_x * yx;
    of_[4] += (by_x * yy + by_y * yx) / 2;
    of_[5] += by_y * yy;
  }
  FieldBend result() const {
    const auto cut = [](Wide value) { return static_cast<float>(value); };
    return {cut(of_[0]), cut(of_[1]), cut(of_[2]), cut(of_[3]), cut(of_[4]), cut(of_[5])};
  }

 private:
  Wide of_[6] = {};
};

/// Of a grid: of the nodes on both sides, or of one of them and the node itself.
FieldBend bend_on_grid(const stage::Predict::Problem& p, const FieldVector* vectors, int at,
                       InterrogationWindow& window) {
  Bending bending(vectors[at], window);
  const int column = at % p.from.count.width, row = at / p.from.count.width;
  for (const bool down : {false, true}) {
    const int place = down ? row : column, step = down ? p.from.count.width : 1;
    const int last = (down ? p.from.count.height : p.from.count.width) - 1;
    std::vector<int> nodes;
    if (place > 0 && Bending::known(vectors[at - step])) nodes.push_back(-1);
    if (place < last && Bending::known(vectors[at + step])) nodes.push_back(1);
    if (nodes.size() == 1 && Bending::known(vectors[at])) nodes.push_back(0);
    if (nodes.size() < 2) continue;
    const Wide weight = 1.0L / ((nodes[1] - nodes[0]) * p.from.spacing);
    bending.add(vectors[at + nodes[0] * step], vectors[at + nodes[1] * step], down ? 0 : weight,
                down ? weight : 0);
  }
  return bending.result();
}

void predict_listed(const stage::Predict::Problem& p, const stage::Predict::Buffers& b) {
  for (int i = 0; i < p.to.count.area(); ++i) {
    InterrogationWindow w = b.explicit_windows[i];
    w.dx = b.vectors[i].dx;
    w.dy = b.vectors[i].dy;
    const auto slope = [&](float FieldVector::*member, const auto& weights) {
      Wide sum = 0;
      for (int k = 0; k < FieldNeighbours::most; ++k)
        if (const int node = b.neighbours[i].node[k]; node >= 0)
          sum += Wide{weights[k]} * (Wide{b.vectors[node].*member} - b.vectors[i].*member);
      return static_cast<float>(sum);
    };
    w.dx_by_x = slope(&FieldVector::dx, b.neighbours[i].by_x);
    w.dx_by_y = slope(&FieldVector::dx, b.neighbours[i].by_y);
    w.dy_by_x = slope(&FieldVector::dy, b.neighbours[i].by_x);
    w.dy_by_y = slope(&FieldVector::dy, b.neighbours[i].by_y);
    if (p.bent) {
      Bending bending(b.vectors[i], w);
      for (int k = 0; Bending::known(b.vectors[i]) && k < FieldNeighbours::most; ++k)
        if (const int node = b.neighbours[i].node[k]; node >= 0 && Bending::known(b.vectors[node]))
          bending.add(b.vectors[i], b.vectors[node], b.neighbours[i].by_x[k],
                      b.neighbours[i].by_y[k]);
      b.bends[i] = bending.result();
    }
    if (p.symmetric) move_halfway(p, w);
    b.windows[i] = w;
  }
}

Status predict(const stage::Predict::Problem& p, const Device&, const stage::Predict::Buffers& b,
               PlanState*) {
  if (p.explicit_places) {
    predict_listed(p, b);
    return {};
  }
  const auto place = [](int to, int to_window, int from, int from_window, int spacing, int count) {
    const Wide nodes = (to + to_window / 2.0L - from - from_window / 2.0L) / spacing;
    return std::clamp<Wide>(nodes, 0, count - 1);
  };
  for (int i = 0; i < p.to.count.area(); ++i) {
    InterrogationWindow w;
    w.x = p.to.left + i % p.to.count.width * p.to.spacing;
    w.y = p.to.top + i / p.to.count.width * p.to.spacing;
    w.status = b.nodes[i];
    const Wide u =
        place(w.x, p.to.window, p.from.left, p.from.window, p.from.spacing, p.from.count.width);
    const Wide v =
        place(w.y, p.to.window, p.from.top, p.from.window, p.from.spacing, p.from.count.height);
    const Surface dx{p, b.vectors, &FieldVector::dx}, dy{p, b.vectors, &FieldVector::dy};
    w.dx = static_cast<float>(dx.between(u, v));
    w.dy = static_cast<float>(dy.between(u, v));
    if (p.from.count.width >= 3 && p.from.count.height >= 3) {
      const int x = std::clamp(static_cast<int>(u + 0.5L), 1, p.from.count.width - 2);
      const int y = std::clamp(static_cast<int>(v + 0.5L), 1, p.from.count.height - 2);
      const auto slope = [&](const Surface& s, int across, int down) {
        // Of nodes past the grid's border the smoothed value is that of nodes repeated.
        Wide before = 0, after = 0;
        for (int k = -1; k <= 1; ++k) {
          const Wide weight = k == 0 ? 0.5L : 0.25L;
          for (int m = -1; m <= 1; ++m) {
            const Wide both = weight * (m == 0 ? 0.5L : 0.25L);
            before += both * s.at(x - across + k, y - down + m);
            after += both * s.at(x + across + k, y + down + m);
          }
        }
        return static_cast<float>((after - before) / (2 * p.from.spacing));
      };
      w.dx_by_x = slope(dx, 1, 0);
      w.dx_by_y = slope(dx, 0, 1);
      w.dy_by_x = slope(dy, 1, 0);
      w.dy_by_y = slope(dy, 0, 1);
    }
    if (p.bent) b.bends[i] = bend_on_grid(p, b.vectors, i, w);
    if (p.deformed) {
      const auto outside = [&](int corner, Wide moved, int length) {
        const Wide center = corner + (p.to.window - 1) / 2.0L;
        const Wide from = p.symmetric ? center - moved / 2 : center, to = from + moved;
        return std::min(from, to) < 0 || std::max(from, to) > length - 1;
      };
      if (w.status == FieldStatus::ok &&
          (outside(w.x, w.dx, p.frame.width) || outside(w.y, w.dy, p.frame.height)))
        w.status = FieldStatus::out_of_range;
      std::swap(w.dx, w.deformed_dx);
      std::swap(w.dy, w.deformed_dy);
      w.x += p.margin;
      w.y += p.margin;
      w.node_x -= static_cast<float>(p.margin);
      w.node_y -= static_cast<float>(p.margin);
    } else if (p.symmetric) {
      move_halfway(p, w);
    }
    b.windows[i] = w;
  }
  return {};
}

constexpr Variant<stage::Predict> predict_table[] = {
    {{.name = "reference", .backend = Backend::cpu}, {.launch = predict}},
};

}  // namespace

Family reference_predict_family() { return Family(predict_table); }

}  // namespace xcorr::cpu
