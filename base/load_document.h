// A described struct from a file that holds nothing else.
#pragma once

#include <filesystem>
#include <string>

#include "base/document_kind.h"
#include "base/json_fields.h"
#include "base/json_text.h"

namespace segue {

// Throws Error naming the file, for one that another command reads too; FileError when it cannot be read.
template <typename Error, DescribedStruct T>
T load_document(const std::filesystem::path& path, DocumentKind kind) {
  const std::string source = path.string();
  const Json document = parse_json<Error>(read_document<Error>(path, kind), source);
  check_document_kind<Error>(document, source, kind);
  return read_fields<Error, T>(document, source);
}

}  // namespace segue
