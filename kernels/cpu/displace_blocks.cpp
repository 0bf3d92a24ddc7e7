// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of windows of bytes on the CPU, of grids whose spacing divides the windows: these are
// squares of blocks, which neighbours share. Each block's products are summed once, and a window's
// are the sums of its blocks', exactly. With windows that overlap by half that is a quarter of the
// work. A tile of windows is a task; the surfaces of as many rows of blocks as windows are high are
// kept.
#include <array>

#include "cpu/common.hpp"
#include "cpu/displaced.hpp"
#include "cpu/window_sums.hpp"

namespace xcorr::cpu {
namespace displace_blocks {

constexpr int most_blocks = 8;  ///< along a side of a window

/// How a grid is divided, and the scratch memory of one slot.
struct Layout {
  SquareScratch square;
  int blocks;         ///< along a side of a window
  Size windows;       ///< of the grid
  int tile;           ///< windows along a side of a tile
  bool sums_of_tile;  ///< of the frame, for all of a tile; else for each window
  std::size_t surfaces, scores, sums, squares, of_sums, bytes;

  explicit Layout(const stage::Displace::Problem& p)
      : square(p.spacing, p.shifts()),
        blocks(p.window / p.spacing),
        windows{p.columns, p.count / p.columns},
        tile(std::clamp(512 / p.spacing, 4, 16)),
        sums_of_tile(p.spacing <= p.shifts()) {
    SlotParts parts{square.bytes};
    const int side = p.shifts() + (sums_of_tile ? (tile - 1) * p.spacing : 0);
    const auto places = static_cast<std::size_t>(side * side + SquareScratch::slack);
    surfaces = parts.add(sizeof(std::uint32_t) * square.sums * blocks * (tile + blocks - 1));
    scores = parts.add(sizeof(double) * square.sums);
    sums = parts.add(sizeof(std::uint32_t) * places);
    squares = parts.add(sizeof(std::uint32_t) * places);
    of_sums = parts.add(window_sums_slot(frame_windows(p, {0, 0, side, side}).correlate));
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

class Tile {
 public:
  Tile(const stage::Displace::Problem& p, const stage::Displace::Buffers& b, const Layout& layout,
       int number, std::byte* memory)
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
  std::uint32_t* numbers(std::size_t at) const {
    return reinterpret_cast<std::uint32_t*>(memory_ + at);
  }
  /// Of the rows of blocks the last ones are kept.
  std::uint32_t* surface(int column, int row) const {
    const int place = row % l_.blocks * (l_.tile + l_.blocks - 1) + column;
    return numbers(l_.surfaces) + place * l_.square.sums;
  }
  std::int64_t number_of(int column, int row) const {
    return std::int64_t{tile_.y + row} * p_.columns + tile_.x + column;
  }

  /// A block as a window. Where it is not inside the frame no window that has it is.
  FieldWindow block(int column, int row) const {
    FieldWindow window = b_.windows[number_of(0, 0)];
    window.x += column * p_.spacing;
    window.y += row * p_.spacing;
    return window;
  }

  void multiply_block(int column, int row) const {
    const FieldWindow window = block(column, row);
    const SearchedPlaces places(window, p_.frame, p_.spacing, p_.range);
    if (!places.empty())
      multiply_square(l_.square, memory_, {b_.reference + window.y * p_.pitch + window.x, p_.pitch},
                      {b_.frame, p_.frame_pitch}, places, surface(column, row));
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
  FrameSums sums(const Rect& places) const {
    return sums_at(p_, b_, places, memory_ + l_.of_sums, numbers(l_.sums), numbers(l_.squares));
  }

  void measure(int column, int row) const {
    const std::int64_t i = number_of(column, row);
    auto* const scores = reinterpret_cast<double*>(memory_ + l_.scores);
    const auto score = [&](const FieldWindow& window, const SearchedPlaces& places) {
      const FieldSums reference =
          sums_of_square({b_.reference + window.y * p_.pitch + window.x, p_.pitch}, p_.window);
      if (!(reference.n2_variance() > 0)) return false;
      std::array<const std::uint32_t*, most_blocks * most_blocks> products;
      const int count = l_.blocks * l_.blocks;
      for (int k = 0; k < count; ++k)
        products[k] = surface(column + k % l_.blocks, row + k / l_.blocks);
      const Rect inside = places.inside();
      const FrameSums frame =
          l_.sums_of_tile ? frame_.at(inside.x - left_, inside.y - top_) : sums(inside);
      score_places(l_.square, reference, {products.data(), static_cast<std::size_t>(count)}, frame,
                   places, scores);
      return true;
    };
    const FieldVector vector = measured(p_, b_, i, scores, l_.square.columns, score);
    if (p_.is_last()) b_.vectors[i] = vector;
  }

  const stage::Displace::Problem& p_;
  const stage::Displace::Buffers& b_;
  const Layout& l_;
  const Rect tile_;
  std::byte* const memory_;
  int left_ = 0, top_ = 0;  ///< of the first place of the tile
  FrameSums frame_;
};

bool supports(const stage::Displace::Problem& p, const Device&) {
  return p.spacing >= FieldLimits::least_window && p.window % p.spacing == 0 &&
         p.window / p.spacing > 1 && p.window / p.spacing <= most_blocks;
}

std::size_t workspace(const stage::Displace::Problem& p, const Device&) {
  return SlotMemory::total(Layout(p).bytes);
}

Status launch(const stage::Displace::Problem& p, const Device&, const stage::Displace::Buffers& b,
              PlanState*) {
  const Layout layout(p);
  const SlotMemory memory(b.workspace, layout.bytes);
  parallel_slots(slot_count(), layout.tiles().area(), [&](int slot, std::int64_t number) {
    Tile(p, b, layout, static_cast<int>(number), memory.of(slot)).run();
  });
  return {};
}

constexpr Variant<stage::Displace> table[] = {
    {{"displace_blocks", Backend::cpu, {Feature::u8, Feature::ensemble}, 1},
     supports,
     launch,
     workspace},
};

}  // namespace displace_blocks

Family displace_blocks_family() { return Family(displace_blocks::table); }

}  // namespace xcorr::cpu
