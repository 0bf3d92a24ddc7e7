// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Products of bytes by AMX, the matrix unit of Intel's servers since Sapphire Rapids: 16 times as
// many a clock as by vectors. Of two ways that which needs fewer products of tiles is taken.
#include "cpu/correlate/amx_across.hpp"
#include "cpu/correlate/amx_down.hpp"

namespace xcorr::cpu {
namespace amx {

#if XCORR_AMX
/// Linux gives a process the unit's registers when it asks for them.
bool is_there() {
  static const bool there = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned tiles_of_bytes = 3u << 24;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & tiles_of_bytes) != tiles_of_bytes)
      return false;
    constexpr int request_permission = 0x1023, tile_data = 18;
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  }();
  return there;
}

template <class Way>
void run(const stage::Correlate::Problem& problem, const stage::Correlate::Buffers& buffers) {
  const Problem& p = problem.correlate;
  const Layout layout(p);
  const SlotMemory memory(buffers.workspace, layout.bytes);
  const std::int64_t bands = ceil_div(p.shifts.height, layout.rows);
  parallel_slots(slot_count(), p.lefts * bands, [&](int slot, std::int64_t index) {
    const int left = static_cast<int>(index / bands);
    const int y = static_cast<int>(index % bands) * layout.rows;
    const Rect shifts{0, y, p.shifts.width, std::min(layout.rows, p.shifts.height - y)};
    Way piece(problem, buffers, layout, left, shifts, memory.of(slot));
    for (int x = 0; x < p.shifts.width; x += strip) {
      piece.read(x, std::min(strip, p.shifts.width - x));
      for (int r = 0; r < buffers.right_count; ++r) {
        const std::int64_t output = std::int64_t{left} * p.rights + buffers.first_right + r;
        const std::int64_t product = std::int64_t{left} * buffers.right_count + r;
        piece.run(right_of<std::uint8_t>(p, buffers.rights, p.right_of(output)),
                  static_cast<std::uint32_t*>(buffers.products) +
                      product * problem.products_stride() + y * problem.products_pitch());
      }
    }
  });
}
#else
bool is_there() { return false; }
#endif

Status launch([[maybe_unused]] const stage::Correlate::Problem& problem, const Device&,
              [[maybe_unused]] const stage::Correlate::Buffers& buffers, PlanState*) {
#if XCORR_AMX
  goes_down(problem.correlate.right) ? run<Down>(problem, buffers) : run<Across>(problem, buffers);
#endif
  return {};
}

std::size_t workspace(const stage::Correlate::Problem& problem, const Device&) {
  return SlotMemory::total(Layout(problem.correlate).bytes);
}

/// Against `fft`, as measured in 1080p: 2.9 ms and 4.5 for 64 x 64, which takes 79 products, 6.4
/// and 5.5 for 96 x 96, which takes 194.
bool wins(const Problem& p) {
  constexpr int most_products = 150;
  return p.type == ElementType::u8 &&
         std::min(products_across(p.right), products_down(p.right)) <= most_products;
}

constexpr Variant<stage::Correlate> variants[] = {
    {{.name = "amx",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::pitched_output, Feature::several_images,
                   Feature::partial_overlap}},
     {.launch = launch, .workspace = workspace, .extra = {.wins = wins}}},
};

}  // namespace amx

/// Nothing where the unit is not: on other processors there is no kernel of that name.
Family amx_family() { return amx::is_there() ? Family(amx::variants) : Family(); }

}  // namespace xcorr::cpu
