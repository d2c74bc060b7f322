// The checkpoints of a run: order, replacement, pruning, damage and the ways to name one.
#include "core/checkpoint/checkpoint_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "tests/core/checkpoint/sample_checkpoint.h"
#include "tests/message_of.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// A file or directory that cannot be deleted while this lives, as a file that an NFS client still has open.
class StuckFile {
 public:
  explicit StuckFile(const fs::path& path) {
    if (!path_exists(path)) std::ofstream(path) << "x";
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    is_stuck_ = set_flags(FS_IMMUTABLE_FL);
  }
  ~StuckFile() {
    if (is_stuck_) set_flags(0);
    ::close(descriptor_);
  }
  StuckFile(const StuckFile&) = delete;
  StuckFile& operator=(const StuckFile&) = delete;
  bool is_stuck() const { return is_stuck_; }

 private:
  bool set_flags(int flags) const { return ::ioctl(descriptor_, FS_IOC_SETFLAGS, &flags) == 0; }
  int descriptor_ = -1;  // follows the file when its directory is renamed
  bool is_stuck_ = false;
};

class CheckpointStoreTest : public testing::Test {
 protected:
  void save(int64_t step, float value) { store_.save(step, SampleCheckpoint(value).contents()); }
  void save(int64_t step) { save(step, static_cast<float>(step)); }
  void damage(int64_t step, const std::string& file) {
    std::ofstream(store_.path_of(step) / file, std::ios::app) << "x";
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(store_.directory())) names.push_back(entry.path().filename());
    return names;
  }
  const TemporaryDirectory run_;
  std::vector<std::string> warnings_;
  CheckpointStore store_{run_ / "checkpoints", [this](const std::string& text) { warnings_.push_back(text); }};
};

TEST_F(CheckpointStoreTest, EmptyStoreHasNothing) {
  EXPECT_TRUE(store_.list().empty());
  EXPECT_EQ(store_.newest(), std::nullopt);
  EXPECT_EQ(store_.best(), std::nullopt);
  EXPECT_FALSE(store_.newest_intact().checkpoint.has_value());
}

TEST_F(CheckpointStoreTest, ListsInTheOrderOfSaves) {
  save(9);
  save(10);
  save(123456789012);
  EXPECT_THAT(store_.list(), ElementsAre(9, 10, 123456789012));
  EXPECT_THAT(names(), UnorderedElementsAre("step-00000009", "step-00000010", "step-123456789012"));
  EXPECT_EQ(value_of(store_.open(10)), 10.0F);
}

TEST_F(CheckpointStoreTest, RunThatWentBackHasItsNewSavesAsNewest) {
  for (const int64_t step : {80, 100, 120}) save(step);
  save(110);
  EXPECT_THAT(store_.list(), ElementsAre(80, 100, 120, 110));
  EXPECT_EQ(store_.newest(), 110);
  EXPECT_EQ(store_.newest_intact().checkpoint->step(), 110);
  store_.prune(2);
  EXPECT_THAT(store_.list(), ElementsAre(120, 110));
}

TEST_F(CheckpointStoreTest, SavingAStepAgainReplacesIt) {
  save(10, 1.0F);
  save(20, 2.0F);
  save(10, 3.0F);
  EXPECT_EQ(value_of(store_.open(10)), 3.0F);
  EXPECT_THAT(store_.list(), ElementsAre(20, 10));
  EXPECT_THAT(names(), UnorderedElementsAre("step-00000010", "step-00000020"));
}

TEST_F(CheckpointStoreTest, PruneKeepsTheNewestAndTheBest) {
  for (int64_t step = 1; step <= 5; ++step) {
    save(step);
    if (step == 2) store_.mark_best(step);
    store_.prune(2);
  }
  EXPECT_THAT(store_.list(), ElementsAre(2, 4, 5));
  EXPECT_EQ(store_.best(), 2);
  EXPECT_EQ(value_of(Checkpoint(store_.directory() / "best")), 2.0F);
  store_.mark_best(5);
  store_.prune(2);
  EXPECT_THAT(names(), UnorderedElementsAre("step-00000004", "step-00000005", "best"));
  EXPECT_EQ(message_of<ContractError>([&] { store_.prune(0); }), "keep_last is 0, expected at least 1");
}

TEST_F(CheckpointStoreTest, ACopyOfARunThatFollowedLinksIsOneToo) {
  save(1);
  save(2);
  store_.mark_best(1);
  const fs::path best = store_.directory() / "best";
  fs::remove(best);
  fs::copy(store_.path_of(1), best, fs::copy_options::recursive);
  EXPECT_EQ(store_.best(), 1);
  store_.mark_best(2);
  EXPECT_TRUE(fs::is_symlink(best));
  EXPECT_EQ(store_.best(), 2);
}

TEST_F(CheckpointStoreTest, BestMustExist) {
  EXPECT_THAT(message_of<ContractError>([&] { store_.mark_best(1); }), HasSubstr("step 1 marked best"));
  save(1);
  store_.mark_best(1);
  fs::remove_all(store_.path_of(1));
  EXPECT_EQ(store_.best(), std::nullopt);
}

TEST_F(CheckpointStoreTest, LeftoversOfKilledProcessesAreClearedByTheNextSave) {
  save(10, 1.0F);
  const fs::path at = store_.directory();
  fs::copy(at / "step-00000010", at / ".step-00000020.partial");
  fs::copy(at / "step-00000010", at / ".step-00000005.removed");
  fs::copy(at / "step-00000010", at / ".step-00000010.replaced");
  fs::create_directory(at / ".notes of a person");
  EXPECT_THAT(store_.list(), ElementsAre(10));
  save(30);
  EXPECT_THAT(names(), UnorderedElementsAre("step-00000010", "step-00000030", ".notes of a person"));
}

TEST_F(CheckpointStoreTest, LeftoversThatCannotBeDeletedAreToldOnceAndLeft) {
  save(10, 1.0F);
  for (const std::string name : {".step-00000020.partial", ".step-00000010.removed", ".step-00000020.replaced"})
    fs::copy(store_.directory() / "step-00000010", store_.directory() / name);
  save(20, 2.0F);
  for (const std::string name : {".step-00000020.partial", ".step-00000010.removed", ".step-00000020.replaced"})
    fs::create_directory(store_.directory() / name);
  const StuckFile partial(store_.directory() / ".step-00000020.partial/.nfs1");
  const StuckFile removed(store_.directory() / ".step-00000010.removed/.nfs2");
  const StuckFile replaced(store_.directory() / ".step-00000020.replaced/.nfs3");
  if (!partial.is_stuck()) GTEST_SKIP() << "files cannot be made immutable here";
  std::ofstream(store_.directory() / ".step-00000020.partial/weights.safetensors") << "half";
  save(20, 3.0F);
  save(30, 4.0F);
  store_.prune(1);
  EXPECT_THAT(store_.list(), ElementsAre(30));
  EXPECT_EQ(value_of(store_.open(30)), 4.0F);
  EXPECT_THAT(names(), UnorderedElementsAre("step-00000030", ".step-00000020.partial", ".step-00000010.removed",
                                            ".step-00000020.removed"));
  EXPECT_TRUE(store_.newest_intact().complaints.empty());
  EXPECT_FALSE(path_exists(store_.directory() / ".step-00000020.partial/weights.safetensors"));
  EXPECT_THAT(warnings_, UnorderedElementsAre(
                             HasSubstr("/.step-00000020.partial/.nfs1: cannot remove: Operation not permitted; left"),
                             HasSubstr("/.step-00000010.removed/.nfs2: cannot remove: Operation not permitted; left"),
                             HasSubstr("/.step-00000020.removed/.nfs3: cannot remove: Operation not permitted; left")));
}

TEST_F(CheckpointStoreTest, PruneGoesOnBesideCheckpointsThatCannotBeDeleted) {
  for (const int64_t step : {10, 20, 30, 40}) save(step);
  const StuckFile inside(store_.path_of(10) / "weights.safetensors");
  const StuckFile whole(store_.path_of(20));
  if (!whole.is_stuck()) GTEST_SKIP() << "files cannot be made immutable here";
  for (int i = 0; i < 2; ++i) store_.prune(1);
  EXPECT_THAT(names(), UnorderedElementsAre(".step-00000010.removed", "step-00000020", "step-00000040"));
  EXPECT_EQ(value_of(store_.open(20)), 20.0F);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("/.step-00000010.removed/weights.safetensors: cannot remove: Operation "
                                               "not permitted; left there"),
                                     HasSubstr("/step-00000020: cannot rename to ")));
}

TEST_F(CheckpointStoreTest, NewestSetAsideCountsWhereAnOlderOneCannotBeDeleted) {
  save(10, 1.0F);
  const fs::path at = store_.directory();
  save(20, 2.0F);
  fs::rename(at / "step-00000020", at / ".step-00000010.2.replaced");
  fs::rename(at / "step-00000010", at / ".step-00000010.replaced");
  EXPECT_EQ(value_of(store_.open(10)), 2.0F);
  save(30, 3.0F);
  EXPECT_EQ(value_of(store_.open(10)), 2.0F);
  EXPECT_THAT(names(), UnorderedElementsAre("step-00000010", "step-00000030"));
}

TEST_F(CheckpointStoreTest, NothingIsPublishedWhereAnotherProcessWritesNow) {
  int calls = 0;
  CheckpointStore store(run_ / "checkpoints", nullptr, [&] {
    if (++calls == 2) throw FileError("taken over");
  });
  EXPECT_EQ(message_of<FileError>([&] { store.save(10, SampleCheckpoint(1.0F).contents()); }), "taken over");
  EXPECT_THAT(names(), ElementsAre());
}

TEST_F(CheckpointStoreTest, CheckpointSetAsideCountsUntilItsSuccessorIsThere) {
  save(10, 1.0F);
  fs::rename(store_.directory() / "step-00000010", store_.directory() / ".step-00000010.replaced");
  EXPECT_EQ(store_.newest(), 10);
  EXPECT_EQ(value_of(store_.open(10)), 1.0F);
  save(20);
  EXPECT_THAT(names(), UnorderedElementsAre("step-00000010", "step-00000020"));
}

TEST_F(CheckpointStoreTest, DamageIsReportedWithTheNewestIntactOther) {
  for (const int64_t step : {100, 110, 120}) save(step);
  damage(110, "state.json");
  damage(120, "weights.safetensors");
  const std::string complaint = message_of<CheckpointError>([&] { store_.open(120); });
  EXPECT_THAT(complaint, HasSubstr("step-00000120/weights.safetensors: damaged: expected "));
  EXPECT_THAT(complaint, HasSubstr("; the newest intact other checkpoint is " + store_.path_of(100).string() +
                                   ", which `segue train --resume` continues from"));
}

TEST_F(CheckpointStoreTest, NewestIntactComplainsOfTheDamagedOnesItPassed) {
  for (const int64_t step : {100, 110, 120}) save(step);
  damage(110, "manifest.json");
  damage(120, "memory.safetensors");
  const IntactCheckpoint found = store_.newest_intact();
  ASSERT_TRUE(found.checkpoint.has_value());
  EXPECT_EQ(found.checkpoint->step(), 100);
  EXPECT_THAT(found.complaints, ElementsAre(HasSubstr("step-00000110/manifest.json: "),
                                            HasSubstr("step-00000120/memory.safetensors: damaged")));
}

TEST_F(CheckpointStoreTest, PruneLeavesDamagedManifestsForAPerson) {
  for (const int64_t step : {100, 110, 120}) save(step);
  damage(100, "manifest.json");
  store_.prune(1);
  EXPECT_THAT(names(), UnorderedElementsAre("step-00000100", "step-00000120"));
}

TEST_F(CheckpointStoreTest, DamagedOneCanBeSavedAgain) {
  save(10, 1.0F);
  damage(10, "manifest.json");
  save(10, 2.0F);
  EXPECT_EQ(value_of(store_.open(10)), 2.0F);
}

TEST_F(CheckpointStoreTest, ResolvesEveryWayToNameACheckpoint) {
  save(10);
  save(20);
  store_.mark_best(10);
  EXPECT_EQ(resolve_checkpoint(run_.path()).checkpoint.step(), 20);
  EXPECT_EQ(resolve_checkpoint(run_ / "").checkpoint.step(), 20);
  EXPECT_EQ(resolve_checkpoint(run_ / "checkpoints").checkpoint.step(), 20);
  EXPECT_EQ(resolve_checkpoint(run_ / "checkpoints/best").checkpoint.step(), 10);
  EXPECT_EQ(resolve_checkpoint(run_ / "checkpoints/step-00000010").checkpoint.step(), 10);
  write_checkpoint(run_ / "imported", 7, SampleCheckpoint(1.0F).contents());
  EXPECT_EQ(resolve_checkpoint(run_ / "imported").checkpoint.step(), 7);
}

TEST_F(CheckpointStoreTest, SaysThatTheBestIsAnotherOne) {
  save(10);
  save(20);
  EXPECT_EQ(resolve_checkpoint(run_.path()).choice, "");
  store_.mark_best(20);
  EXPECT_EQ(resolve_checkpoint(run_.path()).choice, "");
  store_.mark_best(10);
  EXPECT_EQ(resolve_checkpoint(run_.path()).choice,
            fmt::format("taking the newest checkpoint, of step 20; the one with the best evaluation, of step 10, is {}",
                        (run_ / "checkpoints/best").string()));
  EXPECT_EQ(resolve_checkpoint(run_ / "checkpoints/best").choice, "");
}

TEST_F(CheckpointStoreTest, SaysThatAFileStandsForTheBest) {
  save(10);
  save(20);
  const fs::path best = run_ / "checkpoints/best";
  EXPECT_EQ(store_.complaint_of_best(), "");
  write_file_atomically(best, "step-00000010");
  const std::string complaint =
      best.string() + ": expected a link to the best checkpoint, found a file, as copies without links have it";
  EXPECT_EQ(store_.best(), std::nullopt);
  EXPECT_EQ(store_.complaint_of_best(), complaint);
  EXPECT_EQ(resolve_checkpoint(run_.path()).choice, complaint + "; taking the newest checkpoint, of step 20");
  EXPECT_EQ(message_of<CheckpointError>([&] { resolve_checkpoint(best); }),
            fmt::format("{}; name the checkpoint itself, such as {}", complaint,
                        (run_ / "checkpoints/step-00000020").string()));
  store_.mark_best(20);
  EXPECT_EQ(store_.complaint_of_best(), "");
  EXPECT_EQ(store_.best(), 20);
}

TEST_F(CheckpointStoreTest, NamesTheBestBesideDamagedOnesOnlyWhereItIsIntact) {
  for (const int64_t step : {10, 20, 30}) save(step);
  damage(30, "weights.safetensors");
  store_.mark_best(30);
  EXPECT_EQ(resolve_checkpoint(run_.path()).choice, "taking the newest intact checkpoint, of step 20");
  store_.mark_best(10);
  EXPECT_EQ(resolve_checkpoint(run_.path()).choice,
            fmt::format("taking the newest intact checkpoint, of step 20; the one with the best evaluation, of step "
                        "10, is {}",
                        (run_ / "checkpoints/best").string()));
  damage(10, "weights.safetensors");
  EXPECT_EQ(resolve_checkpoint(run_.path()).choice, "taking the newest intact checkpoint, of step 20");
}

TEST_F(CheckpointStoreTest, ResolvesToTheNewestIntactWithComplaints) {
  save(10);
  save(20);
  damage(20, "state.json");
  const ResolvedCheckpoint found = resolve_checkpoint(run_.path());
  EXPECT_EQ(found.checkpoint.step(), 10);
  EXPECT_THAT(found.complaints, ElementsAre(HasSubstr("state.json: damaged")));
  EXPECT_THAT(message_of<CheckpointError>([&] { resolve_checkpoint(run_ / "checkpoints/step-00000020"); }),
              HasSubstr("step-00000010, which `segue train --resume` continues from"));
}

TEST_F(CheckpointStoreTest, ResolveSaysWhatIsNotThere) {
  EXPECT_THAT(message_of<CheckpointError>([&] { resolve_checkpoint(run_ / "nowhere"); }),
              HasSubstr("nowhere: expected a run or a checkpoint, found nothing there"));
  EXPECT_THAT(message_of<CheckpointError>([&] { resolve_checkpoint(run_.path()); }),
              HasSubstr(": expected a run's directory, its checkpoints, or one checkpoint"));
  fs::create_directory(store_.directory());
  EXPECT_THAT(message_of<CheckpointError>([&] { resolve_checkpoint(run_.path()); }),
              HasSubstr("checkpoints: expected a checkpoint, found none"));
  save(10);
  damage(10, "state.json");
  EXPECT_THAT(message_of<CheckpointError>([&] { resolve_checkpoint(run_.path()); }),
              HasSubstr("its one checkpoint is not intact: "));
}

}  // namespace
}  // namespace segue
