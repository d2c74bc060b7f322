// Signals leave nothing half-written, and what is published stays.
#include "base/unfinished_output.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/file.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

namespace fs = std::filesystem;

class UnfinishedOutputDeathTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  fs::path target_ = directory_ / "target";
  fs::path partial_ = directory_ / "target.partial";
};

constexpr std::chrono::seconds kLongest(10);  // that a signal takes to end a process

// Writes into the directory until files can no longer be made there.
void write_on(const fs::path& directory) {
  try {
    for (int i = 0;; ++i) write_file_atomically(directory / std::to_string(i % 100), "text");
  } catch (const std::exception&) {
    return;
  }
}

// Sends it once some of that is written.
void send_while_writing(const fs::path& directory, int signal) {
  std::error_code ignored;
  while (!fs::exists(directory / "9", ignored)) std::this_thread::yield();
  ::kill(::getpid(), signal);
}

TEST_F(UnfinishedOutputDeathTest, ASignalDeletesItAndEndsTheProcess) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EXIT(
        {
          const CleanInterrupt clean;
          fs::create_directories(partial_);
          {
            const UnfinishedOutput output(partial_, target_);
            std::thread([this, signal] { send_while_writing(partial_, signal); }).detach();
            write_on(partial_);
          }  // who is done with unfinished output waits for the end of the process, which deletes it
          std::_Exit(1);
        },
        testing::KilledBySignal(signal), "interrupted; nothing was written to .*target");
    EXPECT_TRUE(fs::is_empty(directory_.path())) << signal;
  }
}

TEST_F(UnfinishedOutputDeathTest, WhatIsPublishedStays) {
  EXPECT_EXIT(
      {
        const CleanInterrupt clean;
        fs::create_directories(partial_);
        UnfinishedOutput output(partial_, target_);
        output.publish([this] { fs::rename(partial_, target_); });
        ::kill(::getpid(), SIGINT);
        std::this_thread::sleep_for(kLongest);
        std::_Exit(0);
      },
      testing::KilledBySignal(SIGINT), "^$");
  EXPECT_TRUE(fs::is_directory(target_));
}

TEST_F(UnfinishedOutputDeathTest, AnIgnoredSignalStaysIgnored) {
  EXPECT_EXIT(
      {
        static_cast<void>(std::signal(SIGINT, SIG_IGN));
        const CleanInterrupt clean;
        ::kill(::getpid(), SIGINT);
        ::kill(::getpid(), SIGTERM);  // would come second
        std::this_thread::sleep_for(kLongest);
        std::_Exit(0);
      },
      testing::KilledBySignal(SIGTERM), "^$");
}

}  // namespace
}  // namespace segue
