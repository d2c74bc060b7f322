// Signals that ask a run to stop, and leave what it computes alone.
#include "core/train/stop_signal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

#include "kernels/cpu/gemm.h"

namespace segue {
namespace {

using std::chrono::microseconds;

TEST(StopSignal, IsNotRequestedBeforeASignal) {
  const StopSignal stop;
  EXPECT_FALSE(stop.requested());
}

TEST(StopSignal, HearsEachSignal) {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    const StopSignal stop;
    ASSERT_EQ(::kill(::getpid(), signal), 0);
    for (int i = 0; i < 10000 && !stop.requested(); ++i) std::this_thread::sleep_for(microseconds(1000));
    EXPECT_TRUE(stop.requested()) << signal;
  }
}

void hear(const StopSignal& stop, int signal) {
  ::kill(::getpid(), signal);
  while (!stop.requested()) std::this_thread::yield();
}

TEST(StopSignalDeathTest, AnInterruptTwoSecondsLaterEndsTheProcess) {
  EXPECT_EXIT(
      {
        const StopSignal stop;
        stop.speak_for(1);
        stop.note_saved(120);
        hear(stop, SIGTERM);
        std::this_thread::sleep_for(std::chrono::milliseconds(2100));
        ::kill(::getpid(), SIGINT);
        std::this_thread::sleep_for(std::chrono::seconds(60));
      },
      testing::KilledBySignal(SIGINT),
      "segue: stopping after this step; SIGINT after 2 seconds to quit without saving\n"
      "segue: quit; nothing was saved since step 120\n");
}

TEST(StopSignalDeathTest, RepetitionsDoNotEndTheProcess) {
  EXPECT_EXIT(
      {
        {
          const StopSignal stop;
          stop.speak_for(1);
          hear(stop, SIGINT);
          for (const int signal : {SIGINT, SIGUSR1, SIGTERM}) ::kill(::getpid(), signal);
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          ::kill(::getpid(), SIGINT);
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        for (const int signal : {SIGINT, SIGTERM}) ::kill(::getpid(), signal);
        std::_Exit(75);
      },
      testing::ExitedWithCode(75), "^segue: stopping after this step; again after 2 seconds to quit without saving\n$");
}

TEST(StopSignalDeathTest, OneProcessSpeaksForAJob) {
  EXPECT_EXIT(
      {
        const StopSignal stop;
        hear(stop, SIGINT);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        std::_Exit(75);
      },
      testing::ExitedWithCode(75), "^$");
}

TEST(StopSignalDeathTest, WhatWasHeardBeforeIsSaidOnce) {
  EXPECT_EXIT(
      {
        const StopSignal stop;
        hear(stop, SIGUSR1);
        for (const int processes : {2, 2}) stop.speak_for(processes);
        std::_Exit(75);
      },
      testing::ExitedWithCode(75),
      "^segue: stopping after this step; SIGINT after 2 seconds to quit without saving\n$");
}

TEST(StopSignalDeathTest, WhatALauncherSendsToEndAJobIsNotTold) {
  EXPECT_EXIT(
      {
        const StopSignal stop;
        stop.speak_for(2);
        hear(stop, SIGTERM);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        std::_Exit(75);
      },
      testing::ExitedWithCode(75), "^$");
}

TEST(StopSignalDeathTest, SignalsAreIgnoredOnceItIsGone) {
  EXPECT_EXIT(
      {
        { const StopSignal stop; }
        for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) ::kill(::getpid(), signal);
        std::_Exit(75);
      },
      testing::ExitedWithCode(75), "");
}

// oneDNN 2.6's products for AVX-512 keep values further below the stack pointer than a handler's frame leaves alone.
TEST(StopSignal, DoesNotDisturbProducts) {
  constexpr int64_t kSize = 512;
  const kernels::Queue queue(1);
  const std::vector<float> a(kSize * kSize, 0.5F);
  const std::vector<float> expected(kSize * kSize, 0.25F * kSize);
  std::vector<float> c(kSize * kSize);
  for (int round = 0; round < 100; ++round) {
    const StopSignal stop;
    const std::jthread sender([round] {
      std::this_thread::sleep_for(microseconds(37 * round));
      ::kill(::getpid(), SIGINT);
    });
    while (!stop.requested()) {
      kernels::cpu::gemm(queue, {.m = kSize,
                                 .n = kSize,
                                 .k = kSize,
                                 .a = a.data(),
                                 .a_stride = kSize,
                                 .b = a.data(),
                                 .b_stride = kSize,
                                 .c = c.data(),
                                 .c_stride = kSize});
      ASSERT_TRUE(c == expected) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace segue
