// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Runs grids: see execution.hpp. A thread gets a fiber only while it has begun and not ended, and a
// fiber whose thread has ended goes on with the next one that has not begun: kernels without
// barriers cost no switch at all. A thread that waits switches directly to the next that can run.
// Built without sanitizers, since most of a kernel's time is spent here. AddressSanitizer is not
// told of the switches; it still checks memory, only its stack traces are shorter.
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "choice.hpp"
#include "fibers.hpp"
#include "simt/execution.hpp"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

// Static shared memory: see shared.ld.
extern "C" char simt_shared_begin[], simt_shared_end[];

namespace simt {
namespace {

constexpr int lanes = warpSize, max_warps = 1024 / lanes;
constexpr unsigned char garbage = 0xcd;
/// Blocks of a launch before which shared memory is filled with garbage; later ones find what the
/// one before left, as on a device.
constexpr unsigned blocks_with_garbage = 3;

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

/// The one GPU.
class Machine {
 public:
  explicit Machine(void (*work)()) : fibers_(work) {}

  void run(const Launch& launch);
  void set_order(Order order, std::uint64_t seed) { choice_ = Choice(order, seed); }

  [[noreturn]] void work();  ///< what a fiber does
  void join_collective(const Collective& collective, void* payload);
  BarrierResult join_barrier(const char* name, Where where, bool predicate);

  const Launch* launch() const { return launch_; }
  Thread* current() { return current_; }
  void* dynamic_shared() { return dynamic_shared_.get(); }

 private:
  void begin_block();
  void run_block();
  /// The thread to run next, or null when all have ended.
  Thread* next();
  void make_current(Thread* thread);
  void release_barrier();
  /// The running thread cannot go on: the next one runs.
  void pause();
  bool is_complete(const Collective& collective) const;
  [[noreturn]] void report_stuck();
  Thread& thread(int warp, int lane) { return threads_[warp * lanes + lane]; }

  const Launch* launch_ = nullptr;
  std::array<Thread, max_warps * lanes> threads_;
  std::array<Warp, max_warps> warps_;
  int warp_count_ = 0, thread_count_ = 0;
  unsigned runnable_warps_ = 0;
  int at_barrier_ = 0, ended_ = 0;
  const char* barrier_ = nullptr;  ///< where the first thread waits
  Where barrier_where_;
  int predicate_holds_ = 0, predicate_held_ = 0;  ///< at this barrier, at the one before
  Thread* current_ = nullptr;
  std::uint64_t begun_ = 0;

  Fibers fibers_;

  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> dynamic_shared_;
  Choice choice_ = Choice::from_environment();
};

// Never destroyed: fibers cannot be unwound.
Machine& machine = *new Machine([] { machine.work(); });

void Machine::work() {
  for (;;) {
    current_->fiber = fibers_.running();
    launch_->run_thread(launch_->parameters);

    Warp& warp = warps_[current_->warp];
    const unsigned bit = 1u << current_->lane;
    warp.runnable &= ~bit;
    warp.ended |= bit;
    ++ended_;
    if (!warp.runnable) runnable_warps_ &= ~(1u << current_->warp);
    Thread* const thread = next();
    if (thread && !thread->fiber) continue;
    fibers_.give_back();
    fibers_.resume(thread ? thread->fiber : fibers_.caller());
  }
}

void Machine::pause() {
  Thread* const paused = current_;
  Thread* const thread = next();
  if (thread != paused) fibers_.resume(thread->fiber ? thread->fiber : fibers_.take());
}

// ---- scheduling -----------------------------------------------------------------------------

void Machine::make_current(Thread* thread) {
  current_ = thread;
  threadIdx = thread->index;
  lane = thread->lane;
}

Thread* Machine::next() {
  int warp = current_->warp;
  bool goes_on = runnable_warps_ >> warp & 1;  // a warp runs as far as it can
  if (!runnable_warps_) {
    if (ended_ == thread_count_) return nullptr;
    if (at_barrier_ != thread_count_) report_stuck();
    release_barrier();
    goes_on = false;
  }
  if (!goes_on) warp = choice_.among(runnable_warps_);
  Thread& thread = this->thread(warp, choice_.among(warps_[warp].runnable));
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
  fibers_.resume(fibers_.take());
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

/// No thread can run: names one that waits for another that can no longer arrive.
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
const Launch* current_launch() { return machine.launch(); }
void* dynamic_shared_memory() { return machine.dynamic_shared(); }
void set_order(Order order, std::uint64_t seed) { machine.set_order(order, seed); }

}  // namespace simt
