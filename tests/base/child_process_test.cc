// Programs that end, are ended, cannot be started, or outlive who started them.
#include "base/child_process.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "base/error.h"
#include "tests/message_of.h"

namespace segue {
namespace {

ProcessEnd wait_for(ChildProcess& child) {
  while (true) {
    if (const std::optional<ProcessEnd> end = child.ended()) return *end;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

ProcessEnd run(const std::vector<std::string>& words) {
  ChildProcess child(words);
  return wait_for(child);
}

TEST(ChildProcess, TellsHowItEnded) {
  EXPECT_EQ(run({"true"}).code, 0);
  EXPECT_EQ(run({"sh", "-c", "exit 75"}).code, 75);
  EXPECT_EQ(run({"sh", "-c", "test \"$0\" = 'a b'", "a b"}).code, 0);
  EXPECT_GT(run({"true"}).peak_bytes, 100'000);
}

TEST(ChildProcess, GetsSignalsThatThisProcessBlocks) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  ChildProcess child({"sleep", "60"});
  EXPECT_FALSE(child.ended());
  child.send(SIGUSR1);
  EXPECT_EQ(wait_for(child).code, 128 + SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(ChildProcess, EndsWithWhoeverHoldsIt) {
  const auto start = std::chrono::steady_clock::now();
  { const ChildProcess child({"sleep", "60"}); }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(ChildProcess, PrintsOnlyIfAskedTo) {
  testing::internal::CaptureStdout();
  run({"echo", "heard"});
  ChildProcess silent({"echo", "unheard"}, ChildOutput::kNone);
  EXPECT_EQ(wait_for(silent).code, 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "heard\n");
}

TEST(ChildProcess, NamesWhatCannotBeStarted) {
  EXPECT_EQ(message_of<FileError>([] { run({"/no/such/program"}); }),
            "/no/such/program: cannot be started: No such file or directory");
}

}  // namespace
}  // namespace segue
