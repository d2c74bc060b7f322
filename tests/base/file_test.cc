// Files: what fails says so, and a failed write leaves the old content.
#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include "base/error.h"
#include "tests/message_of.h"
#include "tests/temporary_directory.h"

namespace segue {

namespace {

// While it lives, no file grows beyond `bytes`: a disk that is full, for one process.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(WriteFileAtomically, ReplacesTheWholeFile) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "file", "a long first text");
  write_file_atomically(directory / "file", "second");
  EXPECT_EQ(read_file(directory / "file"), "second");
  EXPECT_FALSE(path_exists(directory / "file.partial"));
}

TEST(WriteFileAtomically, AFullDiskLeavesTheOldFileAndNothingElse) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "file", "old");
  std::string message;
  {
    const FileSizeLimit limit(4096);
    message = message_of<FileError>([&] { write_file_atomically(directory / "file", std::string(10000, 'x')); });
  }
  EXPECT_NE(message.find("file.partial: cannot write: "), std::string::npos) << message;
  EXPECT_EQ(read_file(directory / "file"), "old");
  EXPECT_FALSE(path_exists(directory / "file.partial"));
}

TEST(WriteFileAtomically, NamesADirectoryInTheWay) {
  const TemporaryDirectory directory;
  make_directories(directory / "taken" / "inside");
  EXPECT_THROW(write_file_atomically(directory / "taken", "text"), FileError);
  EXPECT_THROW(write_file_atomically(directory / "missing" / "file", "text"), FileError);
}

TEST(WriteFileAtomically, LeavesLinksWhereTheyAre) {
  const TemporaryDirectory directory;
  make_directories(directory / "elsewhere");
  std::filesystem::create_symlink("elsewhere/file", directory / "link");
  std::filesystem::create_symlink("link", directory / "second");
  for (const std::string text : {"new", "newer"}) {
    check_writable(directory / "second");
    write_file_atomically(directory / "second", text);
    EXPECT_TRUE(std::filesystem::is_symlink(directory / "second"));
    EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
    EXPECT_EQ(read_file(directory / "elsewhere" / "file"), text);
  }
}

TEST(WriteFileAtomically, WritesIntoAPipeAndReplacesNoDevice) {
  const TemporaryDirectory directory;
  const std::filesystem::path pipe = directory / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  check_writable(pipe);
  write_file_atomically(pipe, "text");
  std::array<char, 8> got{};
  EXPECT_EQ(::read(reader, got.data(), got.size()), 4);
  EXPECT_STREQ(got.data(), "text");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_FALSE(path_exists(directory / "pipe.partial"));
  EXPECT_EQ(message_of<FileError>([&] { file_to_replace(pipe); }),
            pipe.string() + ": expected a file to write, found a pipe");
  ::close(reader);
}

TEST(CheckWritable, SaysBeforehandWhatWritingWouldSay) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "file", "old");
  check_writable(directory / "file");
  check_writable(directory / "new");
  EXPECT_EQ(read_file(directory / "file"), "old");
  EXPECT_FALSE(path_exists(directory / "new"));
  EXPECT_FALSE(path_exists(directory / "new.partial"));
  EXPECT_THROW(check_writable(directory.path()), FileError);
  EXPECT_THROW(check_writable(directory / "missing" / "file"), FileError);
}

TEST(FileWriter, SaysThatTheDeviceIsFull) {
  FileWriter writer("/dev/full");
  EXPECT_EQ(message_of<FileError>([&] { writer.write("text"); }), "/dev/full: cannot write: No space left on device");
}

TEST(FileWriter, WritesInPieces) {
  const TemporaryDirectory directory;
  FileWriter writer(directory / "file");
  writer.write("one ");
  writer.write(std::string_view());
  writer.write("two");
  writer.sync_and_close();
  EXPECT_EQ(read_file(directory / "file"), "one two");
}

TEST(ReadFile, NamesWhatIsWrong) {
  const TemporaryDirectory directory;
  const std::string missing = (directory / "missing").string();
  EXPECT_EQ(message_of<FileError>([&] { read_file(missing); }), missing + ": cannot open: No such file or directory");
  EXPECT_EQ(message_of<FileError>([&] { read_file(directory.path()); }),
            directory.path().string() + ": expected a regular file, found a directory");
  write_file_atomically(directory / "file", "12345");
  EXPECT_EQ(read_file(directory / "file", 5), "12345");
  EXPECT_EQ(message_of<FileError>([&] { read_file(directory / "file", 4); }),
            (directory / "file").string() + ": 5 bytes, expected at most 4");
}

TEST(ReadFile, RefusesAPipeWithoutWaitingForItsWriter) {
  const TemporaryDirectory directory;
  const std::filesystem::path pipe = directory / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string expected = pipe.string() + ": expected a regular file, found a pipe";
  EXPECT_EQ(message_of<FileError>([&] { read_file(pipe); }), expected);
  EXPECT_EQ(message_of<FileError>([&] { FileReader reader(pipe); }), expected);
  EXPECT_EQ(message_of<FileError>([&] { MappedFile file(pipe); }), expected);
}

TEST(ReadFile, NamesGitLfsWhereItLeftAPointer) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "weights.safetensors";
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, 'a') + "\nsize 12345\n";
  write_file_atomically(path, pointer);
  const std::string says =
      path.string() + ": expected the file, found Git LFS's pointer to it; git lfs pull fetches it";
  EXPECT_EQ(message_of<FileError>([&] { read_file(path); }), says);
  EXPECT_EQ(message_of<FileError>([&] { FileReader{path}; }), says);
  EXPECT_EQ(message_of<FileError>([&] { MappedFile{path}; }), says);
  for (const std::string& other : {pointer.substr(0, 42), "On " + pointer, pointer + std::string(1000, ' ')}) {
    write_file_atomically(path, other);  // of pointers, and longer than one
    EXPECT_EQ(read_file(path), other);
  }
}

TEST(FileReader, ReadsAtAnyPlace) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "file", "0123456789");
  const FileReader reader(directory / "file");
  std::array<std::byte, 4> block{};
  EXPECT_EQ(reader.size(), 10);
  EXPECT_EQ(reader.read_at(8, block).size(), 2);
  EXPECT_EQ(reader.read_at(3, block).size(), 4);
  EXPECT_EQ(static_cast<char>(block[0]), '3');
  EXPECT_TRUE(reader.read_at(10, block).empty());
}

TEST(FileReader, ReadsBlockByBlock) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "file", "abcdefgh");
  FileReader reader(directory / "file");
  std::string block(5, '.');
  EXPECT_EQ(reader.read(std::as_writable_bytes(std::span(block))).size(), 5U);
  EXPECT_EQ(block, "abcde");
  EXPECT_EQ(reader.read(std::as_writable_bytes(std::span(block))).size(), 3U);
  EXPECT_EQ(block.substr(0, 3), "fgh");
  EXPECT_TRUE(reader.read(std::as_writable_bytes(std::span(block))).empty());
}

TEST(MappedFile, ShowsTheBytes) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "file", "abc");
  const MappedFile mapped(directory / "file");
  ASSERT_EQ(mapped.bytes().size(), 3U);
  EXPECT_EQ(mapped.bytes()[2], std::byte{'c'});
  write_file_atomically(directory / "empty", "");
  EXPECT_TRUE(MappedFile(directory / "empty").bytes().empty());
  EXPECT_THROW(MappedFile(directory / "missing"), FileError);
}

TEST(Directories, AreMadeRenamedAndRemoved) {
  const TemporaryDirectory directory;
  make_directories(directory / "a" / "b");
  make_directories(directory / "a" / "b");
  rename_durably(directory / "a", directory / "c");
  EXPECT_TRUE(path_exists(directory / "c" / "b"));
  EXPECT_THROW(rename_durably(directory / "a", directory / "d"), FileError);
  remove_tree(directory / "c");
  remove_tree(directory / "c");
  EXPECT_FALSE(path_exists(directory / "c"));
}

}  // namespace

}  // namespace segue
