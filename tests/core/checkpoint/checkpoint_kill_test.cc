// A process killed at any system call of a save, of marking the best or of pruning loses nothing that was saved.
//
// The child runs under ptrace: the parent lets it come to its n-th system call and kills it there, for every n until
// the child finishes. What lies between two calls cannot be seen from outside.
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <functional>

#include "base/error.h"
#include "core/checkpoint/checkpoint_store.h"
#include "tests/core/checkpoint/sample_checkpoint.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

namespace fs = std::filesystem;

// Runs the work of the traced child: its only exits are _exit and the kill.
[[noreturn]] void run_traced(const std::function<void()>& work) {
  if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(2);
  ::raise(SIGSTOP);
  try {
    work();
  } catch (const std::exception&) {
    ::_exit(1);
  }
  ::_exit(0);
}

// Runs `work` in a child up to the entry of its n-th system call. False when it finished before; throws when it failed.
bool killed_at_call(int n, const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) run_traced(work);
  int status = 0;
  ::waitpid(child, &status, 0);
  for (int stop = 0; WIFSTOPPED(status); ++stop) {
    if (stop == 2 * n + 1) ::kill(child, SIGKILL);  // 0 is the start, then each call stops at its entry and its exit
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    ::waitpid(child, &status, 0);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) throw Error(ExitCode::kUnexpected, "the child failed");
  return WIFSIGNALED(status);
}

void save(CheckpointStore& store, int64_t step, float value) { store.save(step, SampleCheckpoint(value).contents()); }

// Every checkpoint that is listed is whole, all its files are of one save, and nothing hidden survives another save.
void expect_sound(const fs::path& directory) {
  CheckpointStore store(directory);
  for (const int64_t step : store.list()) EXPECT_FALSE(std::isnan(value_of(store.open(step)))) << step;
  EXPECT_TRUE(store.newest_intact().complaints.empty());
  save(store, 1000, 1000.0F);
  EXPECT_EQ(store.newest(), 1000);
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    EXPECT_TRUE(name.front() != '.' || name == ".best.partial") << name;
  }
}

// Kills `work` at every point, each time on a fresh store made by `prepare`; `check` sees the store after the kill.
void kill_everywhere(const std::function<void(CheckpointStore&)>& prepare,
                     const std::function<void(CheckpointStore&)>& work,
                     const std::function<void(const CheckpointStore&)>& check) {
  int calls = 0;
  for (bool killed = true; killed; ++calls) {
    const TemporaryDirectory run;
    CheckpointStore store(run / "checkpoints");
    prepare(store);
    killed = killed_at_call(calls, [&] { work(store); });
    SCOPED_TRACE(testing::Message() << "killed at call " << calls);
    check(store);
    expect_sound(store.directory());
  }
  EXPECT_GT(calls, 5) << "the work was not traced";
}

TEST(CheckpointKill, SaveIsWholeOrAbsent) {
  kill_everywhere([](CheckpointStore& store) { save(store, 10, 1.0F); },
                  [](CheckpointStore& store) { save(store, 20, 2.0F); },
                  [](const CheckpointStore& store) {
                    EXPECT_EQ(value_of(store.open(10)), 1.0F);
                    const float newest = value_of(*store.newest_intact().checkpoint);
                    EXPECT_TRUE(newest == 1.0F || newest == 2.0F) << newest;
                  });
}

TEST(CheckpointKill, ReplacedOneIsTheOldOrTheNew) {
  kill_everywhere([](CheckpointStore& store) { save(store, 10, 1.0F); },
                  [](CheckpointStore& store) { save(store, 10, 2.0F); },
                  [](const CheckpointStore& store) {
                    const float found = value_of(store.open(10));
                    EXPECT_TRUE(found == 1.0F || found == 2.0F) << found;
                  });
}

TEST(CheckpointKill, BestIsTheOldOrTheNew) {
  kill_everywhere(
      [](CheckpointStore& store) {
        save(store, 10, 1.0F);
        save(store, 20, 2.0F);
        store.mark_best(10);
      },
      [](CheckpointStore& store) { store.mark_best(20); },
      [](const CheckpointStore& store) { EXPECT_TRUE(store.best() == 10 || store.best() == 20); });
}

TEST(CheckpointKill, PruningNeverShowsHalfACheckpoint) {
  kill_everywhere(
      [](CheckpointStore& store) {
        for (const int64_t step : {10, 20, 30}) save(store, step, static_cast<float>(step));
        store.mark_best(20);
      },
      [](CheckpointStore& store) { store.prune(1); },
      [](const CheckpointStore& store) {
        EXPECT_EQ(value_of(store.open(30)), 30.0F);
        EXPECT_EQ(value_of(store.open(20)), 20.0F);
      });
}

}  // namespace
}  // namespace segue
