// Files: whole reads with clear errors, and writes that either happen completely or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace segue {

// Whatever opens files for reading takes regular files only, and says what it found instead. It never waits for the
// other end of a pipe, and refuses Git LFS's pointers to files that were not fetched.

// Throws FileError where that is all of `content`: of what is no file, such as standard input. Of longer content 1024
// bytes are enough.
void refuse_git_lfs_pointer(std::string_view content, const std::string& name);

// What the last call of the operating system failed of, in words: errno.
std::string reason_of_failure();

// The whole file as text; throws FileError, also when it is larger than max_bytes.
std::string read_file(const std::filesystem::path& path, int64_t max_bytes = int64_t{1} << 30);

// The first bytes of a file, at most 4096, also of Git LFS's pointers; throws FileError.
std::string read_beginning(const std::filesystem::path& path);

// An open file, of which only the caller's block is in memory.
class FileReader {
 public:
  explicit FileReader(const std::filesystem::path& path);  // throws FileError
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;
  // Fills `block` as far as the file goes; the part of it that was filled, empty at the end.
  std::span<std::byte> read(std::span<std::byte> block);
  // The same from an offset, which leaves the position of sequential reading as it is.
  std::span<std::byte> read_at(int64_t offset, std::span<std::byte> block) const;
  int64_t size() const { return size_; }  // when it was opened

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

// Standard input, read like a file.
class StandardInput {
 public:
  std::span<std::byte> read(std::span<std::byte> block);
};

// An open file for sequential writing. Every short write, full disk or failed sync throws FileError naming the path.
class FileWriter {
 public:
  explicit FileWriter(const std::filesystem::path& path);  // creates or truncates
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void sync_and_close();  // without it the destructor closes and the content is not promised

 private:
  void sync();
  std::filesystem::path path_;
  int descriptor_ = -1;
  size_t unsynced_ = 0;  // bytes
};

// Makes the entries of a directory durable after a rename or an unlink.
void sync_directory(const std::filesystem::path& directory);

// Whether there is anything of this name; false also when the system does not say.
bool path_exists(const std::filesystem::path& path);

// Where the links lead that `path` may be one of; what they lead to need not exist.
std::filesystem::path behind_links(const std::filesystem::path& path);

// A pipe, a terminal, /dev/null: bytes go into it, and no file may take its place. So does standard output, whatever it
// was redirected to.
bool is_stream(const std::filesystem::path& path);

// The same, of a file; FileError where it is a device, a pipe or standard output, which no file may take the place of.
std::filesystem::path file_to_replace(const std::filesystem::path& path);

// Renames and makes the new entry durable; an existing file (not a directory) at `to` is replaced.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

// Creates a directory and its parents; one that exists already is fine.
void make_directories(const std::filesystem::path& directory);

// Removes a file or a directory with all it holds; one that does not exist is fine. The first thing that the system
// does not let go is named, after all others are gone.
void remove_tree(const std::filesystem::path& path);

// Throws FileError where write_file_atomically could not write; for who has long work to do first. Changes nothing.
void check_writable(const std::filesystem::path& path);

// Writes beside, syncs, renames: a reader sees the old file or the whole of the new one. A link stays, and what it
// leads to is written. A device, a pipe or standard output gets the text as it is.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

// A file mapped read-only.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);  // throws FileError
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace segue
