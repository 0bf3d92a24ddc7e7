// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of windows on the CPU, of grids whose spacing divides the windows: these are squares of
// blocks, which neighbours share. Each block's products are summed once, and a window's are the
// sums of its blocks', of integers exactly. With windows that overlap by half that is a
// quarter of the work. A tile of windows is a task; the surfaces of as many rows of blocks as
// windows are high are kept.
#include <array>
#include <type_traits>

#include "cpu/common/common.hpp"
#include "cpu/fields/window_search_bytes.hpp"
#include "cpu/fields/window_search_u16_f32.hpp"

namespace xcorr::cpu {
namespace window_search_blocks {

constexpr int most_blocks = 8;  ///< along a side of a window

/// How a grid is divided, and the scratch memory of one slot. Squares: ByteSquares or
/// U16F32Squares.
template <class Squares>
struct Layout {
  Squares square;
  int blocks;         ///< along a side of a window
  Size windows;       ///< of the grid
  int tile;           ///< windows along a side of a tile
  bool sums_of_tile;  ///< of the frame, for all of a tile; else for each window
  std::size_t surfaces, scores, of_sums, bytes;

  explicit Layout(const stage::WindowSearch::Problem& p)
      : square(p, p.spacing),
        blocks(p.window / p.spacing),
        windows{p.columns, p.count / p.columns},
        tile(std::clamp(512 / p.spacing, 4, 16)),
        sums_of_tile(p.spacing <= p.shifts()) {
    SlotParts parts{square.bytes()};
    const int side = p.shifts() + (sums_of_tile ? (tile - 1) * p.spacing : 0);
    surfaces =
        parts.add(sizeof(typename Squares::Number) * square.sums() * blocks * (tile + blocks - 1));
    scores = parts.add(sizeof(double) * square.sums());
    of_sums = parts.add(Squares::frame_sums_bytes(p, {side, side}));
    bytes = parts.bytes;
  }
  Size tiles() const {
    return {static_cast<int>(ceil_div(windows.width, tile)),
            static_cast<int>(ceil_div(windows.height, tile))};
  }
  /// The windows of a tile.
  Rect tile_at(int number) const {
    const int x = number % tiles().width * tile, y = number / tiles().width * tile;
    return {x, y, std::min(tile, windows.width - x), std::min(tile, windows.height - y)};
  }
};

template <class Squares>
class Tile {
 public:
  Tile(const stage::WindowSearch::Problem& p, const stage::WindowSearch::Buffers& b,
       const Layout<Squares>& layout, int number, std::byte* memory)
      : p_(p), b_(b), l_(layout), tile_(layout.tile_at(number)), memory_(memory) {}

  void run() {
    if (l_.sums_of_tile) sum_tile();
    for (int row = 0; row < tile_.height + l_.blocks - 1; ++row) {
      for (int column = 0; column < tile_.width + l_.blocks - 1; ++column)
        multiply_block(column, row);
      const int above = row - (l_.blocks - 1);
      for (int column = 0; above >= 0 && column < tile_.width; ++column) measure(column, above);
    }
  }

 private:
  using Number = typename Squares::Number;

  /// Of the rows of blocks the last ones are kept.
  Number* surface(int column, int row) const {
    const int place = row % l_.blocks * (l_.tile + l_.blocks - 1) + column;
    return reinterpret_cast<Number*>(memory_ + l_.surfaces) + place * l_.square.sums();
  }
  std::int64_t number_of(int column, int row) const {
    return std::int64_t{tile_.y + row} * p_.columns + tile_.x + column;
  }

  /// A block as a window. Where it is not inside the frame no window that has it is.
  InterrogationWindow block(int column, int row) const {
    InterrogationWindow window = b_.windows[number_of(0, 0)];
    window.x += column * p_.spacing;
    window.y += row * p_.spacing;
    return window;
  }

  void multiply_block(int column, int row) const {
    const InterrogationWindow window = block(column, row);
    const SearchedPlaces places(window, p_.frame, p_.spacing, p_.range);
    if (!places.empty()) l_.square.multiply(p_, b_, window, places, memory_, surface(column, row));
  }

  /// The sums of the frame's windows at all places of the tile.
  void sum_tile() {
    const auto inside = [&](int column, int row) {
      return SearchedPlaces(block(column, row), p_.frame, p_.window, p_.range);
    };
    const SearchedPlaces first = inside(0, 0), last = inside(tile_.width - 1, tile_.height - 1);
    left_ = first.left + first.from_x;
    top_ = first.top + first.from_y;
    const Rect places{left_, top_, last.left + last.until_x - left_,
                      last.top + last.until_y - top_};
    if (!places.empty()) frame_ = sums(places);
  }
  FrameSums<Number> sums(const Rect& places) const {
    return Squares::frame_sums(p_, b_, places, memory_ + l_.of_sums);
  }

  void measure(int column, int row) const {
    const std::int64_t i = number_of(column, row);
    auto* const scores = reinterpret_cast<double*>(memory_ + l_.scores);
    const auto score = [&](const InterrogationWindow& window, const SearchedPlaces& places) {
      std::array<const Number*, most_blocks * most_blocks> products;
      const int count = l_.blocks * l_.blocks;
      for (int k = 0; k < count; ++k)
        products[k] = surface(column + k % l_.blocks, row + k / l_.blocks);
      const Rect inside = places.inside();
      const FrameSums frame =
          l_.sums_of_tile ? frame_.at(inside.x - left_, inside.y - top_) : sums(inside);
      return l_.square.score(p_, b_, window, {products.data(), static_cast<std::size_t>(count)},
                             frame, places, scores);
    };
    const FieldVector vector = measured(p_, b_, i, scores, l_.square.columns(), score);
    if (p_.is_last()) b_.vectors[i] = vector;
  }

  const stage::WindowSearch::Problem& p_;
  const stage::WindowSearch::Buffers& b_;
  const Layout<Squares>& l_;
  const Rect tile_;
  std::byte* const memory_;
  int left_ = 0, top_ = 0;  ///< of the first place of the tile
  FrameSums<Number> frame_;
};

bool supports(const stage::WindowSearch::Problem& p, const Device&) {
  return p.spacing >= FieldLimits::least_window && p.window % p.spacing == 0 &&
         p.window / p.spacing > 1 && p.window / p.spacing <= most_blocks;
}

/// Calls visit(Squares) with those of the problem's type.
template <class Visit>
auto with_squares(const stage::WindowSearch::Problem& p, const Visit& visit) {
  return p.type == ElementType::u8    ? visit(std::type_identity<ByteSquares>())
         : p.type == ElementType::u16 ? visit(std::type_identity<U16F32Squares<std::uint16_t>>())
                                      : visit(std::type_identity<U16F32Squares<float>>());
}

std::size_t workspace(const stage::WindowSearch::Problem& p, const Device&) {
  return with_squares(p, [&]<class Squares>(std::type_identity<Squares>) {
    return SlotMemory::total(Layout<Squares>(p).bytes);
  });
}

Status launch(const stage::WindowSearch::Problem& p, const Device&,
              const stage::WindowSearch::Buffers& b, PlanState*) {
  with_squares(p, [&]<class Squares>(std::type_identity<Squares>) {
    const Layout<Squares> layout(p);
    const SlotMemory memory(b.workspace, layout.bytes);
    parallel_slots(slot_count(), layout.tiles().area(), [&](int slot, std::int64_t number) {
      Tile<Squares>(p, b, layout, static_cast<int>(number), memory.of(slot)).run();
    });
  });
  return {};
}

constexpr Variant<stage::WindowSearch> table[] = {
    {{.name = "window_search_blocks",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::ensemble},
      .rank = 1},
     {.supports = supports, .launch = launch, .workspace = workspace}},
};

}  // namespace window_search_blocks

Family window_search_blocks_family() { return Family(window_search_blocks::table); }

}  // namespace xcorr::cpu
