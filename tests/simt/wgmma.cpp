// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Products in flight, by thread, and how a warp computes those that are due: see simt/wgmma.hpp.
// The layouts are those of the PTX manual, wgmma.m64nNk32 and its sparse m64nNk64, b by columns,
// without swizzling; what the manual leaves open of the latter was found by probing.
#include "simt/wgmma.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "simt/sanitizer.hpp"

namespace simt {
namespace {

/// Their memory is kept: that of threads which come and go would take a third of a test's time.
struct Products {
  std::uint64_t thread = 0;  ///< whose; of an earlier one nothing is left to do
  std::vector<AsyncProduct> all;
  std::vector<std::size_t> groups;  ///< where each that is closed ends
};

Products& products_of_this_thread() {
  static std::array<Products, 1024> all;
  Products& products = all[(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x];
  if (products.thread != thread_number()) {
    products.thread = thread_number();
    products.all.clear();
    products.groups.clear();
  }
  return products;
}

constexpr int max_columns = 256;

/// Of a sparse row's i-th stored byte, its place among four neighbours. `of`: a lane's part.
template <class F>
int place_of(F of, int row, int i) {
  const int lane = row % 8 * 4 + i / 16 * 2 + row / 8, four = i % 16 / 2;
  const unsigned places = of(lane).places >> 4 * four & 15, first = places & 3,
                 second = places >> 2;
  if (first >= second)
    report(of(lane).where, "multiply_sparse_async: places %u and %u of row %d", first, second, row);
  return static_cast<int>(i % 2 ? second : first);
}

/// `of`: a lane's part.
template <class F>
void multiply(F of) {
  const AsyncProduct& first = of(0);
  for (int l = 1; l < 32; ++l)
    if (of(l).b != first.b || of(l).along_k != first.along_k || of(l).across != first.across)
      report(of(l).where, "multiply_async: lane %d has another right than lane 0", l);
  const auto whole = [](auto value) { return reinterpret_cast<std::uintptr_t>(value) % 16 == 0; };
  if (!whole(first.b) || first.along_k % 16 || first.across % 16)
    report(first.where, "multiply_async: a right at %p, by %d and %d, not multiples of 16",
           static_cast<const void*>(first.b), first.along_k, first.across);

  std::uint8_t stored[16][32];
  for (int l = 0; l < 32; ++l)
    for (int half = 0; half < 2; ++half) {
      const int k = 16 * half + 4 * (l % 4);
      std::memcpy(&stored[l / 4][k], &of(l).a[2 * half], 4);
      std::memcpy(&stored[l / 4 + 8][k], &of(l).a[2 * half + 1], 4);
    }
  const int depth = first.sparse ? 64 : 32;
  std::uint8_t a[16][64] = {};
  for (int row = 0; row < 16; ++row)
    for (int i = 0; i < 32; ++i)
      a[row][first.sparse ? i / 2 * 4 + place_of(of, row, i) : i] = stored[row][i];

  std::uint8_t b[max_columns][64];  // of each column the bytes of k
  for (int n = 0; n < first.columns / 8; ++n)
    for (int part = 0; part < depth / 16; ++part) {
      const std::uint8_t* const core = first.b + n * first.across + part * first.along_k;
      check_range(const_cast<std::uint8_t*>(core), 128, "multiply_async");
      for (int i = 0; i < 8; ++i) std::memcpy(&b[8 * n + i][16 * part], core + 16 * i, 16);
    }
  for (int l = 0; l < 32; ++l)
    for (int i = 0; i < first.columns / 2; ++i) {
      const std::uint8_t* const row = a[l / 4 + i / 2 % 2 * 8];
      const std::uint8_t* const column = b[8 * (i / 4) + 2 * (l % 4) + i % 2];
      std::uint32_t sum = 0;
      for (int begin = 0; begin < depth; begin += 32)
        for (int k = begin; k < begin + 32; ++k) sum += std::uint32_t{row[k]} * column[k];
      of(l).c[i] = sum + (first.add ? of(l).c[i] : 0);
    }
}

struct Due {
  std::span<const AsyncProduct> products;
  Where where;
};

void complete_products(void* const* payloads, unsigned) {
  const auto of = [&](int l) -> Due& { return *static_cast<Due*>(payloads[l]); };
  for (int l = 1; l < 32; ++l)
    if (of(l).products.size() != of(0).products.size())
      report(of(l).where, "wait_products: for %zu products in lane %d and %zu in lane 0",
             of(l).products.size(), l, of(0).products.size());
  for (std::size_t i = 0; i < of(0).products.size(); ++i)
    multiply([&](int l) -> const AsyncProduct& { return of(l).products[i]; });
}

}  // namespace

void remember_product(const AsyncProduct& product) {
  products_of_this_thread().all.push_back(product);
}

void close_products() {
  Products& products = products_of_this_thread();
  products.groups.push_back(products.all.size());
}

void finish_products(int pending, Where where) {
  auto& [thread, all, groups] = products_of_this_thread();
  const int count = std::max(static_cast<int>(groups.size()) - pending, 0);
  const std::size_t end = count ? groups[count - 1] : 0;
  Due due{std::span(all).first(end), where};
  warp_collective({"wait_products", ~0u, where, complete_products}, &due);
  all.erase(all.begin(), all.begin() + end);
  groups.erase(groups.begin(), groups.begin() + count);
  for (std::size_t& group : groups) group -= end;
}

}  // namespace simt
