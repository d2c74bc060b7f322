// Signatures of formats, and the look of text in other encodings.
#include "data_pipeline/source_look.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "base/json_text.h"

namespace segue {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::string_view bytes;
  std::string_view format;
  size_t offset = 0;
  bool only_text = false;  // too short to mean something among tokens
};

constexpr std::string_view kTokensOfLlmC =
    "a token file of llm.c: drop its header with tail -c +1025, and give --format";
constexpr std::array kSignatures{
    Signature{"\x88\xd8\x34\x01"sv, kTokensOfLlmC},  // 20240520, GPT-2's tokens
    Signature{"\xa1\xd9\x34\x01"sv, kTokensOfLlmC},  // 20240801, Llama 3's
    Signature{"PAR1"sv, "a Parquet file: write its text column as JSON lines"},
    Signature{"ARROW1\0\0"sv, "an Arrow file: write its text column as JSON lines"},
    Signature{"\xff\xff\xff\xff"sv, "an Arrow stream: write its text column as JSON lines", 0, true},
    Signature{"Obj\x01"sv, "an Avro file"},
    Signature{"\x89HDF\r\n\x1a\n"sv, "an HDF5 file"},
    Signature{"\x93NUMPY"sv, "a NumPy array: write it with tofile() and give --format"},
    Signature{"PK\x03\x04"sv, "a zip archive: unpack it first"},
    Signature{"7z\xbc\xaf\x27\x1c"sv, "a 7z archive: unpack it first"},
    Signature{"Rar!\x1a\x07"sv, "a RAR archive: unpack it first"},
    Signature{"ustar"sv, "a tar archive: unpack it first", 257},
    Signature{"\x04\x22\x4d\x18"sv, "an LZ4 file: decompress it first"},
    Signature{"\x5d\0\0"sv, "a legacy .lzma file: decompress it first with xz -dc", 0, true},
    Signature{"\x1f\x9d"sv, "a file of compress: decompress it first", 0, true},
    Signature{"SQLite format 3\0"sv, "an SQLite database"},
    Signature{"\x7f"
              "ELF"sv,
              "a program"},
    Signature{"%PDF-"sv, "a PDF file"},
    Signature{"\x89PNG\r\n\x1a\n"sv, "a PNG image"},
    Signature{"\xff\xd8\xff"sv, "a JPEG image", 0, true},
    Signature{"\xff\xfe\0\0"sv, "UTF-32: convert it with iconv -f UTF-32 -t UTF-8", 0, true},
    Signature{"\0\0\xfe\xff"sv, "UTF-32: convert it with iconv -f UTF-32 -t UTF-8", 0, true},
    Signature{"\xff\xfe"sv, "UTF-16: convert it with iconv -f UTF-16 -t UTF-8", 0, true},
    Signature{"\xfe\xff"sv, "UTF-16: convert it with iconv -f UTF-16 -t UTF-8", 0, true},
};

// Counts the zero bytes by their offset within groups of four bytes.
std::array<size_t, 4> zeros_of(std::string_view beginning) {
  std::array<size_t, 4> zeros{};
  for (size_t at = 0; at < beginning.size(); ++at)
    if (beginning[at] == '\0') ++zeros.at(at % zeros.size());
  return zeros;
}

// Western text in a wider encoding without a mark has zeros at the same offsets; so do tokens of small vocabularies.
std::string_view wide_text_of(std::string_view beginning) {
  constexpr size_t kFewest = 8;
  const size_t groups = beginning.size() / 4;
  if (groups < kFewest) return {};
  const std::array<size_t, 4> zeros = zeros_of(beginning);
  const auto mostly = [groups](size_t count) { return 10 * count >= 6 * groups; };
  const auto hardly = [groups](size_t count) { return 20 * count <= groups; };
  const bool low = hardly(zeros[0]) && mostly(zeros[1]) && mostly(zeros[3]);
  const bool high = hardly(zeros[3]) && mostly(zeros[0]) && mostly(zeros[2]);
  if (low && hardly(zeros[2])) return "UTF-16 (iconv -f UTF-16LE -t UTF-8), or tokens (--format uint16)";
  if (low && mostly(zeros[2])) return "UTF-32 (iconv -f UTF-32LE -t UTF-8), or tokens (--format uint32)";
  if (high && hardly(zeros[1])) return "UTF-16: convert it with iconv -f UTF-16BE -t UTF-8";
  if (high && mostly(zeros[1])) return "UTF-32: convert it with iconv -f UTF-32BE -t UTF-8";
  return {};
}

// The rest of a text from its next line that is not empty.
std::string_view next_line_of(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

}  // namespace

Compression compression_of(std::string_view beginning) {
  constexpr std::string_view kBlockOfBzip2 = "1AY&SY";
  if (beginning.starts_with("\x1f\x8b\x08"sv)) return Compression::kGzip;
  if (beginning.starts_with("\xfd"
                            "7zXZ\0"sv))
    return Compression::kXz;
  const bool is_skippable = !beginning.empty() && (beginning[0] & 0xf0) == 0x50;  // a frame that pzstd begins with
  if (beginning.starts_with("\x28\xb5\x2f\xfd"sv) ||
      (is_skippable && beginning.substr(1).starts_with("\x2a\x4d\x18"sv)))
    return Compression::kZstd;
  if (beginning.starts_with("BZh"sv) && beginning.substr(4).starts_with(kBlockOfBzip2)) return Compression::kBzip2;
  return Compression::kNone;
}

std::string foreign_format_of(std::string_view beginning, bool text) {
  for (const Signature& signature : kSignatures)
    if ((text || !signature.only_text) && beginning.size() > signature.offset &&
        beginning.substr(signature.offset).starts_with(signature.bytes))
      return std::string(signature.format);
  return std::string(text ? wide_text_of(beginning) : std::string_view());
}

std::string json_lines_of(std::string_view beginning) {
  const bool may_be_cut = beginning.size() >= kBeginningBytes;
  if (beginning.starts_with(kByteOrderMark)) beginning.remove_prefix(kByteOrderMark.size());
  beginning = next_line_of(beginning);
  const std::string_view line = beginning.substr(0, beginning.find('\n'));
  const std::string_view next = next_line_of(beginning.substr(line.size()));
  if (!line.starts_with('{') || (!next.empty() && !next.starts_with('{'))) return {};  // an object may precede prose
  std::string fields;
  try {
    const Json document = parse_json<DataError>(line, "line");
    for (const auto& [key, value] : document.items())
      if (value.is_string()) fields += fmt::format("{}{}", fields.empty() ? "" : ", ", describe_json(Json(key)));
  } catch (const DataError&) {
    const bool is_cut = may_be_cut && line.size() == beginning.size() && line.starts_with("{\"");
    return is_cut ? "JSON lines" : "";
  }
  return fields.empty() ? "" : "JSON lines with the text fields " + fields;
}

void check_text_look(std::string_view beginning, const std::string& name, bool is_json_lines,
                     const TextAdvice& advice) {
  if (const std::string found = foreign_format_of(beginning, true); !found.empty())
    throw DataError("{}: expected text, found what looks like {}{}", name, found,
                    advice.as_is.empty() ? "" : fmt::format("; {} takes its bytes as they are", advice.as_is));
  if (is_json_lines) return;
  const std::string found = json_lines_of(beginning);
  if (found.empty()) return;
  std::string cure;
  if (!advice.json_lines.empty()) cure = fmt::format("; {} takes one of them", advice.json_lines);
  if (!advice.as_is.empty())
    cure += fmt::format("{} {} {}the bytes as they are", cure.empty() ? ";" : ",", advice.as_is,
                        cure.empty() ? "takes " : "");
  throw DataError("{}: expected text, found {}{}", name, found, cure);
}

}  // namespace segue
