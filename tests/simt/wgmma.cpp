// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Products in flight, by thread, and how a warp computes those that are due: see simt/wgmma.hpp.
// The layout is that of the PTX manual, wgmma.m64n32k32, b by columns, without swizzling.
#include "simt/wgmma.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <vector>

#include "simt/sanitizer.hpp"

namespace simt {
namespace {

struct Products {
  std::uint64_t thread = 0;  ///< whose; of an earlier one nothing is left to do
  std::vector<AsyncProduct> open;
  std::deque<std::vector<AsyncProduct>> groups;
};

Products& products_of_this_thread() {
  static std::array<Products, 1024> all;
  Products& products = all[(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x];
  if (products.thread != thread_number()) {
    products.thread = thread_number();
    products.open.clear();
    products.groups.clear();
  }
  return products;
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

  std::uint8_t a[16][32], b[32][32];  // b: of each column the bytes of k
  for (int l = 0; l < 32; ++l)
    for (int half = 0; half < 2; ++half) {
      const int k = 16 * half + 4 * (l % 4);
      std::memcpy(&a[l / 4][k], &of(l).a[2 * half], 4);
      std::memcpy(&a[l / 4 + 8][k], &of(l).a[2 * half + 1], 4);
    }
  for (int n = 0; n < 4; ++n)
    for (int half = 0; half < 2; ++half) {
      const std::uint8_t* const core = first.b + n * first.across + half * first.along_k;
      check_range(const_cast<std::uint8_t*>(core), 128, "multiply_async");
      for (int i = 0; i < 8; ++i) std::memcpy(&b[8 * n + i][16 * half], core + 16 * i, 16);
    }
  for (int l = 0; l < 32; ++l)
    for (int i = 0; i < 16; ++i) {
      const std::uint8_t* const row = a[l / 4 + i / 2 % 2 * 8];
      const std::uint8_t* const column = b[8 * (i / 4) + 2 * (l % 4) + i % 2];
      std::uint32_t sum = 0;
      for (int k = 0; k < 32; ++k) sum += std::uint32_t{row[k]} * column[k];
      of(l).c[i] = sum + (first.add ? of(l).c[i] : 0);
    }
}

struct Due {
  std::vector<AsyncProduct> products;
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
  products_of_this_thread().open.push_back(product);
}

void close_products() {
  Products& products = products_of_this_thread();
  products.groups.push_back(std::move(products.open));
  products.open.clear();
}

void finish_products(int pending, Where where) {
  Products& products = products_of_this_thread();
  Due due{{}, where};
  for (; static_cast<int>(products.groups.size()) > pending; products.groups.pop_front())
    std::ranges::copy(products.groups.front(), std::back_inserter(due.products));
  warp_collective({"wait_products", ~0u, where, complete_products}, &due);
}

}  // namespace simt
