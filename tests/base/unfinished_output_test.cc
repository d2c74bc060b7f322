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

// Writes into the directory until the process ends; when files can no longer be made there, waits for that.
[[noreturn]] void write_on(const fs::path& directory) {
  for (int i = 0;; ++i) try {
      write_file_atomically(directory / std::to_string(i % 100), "text");
    } catch (const std::exception&) {
      std::this_thread::sleep_for(std::chrono::seconds(10));
    }
}

TEST_F(UnfinishedOutputDeathTest, ASignalDeletesItAndEndsTheProcess) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EXIT(
        {
          const CleanInterrupt clean;
          fs::create_directories(partial_);
          const UnfinishedOutput output(partial_, target_);
          std::thread([signal] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            ::kill(::getpid(), signal);
          }).detach();
          write_on(partial_);
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
        std::this_thread::sleep_for(std::chrono::seconds(10));
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
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        std::_Exit(7);
      },
      testing::ExitedWithCode(7), "^$");
}

}  // namespace
}  // namespace segue
