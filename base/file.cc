// POSIX file operations, each checked.
#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/process_status.h"
#include "base/unfinished_output.h"

namespace segue {

std::string reason_of_failure() { return std::generic_category().message(errno); }

namespace {

// By their specification pointers are shorter.
constexpr size_t kLongestGitLfsPointer = 1024;

}  // namespace

// What Git leaves in place of a large file that was not fetched: lines of text.
void refuse_git_lfs_pointer(std::string_view content, const std::string& name) {
  if (content.size() < kLongestGitLfsPointer && content.starts_with("version https://git-lfs.github.com/spec/v1\n"))
    throw FileError("{}: expected the file, found Git LFS's pointer to it; git lfs pull fetches it", name);
}

namespace {

// How much of a file may be unsynced: a sync of it all at the end of a large file could take longer than others wait
// for a sign of progress.
constexpr size_t kUnsyncedBytes = size_t{64} << 20;

// Closes on scope exit; a descriptor opened for reading has nothing to lose in close().
class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags) : value_(::open(path.c_str(), flags | O_CLOEXEC)) {
    if (value_ < 0) throw FileError("{}: cannot open: {}", path.string(), reason_of_failure());
  }
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(Descriptor&& other) noexcept : value_(other.release()) {}
  Descriptor& operator=(Descriptor&&) = delete;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }
  int release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

// "a directory"; of what is no regular file.
std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "something else";
}

struct InputFile {
  Descriptor descriptor;
  int64_t size;
};

void check_for_git_lfs(const InputFile& file, const std::filesystem::path& path) {
  std::array<char, kLongestGitLfsPointer> begin{};
  if (file.size >= std::ssize(begin)) return;
  const ssize_t got = ::pread(file.descriptor.get(), begin.data(), begin.size(), 0);
  if (got > 0) refuse_git_lfs_pointer(std::string_view(begin.data(), static_cast<size_t>(got)), path.string());
}

// Opening a pipe would wait for its writer, which O_NONBLOCK is against; of a socket only its kind can be asked.
InputFile open_regular(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode))
    throw FileError("{}: expected a regular file, found a socket", path.string());
  InputFile file{Descriptor(path, O_RDONLY | O_NONBLOCK | O_NOCTTY), 0};
  if (::fstat(file.descriptor.get(), &status) != 0)
    throw FileError("{}: cannot stat: {}", path.string(), reason_of_failure());
  if (!S_ISREG(status.st_mode))
    throw FileError("{}: expected a regular file, found {}", path.string(), kind_of(status.st_mode));
  file.size = status.st_size;
  return file;
}

InputFile open_input(const std::filesystem::path& path) {
  InputFile file = open_regular(path);
  check_for_git_lfs(file, path);
  return file;
}

// The part of `block` that was filled before the file ended. `read_more` is read() or pread() of one descriptor.
template <typename ReadMore>
std::span<std::byte> fill(std::span<std::byte> block, const std::filesystem::path& path, ReadMore read_more) {
  size_t done = 0;
  while (done < block.size()) {
    const ssize_t got = read_more(block.subspan(done), done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw FileError("{}: cannot read: {}", path.string(), reason_of_failure());
    if (got == 0) break;
    done += static_cast<size_t>(got);
    note_progress();
  }
  return block.first(done);
}

std::span<std::byte> read_into(std::span<std::byte> block, int descriptor, const std::filesystem::path& path) {
  return fill(block, path, [descriptor](std::span<std::byte> rest, size_t /*done*/) {
    return ::read(descriptor, rest.data(), rest.size());
  });
}

// At least one byte of `bytes`, which are not empty; how many.
size_t write_some(int descriptor, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  ssize_t put = -1;
  do {
    put = ::write(descriptor, bytes.data(), bytes.size());
  } while (put < 0 && errno == EINTR);
  if (put < 0) throw FileError("{}: cannot write: {}", path.string(), reason_of_failure());
  note_progress();
  return static_cast<size_t>(put);
}

void write_into_sink(const std::filesystem::path& path, std::string_view text) {
  const Descriptor sink(path, O_WRONLY | O_APPEND | O_NOCTTY);
  static_cast<void>(std::fflush(stdout));  // which it may be
  for (std::span<const std::byte> rest = std::as_bytes(std::span(text)); !rest.empty();)
    rest = rest.subspan(write_some(sink.get(), rest, path));
}

// Removes as much of a file or a directory as it can, and returns what stays and why; empty when all is gone.
std::string remove_what_goes(const std::filesystem::path& path) {
  std::string complaint;
  std::error_code error;
  if (std::filesystem::is_directory(std::filesystem::symlink_status(path, error))) {
    for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      std::string inside = remove_what_goes(entry->path());
      if (complaint.empty()) complaint = std::move(inside);
    }
  }
  std::filesystem::remove(path, error);
  if (error && complaint.empty()) complaint = fmt::format("{}: cannot remove: {}", path.string(), error.message());
  return complaint;
}

}  // namespace

std::string read_file(const std::filesystem::path& path, int64_t max_bytes) {
  const InputFile file = open_input(path);
  if (file.size > max_bytes) throw FileError("{}: {} bytes, expected at most {}", path.string(), file.size, max_bytes);
  std::string text(static_cast<size_t>(file.size), '\0');
  const size_t done = read_into(std::as_writable_bytes(std::span(text)), file.descriptor.get(), path).size();
  if (done < text.size()) throw FileError("{}: ends at byte {}, expected {}", path.string(), done, file.size);
  return text;
}

std::string read_beginning(const std::filesystem::path& path) {
  constexpr size_t kBytes = 4096;
  const InputFile file = open_regular(path);
  std::string text(kBytes, '\0');
  text.resize(read_into(std::as_writable_bytes(std::span(text)), file.descriptor.get(), path).size());
  return text;
}

FileReader::FileReader(const std::filesystem::path& path) : path_(path) {
  InputFile file = open_input(path);
  descriptor_ = file.descriptor.release();
  size_ = file.size;
}

FileReader::~FileReader() { ::close(descriptor_); }

std::span<std::byte> FileReader::read(std::span<std::byte> block) { return read_into(block, descriptor_, path_); }

std::span<std::byte> StandardInput::read(std::span<std::byte> block) {
  return read_into(block, STDIN_FILENO, "standard input");
}

std::span<std::byte> FileReader::read_at(int64_t offset, std::span<std::byte> block) const {
  return fill(block, path_, [this, offset](std::span<std::byte> rest, size_t done) {
    return ::pread(descriptor_, rest.data(), rest.size(), offset + static_cast<off_t>(done));
  });
}

FileWriter::FileWriter(const std::filesystem::path& path)
    : path_(path), descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0) throw FileError("{}: cannot create: {}", path_.string(), reason_of_failure());
}

FileWriter::~FileWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void FileWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t put = write_some(descriptor_, bytes.first(std::min(bytes.size(), kUnsyncedBytes - unsynced_)), path_);
    bytes = bytes.subspan(put);
    unsynced_ += put;
    if (unsynced_ == kUnsyncedBytes) sync();
  }
}

void FileWriter::sync() {
  const ScopedActivity syncing("syncing " + path_.string());
  if (::fsync(descriptor_) != 0) throw FileError("{}: cannot sync: {}", path_.string(), reason_of_failure());
  unsynced_ = 0;
}

void FileWriter::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void FileWriter::sync_and_close() {
  sync();
  if (::close(std::exchange(descriptor_, -1)) != 0)
    throw FileError("{}: cannot close: {}", path_.string(), reason_of_failure());
}

void sync_directory(const std::filesystem::path& directory) {
  const ScopedActivity syncing("syncing " + directory.string());
  const Descriptor handle(directory, O_RDONLY | O_DIRECTORY);
  if (::fsync(handle.get()) != 0) throw FileError("{}: cannot sync: {}", directory.string(), reason_of_failure());
}

bool path_exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::filesystem::path behind_links(const std::filesystem::path& path) {
  constexpr int kMostLinks = 40;  // as Linux follows
  std::filesystem::path place = path;
  std::error_code error;
  for (int links = 0; links < kMostLinks && std::filesystem::is_symlink(place, error); ++links)
    place = place.parent_path() / std::filesystem::read_symlink(place, error);
  return place;
}

bool is_stream(const std::filesystem::path& path) {
  const std::string name = path.lexically_normal().string();
  if (name == "/dev/stdout" || name == "/dev/stderr" || name.starts_with("/dev/fd/")) return true;
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

std::filesystem::path file_to_replace(const std::filesystem::path& path) {
  struct stat status {};
  if (is_stream(path))
    throw FileError(
        "{}: expected a file to write, found {}", path.string(),
        ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) ? kind_of(status.st_mode) : "a stream");
  return behind_links(path);
}

void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error) throw FileError("{}: cannot rename to {}: {}", from.string(), to.string(), error.message());
  sync_directory(to.has_parent_path() ? to.parent_path() : std::filesystem::path("."));
}

void make_directories(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw FileError("{}: cannot create the directory: {}", directory.string(), error.message());
}

void remove_tree(const std::filesystem::path& path) {
  const std::string complaint = remove_what_goes(path);
  if (!complaint.empty()) throw FileError("{}", complaint);
}

namespace {

std::filesystem::path partial_of(const std::filesystem::path& path) { return path.string() + ".partial"; }

}  // namespace

void check_writable(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw FileError("{}: expected a file to write, found a directory", path.string());
  if (is_stream(path)) {
    if (::access(path.c_str(), W_OK) != 0) throw FileError("{}: cannot write: {}", path.string(), reason_of_failure());
    return;
  }
  const std::filesystem::path target = behind_links(path);
  const std::filesystem::path directory = target.has_parent_path() ? target.parent_path() : ".";
  if (!std::filesystem::is_directory(directory, ignored))
    throw FileError("{}: cannot write there: {} {}", path.string(), directory.string(),
                    path_exists(directory) ? "is no directory; name another file"
                                           : "does not exist; make that directory, or name another file");
  const std::filesystem::path beside = partial_of(target);
  const int descriptor = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    throw FileError("{}: cannot write in {}: {}; name another file", path.string(), directory.string(),
                    reason_of_failure());
  ::close(descriptor);
  std::filesystem::remove(beside, ignored);
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  if (is_stream(path)) return write_into_sink(path, text);
  const std::filesystem::path target = behind_links(path);
  const std::filesystem::path beside = partial_of(target);
  UnfinishedOutput output(beside, target);
  try {
    FileWriter file(beside);
    file.write(text);
    file.sync_and_close();
    output.publish([&] { rename_durably(beside, target); });
  } catch (const FileError&) {
    std::error_code ignored;
    std::filesystem::remove(beside, ignored);
    throw;
  }
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const InputFile file = open_input(path);
  size_ = static_cast<size_t>(file.size);
  if (size_ == 0) return;
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor.get(), 0);
  if (mapped == MAP_FAILED) throw FileError("{}: cannot map: {}", path.string(), reason_of_failure());
  data_ = static_cast<const std::byte*>(mapped);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace segue
