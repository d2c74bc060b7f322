#include "base/unfinished_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"

namespace segue {
namespace {

constexpr std::array kEndingSignals{SIGINT, SIGTERM, SIGHUP};

// What is written while a directory is deleted is deleted in a further round.
constexpr int kRounds = 100;
constexpr std::chrono::milliseconds kBetweenRounds(5);

struct Entry {
  std::filesystem::path partial;
  std::filesystem::path target;
};

// In the order in which they were begun: a directory comes before the files in it.
struct Registry {
  std::mutex mutex;
  std::vector<Entry> entries;
  std::string idle;  // said where there are none
};

Registry& registry() {
  static auto* const kept = new Registry;  // threads may use it while the process ends
  return *kept;
}

void forget(const std::filesystem::path& partial) {
  std::vector<Entry>& entries = registry().entries;
  const auto found = std::ranges::find(entries, partial, &Entry::partial);
  if (found != entries.end()) entries.erase(found);
}

void delete_all() {
  for (const Entry& entry : registry().entries) {
    std::error_code ignored;
    for (int round = 0; round < kRounds && std::filesystem::exists(entry.partial, ignored); ++round) {
      if (round > 0) std::this_thread::sleep_for(kBetweenRounds);
      std::filesystem::remove_all(entry.partial, ignored);
    }
  }
}

// Those that end this process. An ignored one would be waited for, too, once it is blocked.
sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : kEndingSignals) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) sigaddset(&signals, signal);
  }
  return signals;
}

[[noreturn]] void delete_and_end(int signal) {
  const std::lock_guard lock(registry().mutex);  // to the end: who waits for it would tell of the files that are gone
  delete_all();
  const std::vector<Entry>& entries = registry().entries;
  if (!entries.empty())
    say_past_buffers(
        fmt::format("interrupted; nothing was written to {}", visible_line(entries.front().target.string())));
  else if (!registry().idle.empty())
    say_past_buffers(registry().idle);
  end_by_signal(signal);
}

}  // namespace

CleanInterrupt::CleanInterrupt(std::string_view idle) : waiter_(ending_signals(), delete_and_end) {
  const std::lock_guard lock(registry().mutex);
  registry().idle = idle;
}

UnfinishedOutput::UnfinishedOutput(std::filesystem::path partial, std::filesystem::path target,
                                   const std::function<void()>& make)
    : partial_(std::move(partial)) {
  const std::lock_guard lock(registry().mutex);
  if (make) make();
  registry().entries.push_back({partial_, std::move(target)});
}

UnfinishedOutput::~UnfinishedOutput() {
  const std::lock_guard lock(registry().mutex);
  forget(partial_);
}

void UnfinishedOutput::publish(const std::function<void()>& rename) {
  const std::lock_guard lock(registry().mutex);
  rename();
  forget(partial_);
}

}  // namespace segue
