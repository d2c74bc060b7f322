// Signatures of formats, and structures where a signature would be too short to tell.
#include "data_pipeline/unsupported_formats.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "base/directory_content.h"
#include "base/document_kind.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace segue {
namespace {

using namespace std::string_view_literals;

// Where a signature counts: everywhere; where text may be (too short to mean something among tokens); or there, and
// only among bytes that are no text (as text may begin with it).
enum class Strength : uint8_t { kLong, kShort, kBinary };

struct Signature {
  std::string_view bytes;
  std::string_view format;
  Strength strength = Strength::kLong;
  size_t offset = 0;
};

// FILE in these stands for the file's name.
constexpr std::string_view kParquet =
    "a Parquet file: python3 -c \"import json,sys,pyarrow.parquet as p;sys.stdout.writelines(json.dumps(r,default=str)+"
    "'\\n' for b in p.ParquetFile(sys.argv[1]).iter_batches() for r in b.to_pylist())\" FILE | segue prepare --field "
    "text --input -"sv;
constexpr std::string_view kArrowFile =
    "an Arrow file (Feather): python3 -c \"import json,sys,pyarrow.feather as f;sys.stdout.writelines(json.dumps(r,"
    "default=str)+'\\n' for b in f.read_table(sys.argv[1]).to_batches() for r in b.to_pylist())\" FILE | segue prepare "
    "--field text --input -"sv;
constexpr std::string_view kArrowStream =
    "an Arrow stream, as Hugging Face's datasets have them: python3 -c \"import json,sys,pyarrow as p;sys.stdout."
    "writelines(json.dumps(r,default=str)+'\\n' for b in p.ipc.open_stream(open(sys.argv[1],'rb')) for r in "
    "b.to_pylist())\" FILE | segue prepare --field text --input -"sv;
constexpr std::string_view kPyTorch =
    "a PyTorch file: of a model, segue import reads weights; of a tensor of tokens, python3 -c \"import "
    "sys,numpy,torch;"
    "numpy.save(sys.argv[2],torch.load(sys.argv[1]).numpy())\" FILE tokens.npy"sv;
constexpr std::string_view kPickle =
    "a Python pickle: load it in Python, if you trust it, and write tokens with numpy.save() or texts as JSON lines"sv;
constexpr std::string_view kHdf5 =
    "an HDF5 file: python3 -c \"import "
    "sys,h5py,numpy;numpy.save(sys.argv[3],h5py.File(sys.argv[1])[sys.argv[2]][()])\" "
    "FILE DATASET tokens.npy"sv;
constexpr std::string_view kSafetensors =
    "a safetensors file: of a model, segue import reads weights; tokens are read from NumPy's .npy"sv;
constexpr std::string_view kZip = "a zip archive: unzip -p FILE | segue prepare --input -"sv;
constexpr std::string_view kImage = "an image"sv;
constexpr std::string_view kSound = "sound or video"sv;

constexpr std::array kSignatures{
    Signature{"\x8a\xd8\x34\x01"sv, "llm.c's file for evaluation, of questions with choices"sv},  // 20240522
    Signature{"\xc6\xd7\x34\x01"sv, "a model of llm.c"sv},                                        // 20240326
    Signature{"\xc7\xd7\x34\x01"sv, "llm.c's file for its own tests"sv},                          // 20240327
    Signature{"\xc8\xd7\x34\x01"sv, "llm.c's tokenizer"sv},                                       // 20240328
    Signature{"TNTIDX\0\0"sv, "an index of fairseq's old format"sv},
    Signature{"PAR1"sv, kParquet},
    Signature{"ARROW1\0\0"sv, kArrowFile},
    Signature{"FEA1"sv, kArrowFile, Strength::kBinary},
    Signature{"Obj\x01"sv, "an Avro file: write its texts as JSON lines"sv},
    Signature{"ORC"sv, "an ORC file: write its texts as JSON lines"sv, Strength::kBinary},
    Signature{"\x89HDF\r\n\x1a\n"sv, kHdf5},
    Signature{"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv, kPyTorch},
    Signature{"\x80\x02"sv, kPickle, Strength::kBinary},
    Signature{"\x80\x03"sv, kPickle, Strength::kBinary},
    Signature{"\x80\x04\x95"sv, kPickle, Strength::kShort},
    Signature{"\x80\x05\x95"sv, kPickle, Strength::kShort},
    Signature{"GGUF"sv, "a GGUF file, the weights of a model"sv, Strength::kBinary},
    Signature{"PK\x05\x06"sv, "an empty zip archive"sv},
    Signature{"7z\xbc\xaf\x27\x1c"sv, "a 7z archive: 7z x -so FILE | segue prepare --input -"sv},
    Signature{"Rar!\x1a\x07"sv, "a RAR archive: unrar p -inul FILE | segue prepare --input -"sv},
    Signature{"ustar"sv,
              "a tar archive, as WebDataset has them: tar -xOf FILE --wildcards '*.txt' | segue prepare --input -"sv,
              Strength::kLong, 257},
    Signature{"!<arch>\n"sv, "an archive of ar: unpack it first"sv},
    Signature{"\xed\xab\xee\xdb"sv, "an RPM package"sv},
    Signature{"\x04\x22\x4d\x18"sv, "an LZ4 file: lz4 -dc FILE | segue prepare --input -"sv},
    Signature{"\xff\x06\0\0sNaPpY"sv, "a file of snappy: decompress it first"sv},
    Signature{"\x5d\0\0"sv, "a legacy .lzma file: xz -dc FILE | segue prepare --input -"sv, Strength::kShort},
    Signature{"\x1f\x9d"sv, "a file of compress: zcat FILE | segue prepare --input -"sv, Strength::kShort},
    Signature{"SQLite format 3\0"sv,
              "an SQLite database: sqlite3 FILE 'select COLUMN from TABLE' | segue prepare --input -"sv},
    Signature{"\xde\xc0\xef\xbe"sv, "an LMDB database: write its texts as JSON lines"sv, Strength::kLong, 16},
    Signature{"MATLAB 5.0 MAT-file"sv, "a MATLAB file: write its numbers with numpy.save()"sv},
    Signature{"RDX3\n"sv, "a file of R: write its texts with writeLines()"sv, Strength::kBinary},
    Signature{"\x7f"
              "ELF"sv,
              "a program"sv},
    Signature{"MZ"sv, "a program"sv, Strength::kBinary},
    Signature{"\xcf\xfa\xed\xfe"sv, "a program"sv, Strength::kShort},
    Signature{"\xca\xfe\xba\xbe"sv, "a program"sv, Strength::kShort},
    Signature{"\0asm\x01\0\0\0"sv, "a program"sv},
    Signature{"%PDF-"sv, "a PDF file: pdftotext FILE - | segue prepare --input -"sv},
    Signature{"%!PS"sv, "a PostScript file: ps2ascii FILE | segue prepare --input -"sv, Strength::kShort},
    Signature{"{\\rtf1"sv, "an RTF document: pandoc -t plain FILE | segue prepare --input -"sv, Strength::kShort},
    Signature{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, "an old document of Microsoft Office: save it as text"sv},
    Signature{"\x89PNG\r\n\x1a\n"sv, kImage},
    Signature{"\xff\xd8\xff"sv, kImage, Strength::kShort},
    Signature{"GIF87a"sv, kImage, Strength::kBinary},
    Signature{"GIF89a"sv, kImage, Strength::kBinary},
    Signature{"II*\0"sv, kImage, Strength::kShort},
    Signature{"MM\0*"sv, kImage, Strength::kShort},
    Signature{"BM"sv, kImage, Strength::kBinary},
    Signature{"WEBP"sv, kImage, Strength::kBinary, 8},
    Signature{"WAVE"sv, kSound, Strength::kBinary, 8},
    Signature{"ftyp"sv, kSound, Strength::kBinary, 4},
    Signature{"OggS\0"sv, kSound},
    Signature{"fLaC"sv, kSound, Strength::kBinary},
    Signature{"ID3"sv, kSound, Strength::kBinary},
    Signature{"\xff\xfe\0\0"sv, "UTF-32: convert it with iconv -f UTF-32 -t UTF-8"sv, Strength::kShort},
    Signature{"\0\0\xfe\xff"sv, "UTF-32: convert it with iconv -f UTF-32 -t UTF-8"sv, Strength::kShort},
    Signature{"\xff\xfe"sv, "UTF-16: convert it with iconv -f UTF-16 -t UTF-8"sv, Strength::kShort},
    Signature{"\xfe\xff"sv, "UTF-16: convert it with iconv -f UTF-16 -t UTF-8"sv, Strength::kShort},
    Signature{"/annex/objects/"sv, "git-annex's pointer to a file: git annex get FILE fetches it"sv, Strength::kShort},
};

template <typename T>
T little_endian_at(std::string_view bytes, size_t offset) {
  T number{};
  if (bytes.size() >= offset + sizeof number) std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

// CRC-32C (Castagnoli), bit by bit, for a few bytes.
uint32_t crc32c(std::string_view bytes) {
  constexpr uint32_t kReversedPolynomial = 0x82f63b78;
  uint32_t crc = ~uint32_t{0};
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? kReversedPolynomial : 0);
  }
  return ~crc;
}

// A record begins with its length and the masked checksum of that.
bool is_tfrecord(std::string_view bytes) {
  constexpr size_t kLengthBytes = 8;
  constexpr uint32_t kMask = 0xa282ead8;
  if (bytes.size() < kLengthBytes + sizeof(uint32_t)) return false;
  const uint32_t crc = crc32c(bytes.substr(0, kLengthBytes));
  return little_endian_at<uint32_t>(bytes, kLengthBytes) == std::rotr(crc, 15) + kMask;
}

bool is_safetensors(std::string_view bytes) {
  constexpr size_t kLengthBytes = 8;
  constexpr uint64_t kLongestHeader = 100'000'000;
  const auto header = little_endian_at<uint64_t>(bytes, 0);
  const std::string_view json = bytes.substr(std::min(kLengthBytes, bytes.size()));
  return header >= 2 && header <= kLongestHeader && (json.starts_with("{\"") || json.starts_with("{}"));
}

// A message begins with a mark, its length, a multiple of 8, and the offset of its root.
bool is_arrow_stream(std::string_view bytes) {
  constexpr uint32_t kLongestMessage = 1 << 24;
  constexpr uint32_t kFarthestRoot = 64;
  const auto length = little_endian_at<uint32_t>(bytes, 4);
  const auto root = little_endian_at<uint32_t>(bytes, 8);
  return bytes.starts_with("\xff\xff\xff\xff"sv) && length > 0 && length <= kLongestMessage && length % 8 == 0 &&
         root > 0 && root <= kFarthestRoot;
}

// Shards of MosaicML's StreamingDataset and of LitData begin with the number of their samples and where each begins and
// the last ends; MDS has a description in JSON behind that.
std::string_view sample_shard_of(std::string_view bytes) {
  constexpr uint32_t kFewestByOrder = 8;  // offsets in order are a chance for less
  constexpr uint64_t kLongestDescription = 1 << 20;
  const uint64_t samples = little_endian_at<uint32_t>(bytes, 0);
  const uint64_t begin = little_endian_at<uint32_t>(bytes, 4);
  const uint64_t offsets_end = 4 * (samples + 2);
  if (samples == 0 || begin < offsets_end || begin - offsets_end > kLongestDescription) return {};
  const uint64_t shown = std::min<uint64_t>(samples + 1, bytes.size() / 4 - 1);
  for (uint64_t i = 1; i < shown; ++i)
    if (little_endian_at<uint32_t>(bytes, 4 * (i + 1)) < little_endian_at<uint32_t>(bytes, 4 * i)) return {};
  const bool described = bytes.substr(0, begin).find("\"column_encodings\"") != std::string_view::npos;
  if (described || (shown >= kFewestByOrder && begin > offsets_end))
    return "a shard of MosaicML's StreamingDataset (MDS): python3 -c \"import json,sys,streaming;sys.stdout.writelines("
           "json.dumps(s,default=lambda v:v.tolist())+'\\n' for s in streaming.StreamingDataset(local=sys.argv[1],"
           "batch_size=1))\" DIRECTORY | segue prepare --field text --input -"sv;
  if (shown >= kFewestByOrder && begin == offsets_end)
    return "a chunk of LitData: read it with litdata.StreamingDataset and write its tokens with numpy.save()"sv;
  return {};
}

// By the name of the first file in it.
std::string_view zip_of(std::string_view bytes) {
  constexpr size_t kNameLengthAt = 26;
  constexpr size_t kNameAt = 30;
  if (!bytes.starts_with("PK\x03\x04"sv) || bytes.size() < kNameAt) return {};
  const std::string_view name = bytes.substr(kNameAt, little_endian_at<uint16_t>(bytes, kNameLengthAt));
  const auto contains = [bytes](std::string_view word) { return bytes.find(word) != std::string_view::npos; };
  if (name.ends_with("data.pkl") || contains("/data.pkl")) return kPyTorch;
  if (name.ends_with(".npy")) return "arrays of NumPy (.npz): leave out --format"sv;
  if (name == "mimetype" && contains("application/epub+zip"))
    return "an EPUB book: pandoc -t plain FILE | segue prepare --input -"sv;
  if (name == "mimetype" && contains("opendocument"))
    return "an OpenDocument file: pandoc -t plain FILE | segue prepare --input -"sv;
  if (name == "[Content_Types].xml" || name.starts_with("_rels/") || name.starts_with("word/"))
    return "a document of Microsoft Office: pandoc -t plain FILE | segue prepare --input -"sv;
  return kZip;
}

std::string_view structure_of(std::string_view bytes) {
  if (const std::string_view zip = zip_of(bytes); !zip.empty()) return zip;
  if (is_tfrecord(bytes)) return "a TFRecord file: write the texts of its examples as JSON lines"sv;
  if (is_safetensors(bytes)) return kSafetensors;
  if (is_arrow_stream(bytes)) return kArrowStream;
  return sample_shard_of(bytes);
}

std::string_view decompressor_of(Compression compression) {
  switch (compression) {
    case Compression::kNone:
      return "cat";
    case Compression::kGzip:
      return "gzip -dc";
    case Compression::kBzip2:
      return "bzip2 -dc";
    case Compression::kXz:
      return "xz -dc";
    case Compression::kZstd:
      return "zstd -dc";
  }
  throw ContractError("compression {} has no program", static_cast<int>(compression));
}

// Where a compressed file goes that a command cannot read as it is: beside it, under a name that nothing has.
std::string unpacked_name(const std::string& file) {
  const std::filesystem::path path = file;
  const std::string shorter = (path.parent_path() / path.stem()).string();
  return path.has_extension() && !path_exists(shorter) ? shorter : file + ".unpacked";
}

void replace_once(std::string& text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  if (at != std::string::npos) text.replace(at, from.size(), to);
}

// The format with its command, which takes the file and hands its text to the reader.
std::string with_recipe(std::string_view format, const Recipe& recipe) {
  constexpr std::string_view kPlace = " FILE";
  std::string text(format);
  if (recipe.reader.empty()) {
    text.resize(std::min(text.size(), text.find(" | segue prepare")));
  } else if (recipe.reader == kPrepareReader) {
    replace_once(text, "--input -", "--input - --output DIR");
  } else {
    replace_once(text, "segue prepare --field text --input -", "jq -r .text | " + recipe.reader);
    replace_once(text, "segue prepare --input -", recipe.reader);
  }
  if (recipe.file.empty() || text.find(kPlace) == std::string::npos) return text;
  const bool is_packed = recipe.compression != Compression::kNone;
  const std::string file = is_packed ? unpacked_name(recipe.file) : recipe.file;
  replace_once(text, kPlace, fmt::format(" {}", shell_word(file)));
  if (!is_packed) return text;
  const size_t script = text.find("python3 -c");
  const size_t command = script == std::string::npos ? text.find(": ") + 2 : script;
  return text.insert(command, fmt::format("{} {} > {} && ", decompressor_of(recipe.compression),
                                          shell_word(recipe.file), shell_word(file)));
}

}  // namespace

bool looks_binary(std::string_view beginning) {
  constexpr std::string_view kOfText = "\b\t\n\v\f\r\x1b"sv;
  const auto controls = std::ranges::count_if(beginning, [&](char byte) {
    return (static_cast<unsigned char>(byte) < 0x20 && kOfText.find(byte) == std::string_view::npos) || byte == '\x7f';
  });
  return 20 * controls > std::ssize(beginning);
}

std::string unsupported_format_of(std::string_view beginning, Expected expected, const Recipe& recipe) {
  if (beginning.starts_with("MMIDIDX\0\0"sv)) return "an index of Megatron-LM: give the .bin beside it";
  if (expected != Expected::kEither) {
    if (beginning.starts_with("\x88\xd8\x34\x01"sv) || beginning.starts_with("\xa1\xd9\x34\x01"sv))
      return "a token file of llm.c: leave out --format";
    if (beginning.starts_with("\x93NUMPY"sv)) return "a NumPy array: leave out --format";
  }
  const bool may_be_text = expected != Expected::kTokens;
  const bool is_binary = may_be_text && looks_binary(beginning);
  for (const Signature& signature : kSignatures) {
    if (signature.strength != Strength::kLong && !may_be_text) continue;
    if (signature.strength == Strength::kBinary && !is_binary) continue;
    if (beginning.size() > signature.offset && beginning.substr(signature.offset).starts_with(signature.bytes))
      return with_recipe(signature.format, recipe);
  }
  return with_recipe(structure_of(beginning), recipe);
}

std::string unsupported_directory_of(const std::filesystem::path& directory) {
  const auto has = [&directory](const char* file) {
    std::error_code ignored;
    return std::filesystem::exists(directory / file, ignored);
  };
  const std::string name = shell_word(directory.string());
  if (has("dataset_dict.json")) return "a dataset of Hugging Face with a directory for each split: give one of them";
  const std::vector<DirectoryKind> kinds = kinds_in(directory);
  if (!kinds.empty() && kinds.front() != DirectoryKind::kOthersModel) return describe_path(directory);
  const bool has_state = beginning_of(directory / "state.json").find("\"_data_files\"") != std::string::npos;
  if (has("dataset_info.json") || has_state)
    return fmt::format(
        "a dataset of Hugging Face: python3 -c \"import sys,datasets;datasets.load_from_disk(sys.argv[1]).to_json("
        "sys.argv[2])\" {} texts.jsonl && segue prepare --field text --input texts.jsonl --output DIR",
        name);
  if (has("index.json"))
    return fmt::format(
        "a dataset in shards, as MosaicML's StreamingDataset has them: python3 -c \"import "
        "json,sys,streaming;sys.stdout."
        "writelines(json.dumps(s,default=lambda v:v.tolist())+'\\n' for s in streaming.StreamingDataset(local="
        "sys.argv[1],batch_size=1))\" {} | segue prepare --field text --input - --output DIR",
        name);
  if (has(".zarray") || has("zarr.json")) return "a Zarr array: write its tokens with numpy.save()";
  return {};
}

}  // namespace segue
