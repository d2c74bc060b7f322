// What stands where a command is to write: nobody's files are mixed with others or replaced by them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace segue {

// By the files that its writer always leaves.
enum class DirectoryKind : uint8_t {
  kRun,
  kCheckpoints,
  kCheckpoint,
  kDataset,
  kEvaluation,
  kComparison,
  kOthersModel
};

// The first bytes of a file; none of what cannot be read.
std::string beginning_of(const std::filesystem::path& path);

// Of what is in a directory, in order; none of what cannot be read. Of very many the first that the system tells.
std::vector<std::string> names_in(const std::filesystem::path& directory);

// None of a directory that is not there, is empty, or holds other files alone.
std::vector<DirectoryKind> kinds_in(const std::filesystem::path& directory);

inline constexpr std::string_view kNoFiles = "no files";

// "a run", "a dataset and a run", "other files, such as notes.txt", kNoFiles where it is not there or empty, or "a
// file" where it is none.
std::string describe_content(const std::filesystem::path& directory);

// What may have been meant by a path at which nothing is, of the directories of a kind beside it: "; did you mean
// runs/book?", "; beside it: runs/a, runs/b", or nothing where there is none.
std::string meant_beside(const std::filesystem::path& missing, DirectoryKind kind);

// What may be wrong with a path at which nothing is: a web address, several paths with commas, a pattern that matches
// nothing, or a home directory that no shell has put in. "; download it first, and name the file"; mostly nothing.
std::string hint_at_missing(const std::filesystem::path& missing);

// The run that a file or a directory of it lies in, such as a checkpoint; nothing where it is in none.
std::optional<std::filesystem::path> run_around(const std::filesystem::path& path);

// Throws UsageError, naming the flag, where there can be no directory of that name, since it or one above is a file.
void check_directory_place(const std::filesystem::path& directory, std::string_view flag);

}  // namespace segue
