// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Runs grids: see execution.hpp. A thread gets a fiber only while it has begun and not ended, and
// a fiber whose thread has ended goes on with the next one that has not begun: kernels without
// barriers cost no switch at all. A thread that waits switches right to the next that can run.
// Built without sanitizers: it is most of the time that a kernel takes. AddressSanitizer is not
// told of the switches; it watches memory all the same, only its account of a stack is shorter.
#include <sys/mman.h>
#include <unistd.h>
#include <array>
#include <bit>
#include <boost/context/fiber.hpp>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "simt/execution.hpp"
#include "simt/sanitizer.hpp"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

// Static shared memory: see shared.ld.
extern "C" char simt_shared_begin[], simt_shared_end[];

// Where a program with sanitizers looks for what to do.
extern "C" const char* __asan_default_options() { return "abort_on_error=1"; }
extern "C" const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

namespace simt {
namespace {

namespace context = boost::context;

constexpr int lanes = warpSize, most_warps = 1024 / lanes;
constexpr unsigned char garbage = 0xcd;
/// Blocks of a launch before which shared memory is filled with garbage; later ones find what the
/// one before left, as on a device.
constexpr unsigned blocks_with_garbage = 3;

/// Where a fiber goes on, while another runs. Threads run on it one after the other.
using Fiber = context::fiber;

/// Memory of all stacks, of which fiber number `number` has one for good. In huge pages, for a
/// switch costs little but misses of the caches. Tops are staggered, or the threads of a warp would
/// compete for the same lines. What lies behind a stack's end must not be touched.
struct StackMemory {
  static constexpr std::size_t reserved = 128 * 1024, guard = 4096, page = 2 << 20;
  std::size_t number;

  static char* all() {
    const std::size_t bytes = reserved * most_warps * lanes;
    void* memory = mmap(nullptr, bytes + page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      std::perror("simt: no memory for stacks");
      std::abort();
    }
    const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page;
    madvise(reinterpret_cast<void*>(begin), bytes, MADV_HUGEPAGE);
    return reinterpret_cast<char*>(begin);
  }

  context::stack_context allocate() const {
    static char* const memory = all();
    char* const begin = memory + number * reserved;
    forbid(begin, guard);
    context::stack_context stack;
    stack.size = reserved - guard - number % 29 * 192;
    stack.sp = begin + guard + stack.size;
    return stack;
  }
  void deallocate(context::stack_context&) const {}
};

struct Thread {
  uint3 index;
  int warp, lane;
  Fiber* fiber;  ///< null: it has not begun
  std::uint64_t number;
  const Collective* collective;
};

struct Warp {
  unsigned exists = 0, begun = 0, runnable = 0, ended = 0, at_barrier = 0, in_collective = 0;
  const Collective* first_collective;  ///< of those in one
  bool together;                       ///< all of those do the same
  std::array<void*, lanes> payloads;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
  unsigned next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<unsigned>(state_ >> 33);
  }

 private:
  std::uint64_t state_;
};

/// The one GPU.
class Machine {
 public:
  void run(const Launch& launch);
  void set_order(Order order, std::uint64_t seed) {
    order_ = order;
    random_ = Random(seed);
  }

  void join_collective(const Collective& collective, void* payload);
  BarrierResult join_barrier(const char* name, Where where, bool predicate);

  const Launch* launch() const { return launch_; }
  Thread* current() { return current_; }
  void* dynamic_shared() { return dynamic_shared_.get(); }
  std::uint64_t switches() const { return switches_; }

 private:
  void begin_block();
  void run_block();
  /// The thread to run next, or null when all have ended.
  Thread* next();
  int choose(unsigned among);
  void make_current(Thread* thread);
  void release_barrier();
  /// The running thread cannot go on: the next one runs.
  void pause();
  [[noreturn]] void work();  ///< what a fiber does
  Fiber* free_fiber();
  void resume(Fiber* fiber);
  void arrive(Fiber&& from);
  bool is_complete(const Collective& collective) const;
  [[noreturn]] void report_stuck();
  Thread& thread(int warp, int lane) { return threads_[warp * lanes + lane]; }

  const Launch* launch_ = nullptr;
  std::array<Thread, most_warps * lanes> threads_;
  std::array<Warp, most_warps> warps_;
  int warp_count_ = 0, thread_count_ = 0;
  unsigned runnable_warps_ = 0;
  int at_barrier_ = 0, ended_ = 0;
  const char* barrier_ = nullptr;  ///< where the first thread waits
  Where barrier_where_;
  int predicate_holds_ = 0, predicate_held_ = 0;  ///< at this barrier, at the one before
  Thread* current_ = nullptr;
  std::uint64_t begun_ = 0, switches_ = 0;

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> free_fibers_;
  Fiber caller_;
  Fiber* running_ = &caller_;
  Fiber* left_ = nullptr;  ///< ran before

  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> dynamic_shared_;
  Order order_ = Order::ascending;
  Random random_{1};
};

/// In the order that the environment asks for.
Machine& make_machine() {
  auto* made = new Machine;  // never destroyed: fibers cannot be unwound
  const char* order = std::getenv("XCORR_SIMT_ORDER");
  const std::string name = order ? order : "ascending";
  const auto colon = name.find(':');
  if (name == "descending") {
    made->set_order(Order::descending, 1);
  } else if (name.starts_with("shuffled")) {
    made->set_order(Order::shuffled,
                    colon == name.npos ? 1 : std::strtoull(&name[colon + 1], nullptr, 10));
  } else if (name != "ascending") {
    std::fprintf(stderr, "simt: no order '%s' (XCORR_SIMT_ORDER)\n", order);
    std::abort();
  }
  return *made;
}

Machine& machine = make_machine();

// ---- fibers ---------------------------------------------------------------------------------

void Machine::arrive(Fiber&& from) { *left_ = std::move(from); }

void Machine::resume(Fiber* fiber) {
  ++switches_;
  left_ = running_;
  running_ = fiber;
  arrive(std::move(*fiber).resume());
}

Fiber* Machine::free_fiber() {
  if (free_fibers_.empty()) {
    auto& fiber = fibers_.emplace_back(std::make_unique<Fiber>(
        std::allocator_arg, StackMemory{fibers_.size()}, [this](Fiber&& from) -> Fiber {
          arrive(std::move(from));
          work();
        }));
    free_fibers_.push_back(fiber.get());
  }
  Fiber* fiber = free_fibers_.back();
  free_fibers_.pop_back();
  return fiber;
}

void Machine::work() {
  for (;;) {
    current_->fiber = running_;
    launch_->run_thread(launch_->parameters);

    Warp& warp = warps_[current_->warp];
    const unsigned bit = 1u << current_->lane;
    warp.runnable &= ~bit;
    warp.ended |= bit;
    ++ended_;
    if (!warp.runnable) runnable_warps_ &= ~(1u << current_->warp);
    Thread* const thread = next();
    if (thread && !thread->fiber) continue;
    free_fibers_.push_back(running_);
    resume(thread ? thread->fiber : &caller_);
  }
}

void Machine::pause() {
  Thread* const paused = current_;
  Thread* const thread = next();
  if (thread != paused) resume(thread->fiber ? thread->fiber : free_fiber());
}

// ---- scheduling -----------------------------------------------------------------------------

int Machine::choose(unsigned among) {
  switch (order_) {
    case Order::ascending:
      return std::countr_zero(among);
    case Order::descending:
      return 31 - std::countl_zero(among);
    case Order::shuffled:
      break;
  }
  const unsigned first = random_.next() % 32;
  return (std::countr_zero(std::rotr(among, static_cast<int>(first))) + first) % 32;
}

void Machine::make_current(Thread* thread) {
  current_ = thread;
  threadIdx = thread->index;
  lane = thread->lane;
}

Thread* Machine::next() {
  if (!runnable_warps_) {
    if (ended_ == thread_count_) return nullptr;
    if (at_barrier_ != thread_count_) report_stuck();
    release_barrier();
  }
  // But for shuffles a warp runs as far as it can.
  int warp = current_->warp;
  if (order_ == Order::shuffled || !(runnable_warps_ >> warp & 1)) warp = choose(runnable_warps_);
  Thread& thread = this->thread(warp, choose(warps_[warp].runnable));
  const unsigned bit = 1u << thread.lane;
  if (!(warps_[warp].begun & bit)) {
    warps_[warp].begun |= bit;
    thread.fiber = nullptr;
    thread.number = ++begun_;
  }
  make_current(&thread);
  return &thread;
}

/// Whether two lanes do the same.
bool is_same(const Collective& a, const Collective& b) {
  return a.complete == b.complete && a.mask == b.mask && a.where.line() == b.where.line() &&
         a.where.column() == b.where.column();
}

bool Machine::is_complete(const Collective& collective) const {
  const int warp = current_->warp;
  if (collective.mask & ~warps_[warp].in_collective) return false;
  if (warps_[warp].together) return true;
  for (unsigned rest = collective.mask; rest; rest &= rest - 1)
    if (!is_same(collective, *threads_[warp * lanes + std::countr_zero(rest)].collective))
      return false;
  return true;
}

void Machine::join_collective(const Collective& collective, void* payload) {
  Thread& me = *current_;
  Warp& warp = warps_[me.warp];
  const unsigned bit = 1u << me.lane;
  if (!(collective.mask & bit))
    report(collective.where, "%s: lane %d calls it with the mask 0x%08x, which lacks it",
           collective.name, me.lane, collective.mask);
  me.collective = &collective;
  warp.payloads[me.lane] = payload;
  if (!warp.in_collective) {
    warp.first_collective = &collective;
    warp.together = true;
  } else if (warp.together) {
    warp.together = is_same(*warp.first_collective, collective);
  }
  warp.in_collective |= bit;
  warp.runnable &= ~bit;
  if (is_complete(collective)) {
    collective.complete(warp.payloads.data(), collective.mask);
    warp.in_collective &= ~collective.mask;
    warp.runnable |= collective.mask;
  } else if (!warp.runnable) {
    runnable_warps_ &= ~(1u << me.warp);
  }
  pause();
}

BarrierResult Machine::join_barrier(const char* name, Where where, bool predicate) {
  if (at_barrier_ == 0) {
    barrier_ = name;
    barrier_where_ = where;
    predicate_holds_ = 0;
  } else if (where.line() != barrier_where_.line() || where.column() != barrier_where_.column()) {
    report(where, "%s: other threads of the block wait at another barrier, %s at %s:%u", name,
           barrier_, barrier_where_.file_name(), static_cast<unsigned>(barrier_where_.line()));
  }
  predicate_holds_ += predicate;
  Warp& warp = warps_[current_->warp];
  const unsigned bit = 1u << current_->lane;
  warp.at_barrier |= bit;
  warp.runnable &= ~bit;
  ++at_barrier_;
  if (!warp.runnable) runnable_warps_ &= ~(1u << current_->warp);
  pause();
  return {predicate_held_, thread_count_};
}

void Machine::release_barrier() {
  at_barrier_ = 0;
  predicate_held_ = predicate_holds_;
  for (int w = 0; w < warp_count_; ++w) {
    warps_[w].runnable = warps_[w].exists;
    warps_[w].at_barrier = 0;
  }
  runnable_warps_ = ~0u >> (32 - warp_count_);
}

/// Of memory in which AddressSanitizer has forbidden zones; it would watch over a memset.
[[gnu::optimize("no-tree-loop-distribute-patterns")]] void fill_with_garbage(char* begin,
                                                                             const char* end) {
  for (; end - begin >= 8; begin += 8)
    *reinterpret_cast<std::uint64_t*>(begin) = 0x0101010101010101u * garbage;
  for (; begin < end; ++begin) *begin = static_cast<char>(garbage);
}

// ---- grids ----------------------------------------------------------------------------------

void Machine::begin_block() {
  for (int w = 0; w < warp_count_; ++w) {
    const int count = std::min(lanes, thread_count_ - w * lanes);
    const unsigned exists = ~0u >> (32 - count);
    warps_[w].exists = warps_[w].runnable = exists;
    warps_[w].begun = warps_[w].ended = warps_[w].at_barrier = warps_[w].in_collective = 0;
  }
  runnable_warps_ = ~0u >> (32 - warp_count_);
  at_barrier_ = ended_ = 0;
}

void Machine::run_block() {
  begin_block();
  current_ = &threads_[0];  // where next() goes on from
  next();
  resume(free_fiber());
}

void Machine::run(const Launch& launch) {
  launch_ = &launch;
  gridDim = launch.grid;
  blockDim = launch.block;
  const dim3 size = launch.block;
  thread_count_ = static_cast<int>(size.x * size.y * size.z);
  warp_count_ = (thread_count_ + lanes - 1) / lanes;
  int i = 0;
  for (unsigned z = 0; z < size.z; ++z)
    for (unsigned y = 0; y < size.y; ++y)
      for (unsigned x = 0; x < size.x; ++x, ++i) {
        threads_[i].index = {x, y, z};
        threads_[i].warp = i / lanes;
        threads_[i].lane = i % lanes;
      }
  void* shared = nullptr;
  if (posix_memalign(&shared, 128, launch.shared_bytes) != 0) std::abort();
  dynamic_shared_.reset(shared);
  unsigned blocks = 0;
  for (unsigned z = 0; z < gridDim.z; ++z)
    for (unsigned y = 0; y < gridDim.y; ++y)
      for (unsigned x = 0; x < gridDim.x; ++x) {
        blockIdx = {x, y, z};
        if (blocks++ < blocks_with_garbage) {
          fill_with_garbage(simt_shared_begin, simt_shared_end);
          std::memset(shared, garbage, launch.shared_bytes);
        }
        run_block();
      }
  dynamic_shared_.reset();
  current_ = nullptr;
  launch_ = nullptr;
}

/// Nobody can run: names a thread that waits for one that cannot come any more.
void Machine::report_stuck() {
  for (int i = 0; i < thread_count_; ++i) {
    Thread& t = threads_[i];
    const Warp& warp = warps_[t.warp];
    if (!(warp.in_collective >> t.lane & 1)) continue;
    const Collective& c = *t.collective;
    make_current(&t);
    const int missing = std::countr_zero(c.mask & ~warp.in_collective);
    for (unsigned rest = missing == lanes ? c.mask : 0; rest; rest &= rest - 1) {
      const Collective& other = *thread(t.warp, std::countr_zero(rest)).collective;
      if (!is_same(c, other))
        report(c.where, "%s with the mask 0x%08x: lane %d is at %s with the mask 0x%08x, %s:%u",
               c.name, c.mask, std::countr_zero(rest), other.name, other.mask,
               other.where.file_name(), static_cast<unsigned>(other.where.line()));
    }
    if (!(warp.exists >> missing & 1))
      report(c.where, "%s: lane %d of the mask 0x%08x does not exist, the block has %d threads",
             c.name, missing, c.mask, thread_count_);
    if (warp.ended >> missing & 1)
      report(c.where, "%s: lane %d of the mask 0x%08x has ended", c.name, missing, c.mask);
    report(c.where, "%s: lane %d of the mask 0x%08x waits at %s, %s:%u", c.name, missing, c.mask,
           barrier_, barrier_where_.file_name(), static_cast<unsigned>(barrier_where_.line()));
  }
  for (int i = 0; i < thread_count_; ++i) {
    Thread& t = threads_[i];
    if (!(warps_[t.warp].at_barrier >> t.lane & 1)) continue;
    int gone = 0;
    while (!(warps_[threads_[gone].warp].ended >> threads_[gone].lane & 1)) ++gone;
    const uint3 other = threads_[gone].index;
    make_current(&t);
    report(barrier_where_, "%s: thread (%u, %u, %u) has ended and will not come", barrier_, other.x,
           other.y, other.z);
  }
  std::abort();
}

}  // namespace

void run(const Launch& launch) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  machine.run(launch);
}

void warp_collective(const Collective& collective, void* payload) {
  machine.join_collective(collective, payload);
}

BarrierResult block_barrier(const char* name, Where where, bool predicate) {
  return machine.join_barrier(name, where, predicate);
}

int lane;
std::uint64_t thread_number() { return machine.current()->number; }
void* dynamic_shared_memory() { return machine.dynamic_shared(); }
void set_order(Order order, std::uint64_t seed) { machine.set_order(order, seed); }
std::uint64_t switch_count() { return machine.switches(); }

void report(Where where, const char* format, ...) {
  char what[512];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "simt: %s\n", what);
  std::fprintf(stderr, "  at %s:%u, in %s\n", where.file_name(),
               static_cast<unsigned>(where.line()), where.function_name());
  if (const Launch* l = machine.launch()) {
    const uint3 &b = blockIdx, &t = threadIdx;
    std::fprintf(stderr, "  by block (%u, %u, %u), thread (%u, %u, %u)\n", b.x, b.y, b.z, t.x, t.y,
                 t.z);
    std::fprintf(stderr, "  of %s, grid %ux%ux%u, block %ux%ux%u, %zu bytes of shared memory\n",
                 name_of_function(l->kernel).c_str(), l->grid.x, l->grid.y, l->grid.z, l->block.x,
                 l->block.y, l->block.z, l->shared_bytes);
  }
  print_stack();
  std::abort();
}

}  // namespace simt
