// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/tune.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

#include "match/tune_race.hpp"

namespace xcorr {
namespace {

std::string text_of(Size size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

}  // namespace

/// A group of templates.
struct TuneQuestion {
  GroupKey group;
  std::vector<std::uint32_t> members;  ///< positions in the bank
  MatchProblem problem;
  std::string key;

  std::string name() const { return text_of(group.size()); }
};

namespace {

/// For a whole call, so that no live pipeline waits longer.
TuneClock::duration budget() {
  const char* text = std::getenv("XCORR_TUNE_SECONDS");
  const double asked = text ? std::atof(text) : 2.0;
  const double seconds = asked > 0 ? std::min(asked, 60.0) : 0;  // 0 if it is not a number
  return std::chrono::duration_cast<TuneClock::duration>(std::chrono::duration<double>(seconds));
}

/// A device, its driver and this library.
std::string key_of(const Device& device) {
  const std::string machine = device.backend == Backend::cpu
                                  ? std::to_string(std::thread::hardware_concurrency()) + " threads"
                                  : "driver " + std::to_string(device.driver);
  return device.name + ", " + machine + ", cudaxcorr " XCORR_VERSION;
}

std::string key_of(const Device& device, const MatchProblem& p) {
  const Problem& c = p.correlate;
  std::string key = key_of(device) + ", " + name_of(c.type) + ", " + text_of(c.left) +
                    " searched for " + std::to_string(c.rights) + " of " + text_of(c.right) + ", " +
                    info(p.method).name + ", max-peaks " + std::to_string(p.max_peaks) +
                    ", distance " + text_of({p.distance_x, p.distance_y});
  if (p.masking) key += ", masked to " + std::to_string(p.masking.counted) + " pixels";
  if (p.contrast) key += ", with a contrast";
  if (p.overhang) key += ", with an overhang of " + std::to_string(p.overhang.most);
  if (c.planes == color_planes) key += ", in colour";
  std::replace(key.begin(), key.end(), '\t', ' ');
  return key;
}

/// Noise, which is as expensive to match as any image: dense, in host memory.
std::vector<std::byte> noise(ElementType type, Size size) {
  const std::size_t element = type == ElementType::u16 ? 2 : 1;
  std::vector<std::byte> bytes(element * static_cast<std::size_t>(size.area()));
  std::mt19937_64 random(1);
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t word = random();
    std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, bytes.size() - at));
  }
  if (is_integral(type)) return bytes;
  std::vector<std::byte> floats(bytes.size() * sizeof(float));
  std::transform(bytes.begin(), bytes.end(), reinterpret_cast<float*>(floats.data()),
                 [](std::byte b) { return static_cast<float>(b); });
  return floats;
}

Result<Block> noise_on(const TuneTask& task) {
  const std::vector<std::byte> pixels = noise(task.type, task.frame);
  auto block = Block::make(task.device.backend, pixels.size());
  if (!block.ok()) return block.status();
  const Runtime& r = runtime(task.device.backend);
  if (Status s = r.copy(bytes_copy(block.value().data(), pixels.data(), pixels.size()),
                        Memory::host, Memory::device, task.stream);
      !s.ok())
    return s;
  if (Status s = r.wait(task.stream); !s.ok()) return s;
  return block;
}

std::vector<TuneQuestion> questions_of(const TuneTask& task) {
  std::vector<TuneQuestion> questions;
  const Size region = searched_region(task.frame, task.settings.search_region).size();
  const double overhang = upright_overhang(task.settings);
  const bool may_stick_out = overhang_of(task.bank, overhang) != Size{};
  for (const auto& [group, members] : groups_of(task.bank, region, task.settings)) {
    MatchProblem problem =
        problem_of_group(task.type, region, group, static_cast<int>(members.size()), task.settings);
    if (may_stick_out) problem.overhang = {{0, 0, region.width, region.height}, {}, overhang};
    questions.push_back({group, members, problem, key_of(task.device, problem)});
  }
  return questions;
}

/// Two simultaneous races would disturb each other's timings.
std::timed_mutex one_at_a_time;

std::string note_of(const Winner& winner, std::size_t candidates) {
  char text[100];
  std::snprintf(text, sizeof text, "%.4f ms a frame, the best of %d measured of %zu kernels",
                1e3 * winner.seconds, winner.measured, candidates);
  return winner.measured ? text : "a guess: too slow or too little time to be measured";
}

}  // namespace

void Tuner::say(const std::string& text) { report_ += (report_.empty() ? "" : "; ") + text; }

void Tuner::recall(std::vector<TuneQuestion>& questions, const Device& device,
                   KernelOfGroup& kernels) {
  const std::filesystem::path file = tune_file();
  TuneAnswers answers = read_answers(file);
  for (const auto& [key, answer] : known_) answers[key] = answer;
  std::erase_if(questions, [&](const TuneQuestion& question) {
    const auto found = answers.find(question.key);
    if (found == answers.end()) return false;
    const std::string& kernel = found->second.kernel;
    MatchProblem problem = question.problem;
    if (!select_matching(problem, device, kernel).ok()) return false;
    kernels[question.group] = kernel;
    say(question.name() + ": " + kernel + ", known" +
        (known_.contains(question.key) ? "" : " from " + file.string()));
    known_[question.key] = found->second;
    return true;
  });
}

TuneAnswers Tuner::measure(const std::vector<TuneQuestion>& questions, const TuneTask& task,
                           TuneClock::time_point deadline, KernelOfGroup& kernels) {
  TuneAnswers found;
  auto pixels = noise_on(task);
  if (!pixels.ok()) {
    say("nothing measured: " + pixels.status().message());
    return found;
  }
  MatrixView frame{pixels.value().data(), task.type, task.frame,
                   static_cast<std::ptrdiff_t>(task.frame.width * size_of(task.type)),
                   Memory::device};
  if (is_in_color(task.settings.match_on))  // as dear as any three planes
    for (ColorPlane& plane : frame.color) plane = {frame.data, frame.pitch};
  auto left = static_cast<TuneClock::rep>(questions.size());
  for (const TuneQuestion& question : questions) {
    const auto now = TuneClock::now();
    const auto end = now + (deadline - now) / left--;
    std::vector<BankTemplate> bank;
    for (const std::uint32_t member : question.members) bank.push_back(task.bank[member]);
    const Race race{{task.device, bank, task.type, task.frame, task.settings, task.stream},
                    question.problem,
                    frame,
                    able_to_match(question.problem, task.device)};
    if (race.candidates.empty()) continue;  // making the plan will report it
    const Winner winner = winner_of(race, end);
    const TuneAnswer answer{winner.kernel->name, note_of(winner, race.candidates.size())};
    known_[question.key] = found[question.key] = answer;
    kernels[question.group] = answer.kernel;
    say(question.name() + ": " + answer.kernel + ", " + answer.note);
  }
  return found;
}

void Tuner::remember(const TuneAnswers& found) {
  const std::filesystem::path file = tune_file();
  if (file.empty()) return say("not remembered: the environment names no cache folder");
  const std::error_code error = add_answers(file, found);
  say((error ? "not remembered: " + error.message() + ": " : "remembered in ") + file.string());
}

KernelOfGroup Tuner::kernels(const TuneTask& task) {
  const TuneClock::duration time = budget();
  const TuneClock::time_point deadline = TuneClock::now() + time;
  report_.clear();
  KernelOfGroup kernels;
  std::vector<TuneQuestion> questions = questions_of(task);
  recall(questions, task.device, kernels);
  if (questions.empty()) return kernels;
  const std::unique_lock lock(one_at_a_time, deadline);
  if (!lock) {
    say("nothing measured, since others were all the time");
    return kernels;
  }
  recall(questions, task.device, kernels);  // what other threads found meanwhile
  if (questions.empty()) return kernels;
  const bool in_haste = deadline - TuneClock::now() < time / 2;
  const TuneAnswers found = measure(questions, task, deadline, kernels);
  if (in_haste)
    say("not remembered, since others were measured for most of the time");
  else if (!found.empty())
    remember(found);
  return kernels;
}

}  // namespace xcorr
