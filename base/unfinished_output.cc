// A thread waits for the signals, as that of core/train/stop_signal.cc does: a handler could delete nothing.
#include "base/unfinished_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"

namespace segue {
namespace {

constexpr std::array kEndingSignals{SIGINT, SIGTERM, SIGHUP};

// The longest that the end of a CleanInterrupt takes.
constexpr timespec kPatience{.tv_sec = 0, .tv_nsec = 50'000'000};

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

// In one piece, past the buffers, which another thread may hold.
void say(const std::string& line) {
  const std::string text = fmt::format("{}segue: {}\n", ::isatty(STDERR_FILENO) != 0 ? "\n" : "", visible_line(line));
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
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

}  // namespace

CleanInterrupt::CleanInterrupt() : signals_(ending_signals()) {
  pthread_sigmask(SIG_BLOCK, &signals_, &mask_before_);
  waiter_ = std::jthread([this](const std::stop_token& end) { wait(end); });
}

CleanInterrupt::~CleanInterrupt() {
  waiter_ = {};
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void CleanInterrupt::wait(const std::stop_token& end) const {
  while (!end.stop_requested()) {
    const int signal = sigtimedwait(&signals_, nullptr, &kPatience);
    if (signal > 0) end_process(signal);
  }
}

void CleanInterrupt::end_process(int signal) const {
  {
    const std::lock_guard lock(registry().mutex);
    delete_all();
    if (!registry().entries.empty())
      say(fmt::format("interrupted; nothing was written to {}", registry().entries.front().target.string()));
  }
  static_cast<void>(std::signal(signal, SIG_DFL));
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  static_cast<void>(::raise(signal));
  std::_Exit(128 + signal);
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
