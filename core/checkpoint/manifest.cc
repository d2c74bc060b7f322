// The manifest as JSON, sealed with a checksum of its own content.
#include "core/checkpoint/manifest.h"

#include <set>
#include <span>

#include "base/checksum.h"
#include "base/document_kind.h"
#include "base/error.h"

namespace segue {

namespace {

constexpr const char* kFormat = "segue-checkpoint";
constexpr int64_t kVersion = 1;
constexpr double kLargestExactInteger = 9007199254740992.0;  // 2^53: every JSON reader agrees up to here

struct ManifestDocument {
  std::string format = kFormat;
  int64_t version = kVersion;
  Manifest manifest;
  std::string checksum;
  void describe(JsonFields& fields) {
    fields.required("format", format, {.meaning = "what this file is"});
    fields.required("version", version, {.meaning = "version of the format", .minimum = 1});
    fields.required("step", manifest.step,
                    {.meaning = "optimizer steps done", .minimum = 0, .maximum = kLargestExactInteger});
    fields.required("saved", manifest.saved,
                    {.meaning = "number of this save in its run", .minimum = 0, .maximum = kLargestExactInteger});
    fields.required("files", manifest.files, {.meaning = "every file beside this one"});
    fields.required("checksum", checksum, {.meaning = "XXH3 of this document with this value empty"});
  }
};

std::string text_of(const ManifestDocument& document) { return format_json(write_fields(document)); }

std::string seal_of(ManifestDocument document) {
  document.checksum.clear();
  const std::string text = text_of(document);
  return checksum_of(std::as_bytes(std::span(text)));
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos && name != kManifestName;
}

void check_names(const Manifest& manifest, const std::string& source) {
  std::set<std::string_view> seen;
  for (const ManifestFile& file : manifest.files) {
    if (!is_plain_name(file.name) || !seen.insert(file.name).second) {
      throw CheckpointError("{}: files: expected distinct names of files in its directory, found {}", source,
                            describe_json(file.name));
    }
  }
}

}  // namespace

void ManifestFile::describe(JsonFields& fields) {
  fields.required("name", name, {.meaning = "file in the checkpoint's directory"});
  fields.required("bytes", bytes, {.meaning = "size", .unit = "bytes", .minimum = 0, .maximum = kLargestExactInteger});
  fields.required("checksum", checksum, {.meaning = "XXH3 of the file"});
}

std::string manifest_text(const Manifest& manifest) {
  ManifestDocument document;
  document.manifest = manifest;
  document.checksum = seal_of(document);
  return text_of(document);
}

std::string checksum_of(const Manifest& manifest) {
  const std::string text = manifest_text(manifest);
  return checksum_of(std::as_bytes(std::span(text)));
}

Manifest parse_manifest(std::string_view text, const std::string& source) {
  const Json json = parse_json<CheckpointError>(text, source);
  if (kind_of(json) == DocumentKind::kCheckpoint)
    check_not_newer(json, source, kVersion, &raise_as<NewerCheckpointError>);
  const auto document = read_fields<CheckpointError, ManifestDocument>(json, source);
  if (document.format != kFormat || document.version != kVersion) {
    throw CheckpointError("{}: expected {} version {}, found {} version {}", source, kFormat, kVersion,
                          describe_json(document.format), document.version);
  }
  check_names(document.manifest, source);
  const std::string expected = seal_of(document);
  if (document.checksum != expected) {
    throw CheckpointError("{}: checksum: its content gives {}, found {}", source, expected,
                          describe_json(document.checksum));
  }
  return document.manifest;
}

}  // namespace segue
