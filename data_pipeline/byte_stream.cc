// One decoder for each compression, all driven alike.
#include "data_pipeline/byte_stream.h"

#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace segue {
namespace {

constexpr size_t kStreamBlockBytes = size_t{1} << 18;
constexpr int kMostMib = 256;      // of a decoder of xz, more than any preset asks for
constexpr int kMostZstdMib = 128;  // of a window, zstd's own limit

class StandardInputStream : public ByteStream {
 public:
  std::span<std::byte> read(std::span<std::byte> block) override { return input_.read(block); }

 private:
  StandardInput input_;
};

class FileStream : public ByteStream {
 public:
  explicit FileStream(const std::filesystem::path& path) : reader_(path) {}
  std::span<std::byte> read(std::span<std::byte> block) override { return reader_.read(block); }

 private:
  FileReader reader_;
};

// The buffers of a decoder's call: what is left to read and to fill.
struct Flow {
  std::span<const std::byte> in;  // left
  std::span<std::byte> out;       // room left
};

enum class Outcome : uint8_t { kGoesOn, kMemberEnded, kDamaged, kTooWide };

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual void begin_member() = 0;  // before the first step, and the first one behind the end of a member
  virtual Outcome step(Flow& flow) = 0;
};

template <typename T>
T* as(std::span<const std::byte> bytes) {
  return reinterpret_cast<T*>(const_cast<std::byte*>(bytes.data()));
}

// Moves on by what zlib, bzip2 or lzma say is left.
template <typename Stream>
void advance(Flow& flow, const Stream& stream) {
  flow.in = flow.in.last(stream.avail_in);
  flow.out = flow.out.last(stream.avail_out);
}

class GzipDecoder : public Decoder {
 public:
  GzipDecoder() {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) throw OutOfMemoryError("gzip: no memory left");
  }
  ~GzipDecoder() override { inflateEnd(&stream_); }
  void begin_member() override { inflateReset(&stream_); }
  Outcome step(Flow& flow) override {
    stream_.next_in = as<Bytef>(flow.in);
    stream_.avail_in = static_cast<uInt>(flow.in.size());
    stream_.next_out = as<Bytef>(flow.out);
    stream_.avail_out = static_cast<uInt>(flow.out.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    advance(flow, stream_);
    if (result == Z_STREAM_END) return Outcome::kMemberEnded;
    return result == Z_OK || result == Z_BUF_ERROR ? Outcome::kGoesOn : Outcome::kDamaged;
  }

 private:
  z_stream stream_{};
};

class Bzip2Decoder : public Decoder {
 public:
  Bzip2Decoder() { begin(); }
  ~Bzip2Decoder() override { BZ2_bzDecompressEnd(&stream_); }
  void begin_member() override {
    BZ2_bzDecompressEnd(&stream_);
    begin();
  }
  Outcome step(Flow& flow) override {
    stream_.next_in = as<char>(flow.in);
    stream_.avail_in = static_cast<unsigned>(flow.in.size());
    stream_.next_out = as<char>(flow.out);
    stream_.avail_out = static_cast<unsigned>(flow.out.size());
    const int result = BZ2_bzDecompress(&stream_);
    advance(flow, stream_);
    if (result == BZ_STREAM_END) return Outcome::kMemberEnded;
    return result == BZ_OK ? Outcome::kGoesOn : Outcome::kDamaged;
  }

 private:
  void begin() {
    stream_ = {};
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) throw OutOfMemoryError("bzip2: no memory left");
  }
  bz_stream stream_{};
};

class XzDecoder : public Decoder {
 public:
  ~XzDecoder() override { lzma_end(&stream_); }
  void begin_member() override {
    if (lzma_stream_decoder(&stream_, uint64_t{kMostMib} << 20, 0) != LZMA_OK)
      throw OutOfMemoryError("xz: no memory left");
  }
  Outcome step(Flow& flow) override {
    stream_.next_in = as<uint8_t>(flow.in);
    stream_.avail_in = flow.in.size();
    stream_.next_out = as<uint8_t>(flow.out);
    stream_.avail_out = flow.out.size();
    const lzma_ret result = lzma_code(&stream_, LZMA_RUN);
    advance(flow, stream_);
    if (result == LZMA_STREAM_END) return Outcome::kMemberEnded;
    if (result == LZMA_MEMLIMIT_ERROR) return Outcome::kTooWide;
    return result == LZMA_OK || result == LZMA_BUF_ERROR ? Outcome::kGoesOn : Outcome::kDamaged;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class ZstdDecoder : public Decoder {
 public:
  ZstdDecoder() : context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) throw OutOfMemoryError("zstd: no memory left");
  }
  ~ZstdDecoder() override { ZSTD_freeDCtx(context_); }
  void begin_member() override { ZSTD_DCtx_reset(context_, ZSTD_reset_session_only); }
  Outcome step(Flow& flow) override {
    ZSTD_inBuffer in{flow.in.data(), flow.in.size(), 0};
    ZSTD_outBuffer out{flow.out.data(), flow.out.size(), 0};
    const size_t result = ZSTD_decompressStream(context_, &out, &in);
    flow.in = flow.in.subspan(in.pos);
    flow.out = flow.out.subspan(out.pos);
    if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge) return Outcome::kTooWide;
    if (ZSTD_isError(result) != 0) return Outcome::kDamaged;
    return result == 0 ? Outcome::kMemberEnded : Outcome::kGoesOn;
  }

 private:
  ZSTD_DCtx* context_;
};

std::unique_ptr<Decoder> make_decoder(Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return std::make_unique<GzipDecoder>();
    case Compression::kBzip2:
      return std::make_unique<Bzip2Decoder>();
    case Compression::kXz:
      return std::make_unique<XzDecoder>();
    case Compression::kZstd:
      return std::make_unique<ZstdDecoder>();
    case Compression::kNone:
      break;
  }
  throw ContractError("compression {} has no decoder", static_cast<int>(compression));
}

class DecodedStream : public ByteStream {
 public:
  DecodedStream(std::unique_ptr<ByteStream> bytes, Compression compression, std::string name, std::string reader)
      : name_(std::move(name)),
        reader_(std::move(reader)),
        compression_(compression),
        file_(std::move(bytes)),
        decoder_(make_decoder(compression)),
        block_(kStreamBlockBytes) {}

  std::span<std::byte> read(std::span<std::byte> block) override {
    Flow flow{waiting_, block};
    while (!flow.out.empty() && has_input(flow)) step(flow);
    waiting_ = flow.in;
    return block.first(block.size() - flow.out.size());
  }

 private:
  // At the end of the file a decoder may still hold what found no room before. Zeros between members and behind the
  // last one are padding, of xz and of tapes: no member begins with one.
  bool has_input(Flow& flow) {
    refill(flow);
    while (!in_member_ && !flow.in.empty() && flow.in.front() == std::byte{0}) {
      const auto zeros = std::ranges::find_if(flow.in, [](std::byte byte) { return byte != std::byte{0}; });
      flow.in = flow.in.subspan(static_cast<size_t>(zeros - flow.in.begin()));
      refill(flow);
    }
    return !flow.in.empty() || in_member_;
  }

  void refill(Flow& flow) {
    if (!flow.in.empty() || file_ended_) return;
    flow.in = file_->read(block_);
    bytes_ += std::ssize(flow.in);
    file_ended_ = flow.in.empty();
  }

  void step(Flow& flow) {
    if (!std::exchange(in_member_, true)) decoder_->begin_member();
    const Flow before = flow;
    const Outcome outcome = decoder_->step(flow);
    if (outcome == Outcome::kMemberEnded) in_member_ = false;
    if (outcome == Outcome::kTooWide) refuse_window();
    const bool stuck = flow.in.size() == before.in.size() && flow.out.size() == before.out.size();
    if (outcome == Outcome::kGoesOn && stuck && file_ended_)
      throw DataError("{}: the compressed data is cut off at byte {}", name_, bytes_);
    if (outcome == Outcome::kDamaged || (outcome == Outcome::kGoesOn && stuck && !flow.in.empty()))
      throw DataError("{}: the compressed data is damaged before byte {}", name_, bytes_ - std::ssize(flow.in));
  }

  [[noreturn]] void refuse_window() const {
    const bool is_zstd = compression_ == Compression::kZstd;
    throw DataError(
        "{}: expected compressed data with a window of at most {} MiB, found a larger one: pipe it, {} {} | {}", name_,
        is_zstd ? kMostZstdMib : kMostMib, is_zstd ? "zstd -dc --long=31" : "xz -dc",
        name_ == kStandardInput ? "FILE" : shell_word(name_), reader_);
  }

  std::string name_;
  std::string reader_;
  Compression compression_;
  std::unique_ptr<ByteStream> file_;
  std::unique_ptr<Decoder> decoder_;
  std::vector<std::byte> block_;
  std::span<const std::byte> waiting_;  // of block_, not decoded yet
  int64_t bytes_ = 0;                   // read from the file
  bool file_ended_ = false;
  bool in_member_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> open_byte_stream(const std::filesystem::path& path, Compression compression,
                                             const std::string& name) {
  return decode_bytes(std::make_unique<FileStream>(path), compression, name, std::string(kPrepareReader));
}

std::unique_ptr<ByteStream> decode_bytes(std::unique_ptr<ByteStream> bytes, Compression compression,
                                         const std::string& name, const std::string& reader) {
  if (compression == Compression::kNone) return bytes;
  return std::make_unique<DecodedStream>(std::move(bytes), compression, name, reader);
}

std::unique_ptr<ByteStream> open_standard_input() { return std::make_unique<StandardInputStream>(); }

int64_t count_bytes(ByteStream& stream) {
  std::vector<std::byte> block(kStreamBlockBytes);
  int64_t bytes = 0;
  for (auto part = stream.read(block); !part.empty(); part = stream.read(block)) bytes += std::ssize(part);
  return bytes;
}

}  // namespace segue
