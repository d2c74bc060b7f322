// The splits that `prepare` will write, known from the options and the sizes of the files before anything is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data_pipeline/prepare.h"
#include "data_pipeline/source_file.h"

namespace segue {

// A token and its target.
constexpr int64_t kSmallestSplit = 2;

// The part [begin, end) of a corpus, in bytes of its files and the separators between them.
struct PlannedSplit {
  std::string name;
  int64_t begin = 0;
  int64_t end = 0;
};

// Files that follow each other, and the splits they are cut into.
struct Corpus {
  std::vector<SourceFile> files;
  std::vector<PlannedSplit> splits;
};

// Throw UsageError for options that no sources can meet; the second needs a format that is not auto.
void check_source_options(const PrepareOptions& options);
void check_options_of_format(const PrepareOptions& options);

// Looks at all sources, in corpora without splits. Throws DataError as prepare() does; `directory` takes what cannot be
// read twice.
std::vector<Corpus> find_sources(const PrepareOptions& options, const std::filesystem::path& directory);

// What all of them hold: text, or tokens of the narrower type that holds them all. Throws DataError where some hold
// text and others tokens.
SourceFormat format_of(const std::vector<Corpus>& corpora, const PrepareOptions& options);

// Cuts the sources into splits. Throws DataError as prepare() does.
void plan_splits(const PrepareOptions& options, std::vector<Corpus>& corpora);

}  // namespace segue
