// The lock of a directory: held between processes, lost only with a word, and refused by some file systems.
#include "base/directory_lock.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "tests/message_of.h"
#include "tests/temporary_directory.h"

namespace {
int refusal = 0;  // errno of a file system that knows no locks
}

// Replaces the C library's function in this program.
extern "C" int fcntl(int descriptor, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  if (refusal != 0 && command == F_OFD_SETLK) {
    errno = refusal;
    return -1;
  }
  using Fcntl = int (*)(int, int, ...);
  static const auto next = reinterpret_cast<Fcntl>(::dlsym(RTLD_NEXT, "fcntl"));
  return next(descriptor, command, argument);
}

namespace segue {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string this_host() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string this_process() { return fmt::format("{} pid {}", this_host(), ::getpid()); }

std::string message_of_locking(const std::filesystem::path& directory) {
  return message_of<FileError>([&] { const DirectoryLock lock(directory); });
}

void overwrite(const std::filesystem::path& path, std::string_view text) {
  FileWriter file(path);
  file.write(text);
  file.sync_and_close();
}

// A process that has the lock while it lives.
class OtherProcess {
 public:
  explicit OtherProcess(const std::filesystem::path& directory) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw FileError("no pipe");
    process_ = ::fork();
    if (process_ == 0) {
      const DirectoryLock lock(directory);
      if (::write(ends[1], "x", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ends[1]);
    char ready = 0;
    if (::read(ends[0], &ready, 1) != 1) throw FileError("the other process has no lock");
    ::close(ends[0]);
  }
  ~OtherProcess() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  pid_t process() const { return process_; }

 private:
  pid_t process_ = 0;
};

TEST(DirectoryLock, NamesTheProcessThatHasIt) {
  const TemporaryDirectory directory;
  {
    const OtherProcess other(directory.path());
    EXPECT_EQ(message_of_locking(directory.path()),
              fmt::format("{}: in use by {} pid {}", directory.path().string(), this_host(), other.process()));
  }
  const DirectoryLock lock(directory.path());  // the other was killed
  lock.check();
  EXPECT_EQ(message_of_locking(directory.path()),
            fmt::format("{}: in use by {}", directory.path().string(), this_process()));
}

TEST(DirectoryLock, OutlivesOtherDescriptorsOfItsFile) {
  const TemporaryDirectory directory;
  const DirectoryLock lock(directory.path());
  read_file(directory / "lock");  // to close this one would end a lock of the process
  EXPECT_THAT(message_of_locking(directory.path()), HasSubstr(": in use by "));
}

TEST(DirectoryLock, EndsWithItsOwnerAndStaysAFile) {
  const TemporaryDirectory directory;
  for (int i = 0; i < 2; ++i) const DirectoryLock lock(directory.path());
  EXPECT_TRUE(path_exists(directory / "lock"));
}

TEST(DirectoryLock, AnOwnerWithoutANameIsAnotherProcess) {
  const TemporaryDirectory directory;
  const DirectoryLock lock(directory.path());
  overwrite(directory / "lock", "");
  EXPECT_THAT(message_of_locking(directory.path()), HasSubstr(": in use by another process, which left no name"));
}

TEST(DirectoryLock, SaysWhenTheLockOfAnotherHostEnds) {
  const TemporaryDirectory directory;
  const DirectoryLock lock(directory.path());
  overwrite(directory / "lock", R"({"host": "elsewhere", "process": 7, "random": "1"})");
  EXPECT_THAT(message_of_locking(directory.path()), HasSubstr(": in use by elsewhere pid 7; if that host is gone, "));
}

TEST(DirectoryLock, SaysWhoTookItOver) {
  const TemporaryDirectory directory;
  const DirectoryLock lock(directory.path());
  overwrite(directory / "lock", R"({"host":"elsewhere","process":7,"random":"1"})");
  EXPECT_EQ(message_of<FileError>([&] { lock.check(); }),
            fmt::format("{}: taken over by elsewhere pid 7; this process, {}, ends and saves nothing more",
                        (directory / "lock").string(), this_process()));
}

TEST(DirectoryLock, SaysThatItsFileIsGone) {
  const TemporaryDirectory directory;
  const DirectoryLock lock(directory.path());
  std::filesystem::remove(directory / "lock");
  EXPECT_THAT(message_of<FileError>([&] { lock.check(); }), HasSubstr("/lock: gone, so that another process may "));
  const OtherProcess other(directory.path());
  EXPECT_THAT(message_of<FileError>([&] { lock.check(); }),
              HasSubstr(fmt::format("/lock: taken over by {} pid {}; ", this_host(), other.process())));
}

TEST(DirectoryLock, SaysThatTheFileSystemRefusesLocks) {
  const TemporaryDirectory directory;
  for (const auto& [error, words] : {std::pair{ENOLCK, "No locks available"},
                                     {ENOSYS, "Function not implemented"},
                                     {EOPNOTSUPP, "Operation not supported"}}) {
    refusal = error;
    const std::string message = message_of_locking(directory.path());
    refusal = 0;
    EXPECT_THAT(message, StartsWith(fmt::format("{}: the file system refuses locks, which keep two processes from "
                                                "writing to one run: {}; mount it with them (NFS: ",
                                                (directory / "lock").string(), words)));
  }
  const DirectoryLock lock(directory.path());
}

}  // namespace
}  // namespace segue
