// Parts of a tape that backward computes again: what runs twice, what lives twice, and what stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "core/tape/tape.h"
#include "tests/core/tape/filled.h"
#include "tests/message_of.h"

namespace segue {
namespace {

using kernels::Queue;

// Each operation reads what the one before wrote; backward of d does without.
TEST(TapeParts, APartIsComputedAgainWhereBackwardNeedsIt) {
  constexpr int64_t kElements = 1000;
  Queue queue(1);
  for (const Recompute recompute : {Recompute::kNone, Recompute::kAttention, Recompute::kBlock}) {
    Arena arena;
    Tape tape(arena, Tape::Mode::kTraining);
    tape.recompute(recompute);
    std::string ran;
    Slot x = tape.new_slot({kElements});
    const auto add = [&](char name, bool needs_input) {
      const Slot from = x, y = tape.new_slot({kElements});
      tape.record({.forward_slots = {from, y},
                   .forward = [&ran, name](Queue&) { ran += name; },
                   .backward_slots = {needs_input ? from : Slot{}},
                   .backward = [&ran, name](Queue&) { ran += static_cast<char>(std::toupper(name)); }});
      x = y;
    };
    add('a', true);
    {
      const RecomputedPart part(tape, Recompute::kBlock);
      add('b', true);
      add('c', true);
      add('d', false);
    }
    add('e', true);
    tape.seal();
    tape.forward(queue);
    tape.backward(queue);
    // d writes what e reads, so it is kept; what b wrote is computed again for c.
    EXPECT_EQ(ran, recompute == Recompute::kBlock ? "abcdeEbDCBA" : "abcdeEDCBA");
  }
}

// An operation of a part writes what the part needs and what others read, and another number each time that it runs.
TEST(TapeParts, WhatOthersReadStaysWhenAPartIsComputedAgain) {
  constexpr int64_t kElements = 100;
  Queue queue(1);
  Arena arena;
  Tape tape(arena, Tape::Mode::kTraining);
  const Slot needed = tape.new_slot({kElements}), read = tape.new_slot({kElements}), last = tape.new_slot({kElements});
  float runs = 0.0F;
  {
    const RecomputedPart part(tape);
    tape.record({.forward_slots = {needed, read},
                 .forward =
                     [&](Queue&) {
                       ++runs;
                       fill(tape.write(needed), runs);
                       fill(tape.write(read), runs);
                     },
                 .backward_slots = {needed, read},
                 .backward =
                     [&](Queue&) {
                       EXPECT_TRUE(is_all(tape.read(needed), 2.0F));
                       EXPECT_TRUE(is_all(tape.read(read), 1.0F));
                     }});
    tape.record({.forward_slots = {needed, read, last},
                 .forward =
                     [&](Queue&) {
                       EXPECT_TRUE(is_all(tape.read(needed), runs) && is_all(tape.read(read), runs));
                       fill(tape.write(last), 3.0F);
                     },
                 .backward_slots = {last},
                 .backward = [&](Queue&) { EXPECT_TRUE(is_all(tape.read(last), 3.0F)); }});
  }
  tape.keep(read);
  tape.seal();
  tape.forward(queue);
  tape.backward(queue);
  EXPECT_EQ(runs, 2.0F);
  EXPECT_TRUE(is_all(tape.read(read), 1.0F));
}

// What a part reads may be overwritten behind it where backward undoes that first.
TEST(TapeParts, APartMayReadWhatIsOverwrittenBehindItAndUndone) {
  constexpr int64_t kElements = 100;
  Queue queue(1);
  const auto expect_plan = [&](bool is_undone, bool reads_its_own) {
    Arena arena;
    Tape tape(arena, Tape::Mode::kTraining);
    const auto slot = [&] { return tape.new_slot({kElements}); };
    const Slot a = slot(), a_after = slot(), b = slot(), b_after = slot(), branch = slot();
    tape.overwrite(a_after, a);
    tape.overwrite(b_after, b);
    const auto write = [&](Slot to, float value) {
      return [&tape, to, value](Queue&) { fill(tape.write(to), value); };
    };
    tape.record({.forward_slots = {a}, .forward = write(a, 1.0F), .backward_slots = {}, .backward = nullptr});
    tape.record({.forward_slots = {b}, .forward = write(b, 1.0F), .backward_slots = {}, .backward = nullptr});
    {
      const RecomputedPart part(tape);
      const Slot from = reads_its_own ? b : a;
      const auto expect_begin = [&tape, from](Queue&) { EXPECT_TRUE(is_all(tape.read(from), 1.0F)); };
      tape.record({.forward_slots = {from, branch},
                   .forward =
                       [=](Queue& here) {
                         expect_begin(here);
                         write(branch, 4.0F)(here);
                       },
                   .backward_slots = {from},
                   .backward = expect_begin});
      tape.record({.forward_slots = {b_after, branch},
                   .forward = write(b_after, 5.0F),
                   .backward_slots = {b_after, branch},
                   .backward =
                       [&, branch, b_after](Queue&) {
                         EXPECT_TRUE(is_all(tape.read(branch), 4.0F));
                         fill(tape.write(b_after), 1.0F);
                       },
                   .is_undone = true});
    }
    tape.record({.forward_slots = {a_after},
                 .forward = write(a_after, 7.0F),
                 .backward_slots = {a_after},
                 .backward = write(a_after, 1.0F),
                 .is_undone = is_undone});
    tape.seal();
    tape.forward(queue);
    tape.backward(queue);
  };
  EXPECT_NO_THROW(expect_plan(true, false));
  EXPECT_THROW(expect_plan(false, false), ContractError);
  EXPECT_THROW(expect_plan(true, true), ContractError);
}

// What is written in place is written again, and what reads a view is not; a view of what others read is kept.
TEST(TapeParts, APartIsComputedAgainWithWhatSharesMemory) {
  constexpr int64_t kElements = 100;
  Queue queue(1);
  Arena arena;
  Tape tape(arena, Tape::Mode::kTraining);
  tape.recompute(Recompute::kBlock);
  std::string ran;
  const Slot x = tape.new_slot({kElements}), turned = tape.new_slot({kElements}), view = tape.new_slot({kElements});
  const Slot read = tape.new_slot({kElements}), kept = tape.new_slot({kElements});
  tape.overwrite(turned, x);
  tape.share(view, kept);
  const auto add = [&](char name, Slot from, Slot to, float expected, float written, Slot wanted) {
    tape.record({.forward_slots = {from, to},
                 .forward =
                     [&, name, from, to, expected, written](Queue&) {
                       ran += name;
                       EXPECT_TRUE(!from.exists() || is_all(tape.read(from), expected)) << name;
                       fill(tape.write(to), written);
                     },
                 .backward_slots = {wanted},
                 .backward =
                     [&, name, wanted, written](Queue&) {
                       ran += static_cast<char>(std::toupper(name));
                       EXPECT_TRUE(!wanted.exists() || is_all(tape.read(wanted), written)) << name;
                     }});
  };
  {
    const RecomputedPart part(tape, Recompute::kBlock);
    add('a', {}, x, 0.0F, 1.0F, {});
    add('b', x, read, 1.0F, 2.0F, read);      // before the turn
    add('c', x, turned, 1.0F, 3.0F, turned);  // in place
    add('d', turned, kept, 3.0F, 4.0F, {});   // others read this
    add('e', view, tape.new_slot({kElements}), 4.0F, 5.0F, {});
  }
  add('f', kept, tape.new_slot({kElements}), 4.0F, 6.0F, {});
  tape.seal();
  for (int replay = 0; replay < 2; ++replay) {
    tape.forward(queue);
    tape.backward(queue);
  }
  EXPECT_EQ(ran, "abcdefFabcEDCBAabcdefFabcEDCBA");
}

TEST(TapeParts, APartWhoseForwardAddsToGradientsIsRefused) {
  Arena arena;
  Tape tape(arena, Tape::Mode::kTraining);
  tape.recompute(Recompute::kBlock);
  tape.keep({});
  const Value x = tape.new_value({10});
  const OwnedTensor gradient(DType::kFloat32, {10});
  {
    const RecomputedPart part(tape, Recompute::kBlock);
    tape.record({.name = "loss",
                 .forward_slots = {x.data},
                 .forward = [](Queue&) {},
                 .backward_slots = {},
                 .backward = nullptr,
                 .parameter_gradients = {gradient.view()}});
    tape.record({.name = "user",
                 .forward_slots = {x.data},
                 .forward = [](Queue&) {},
                 .backward_slots = {x.data},
                 .backward = [](Queue&) {}});
  }
  EXPECT_THAT(message_of<ContractError>([&] { tape.seal(); }), testing::HasSubstr("loss: its forward adds"));
}

TEST(TapeParts, PartsThatAreComputedAgainDoNotHoldOneAnother) {
  Arena arena;
  Tape tape(arena, Tape::Mode::kTraining);
  tape.recompute(Recompute::kBlock);
  const RecomputedPart part(tape, Recompute::kBlock);
  const RecomputedPart of_another_kind(tape, Recompute::kAttention);
  EXPECT_THAT(message_of<ContractError>([&] { const RecomputedPart held(tape, Recompute::kBlock); }),
              testing::HasSubstr("holds another one"));
}

}  // namespace
}  // namespace segue
