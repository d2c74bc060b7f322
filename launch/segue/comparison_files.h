// What segue compare leaves beside its runs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace segue {

struct ComparisonResult;

// Writes what tasks of a job array may write at the same time: each beside it under a name of its own. Throws
// FileError.
void write_for_all(const std::filesystem::path& path, std::string_view text);

// Writes result.json, its tables as CSV, the page and every drawing as a file of its own. `name` is what the page calls
// the comparison. Throws FileError.
void write_comparison(const std::filesystem::path& directory, const ComparisonResult& result, const std::string& name);

}  // namespace segue
