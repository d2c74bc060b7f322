// A file is told by its first bytes where its format has some, otherwise by the ending of its name.
#include "core/convert/unsupported_weight_files.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/file.h"

namespace segue {

namespace {

using namespace std::string_view_literals;

struct Known {
  std::string_view mark;  // first bytes, or the end of a name
  std::string_view what;
};

constexpr std::string_view kTorch =
    "a file of torch.save; launch/convert/convert_torch.py makes safetensors of it, without torch";
constexpr std::string_view kKeras = "HDF5, as Keras writes it; save its variables as .npz with numpy.savez";
constexpr std::string_view kGguf = "GGUF, whose weights are quantized; take the weights that it was made of";
constexpr std::string_view kTensorFlow =
    "a checkpoint of TensorFlow; read its variables with tf.train.load_checkpoint and save them as .npz with "
    "numpy.savez";
constexpr std::string_view kDistributed =
    "a distributed checkpoint; python -m torch.distributed.checkpoint.format_utils dcp_to_torch DIRECTORY model.pt "
    "makes one file of it, for launch/convert/convert_torch.py";

constexpr std::array kBegins{Known{"\x80\x02"sv, kTorch},
                             Known{"\x80\x03"sv, kTorch},
                             Known{"\x80\x04"sv, kTorch},
                             Known{"\x80\x05"sv, kTorch},
                             Known{"GGUF"sv, kGguf},
                             Known{"\x89HDF\r\n\x1a\n"sv, kKeras},
                             Known{"\x93NUMPY"sv, "one array of NumPy; save all of them as .npz with numpy.savez"},
                             Known{"\x1f\x8b\x08"sv, "gzip; gunzip it first"},
                             Known{"\x28\xb5\x2f\xfd"sv, "Zstandard; unzstd it first"},
                             Known{"\xfd\x37zXZ\0"sv, "xz; unxz it first"}};

constexpr std::array kEnds{Known{".distcp"sv, kDistributed},
                           Known{".metadata"sv, kDistributed},
                           Known{".gguf"sv, kGguf},
                           Known{".onnx"sv, "ONNX, a graph; take the weights that it was exported from"},
                           Known{".msgpack"sv, "Flax; save its parameters as .npz with numpy.savez"},
                           Known{".h5"sv, kKeras},
                           Known{".keras"sv, "Keras; save its variables as .npz with numpy.savez"},
                           Known{".ckpt.index"sv, kTensorFlow},
                           Known{".index"sv, kTensorFlow},
                           Known{".meta"sv, kTensorFlow},
                           Known{".pb"sv, kTensorFlow},
                           Known{".pt"sv, kTorch},
                           Known{".pth"sv, kTorch},
                           Known{".bin"sv, kTorch}};

bool is_data_of_tensorflow(std::string_view name) {
  return name.find(".data-0000") != std::string_view::npos && name.find("-of-") != std::string_view::npos;
}

std::string_view what_by_name(std::string_view name) {
  if (is_data_of_tensorflow(name)) return kTensorFlow;
  const auto found =
      std::find_if(kEnds.begin(), kEnds.end(), [name](const Known& known) { return name.ends_with(known.mark); });
  return found == kEnds.end() ? std::string_view() : found->what;
}

// A zip of torch.save begins with its pickle, NumPy's with an array.
bool is_zip_of_torch(std::string_view begin) {
  constexpr size_t kNameAt = 30;
  if (!begin.starts_with("PK\x03\x04"sv) || begin.size() < kNameAt) return false;
  const size_t length = static_cast<unsigned char>(begin[26]) + 256 * static_cast<unsigned char>(begin[27]);
  const std::string_view name = begin.substr(kNameAt, length);
  return name.ends_with("/data.pkl") || name.ends_with("/.format_version") || name.ends_with("/byteorder");
}

std::string_view what_by_bytes(std::string_view begin) {
  constexpr size_t kTarAt = 257;
  if (is_zip_of_torch(begin)) return kTorch;
  if (begin.size() > kTarAt && begin.substr(kTarAt).starts_with("ustar"))
    return "a tar archive; unpack it first, or save the weights again with the program that wrote it";
  const auto found = std::find_if(kBegins.begin(), kBegins.end(),
                                  [begin](const Known& known) { return begin.starts_with(known.mark); });
  return found == kBegins.end() ? std::string_view() : found->what;
}

}  // namespace

void refuse_unsupported_weight_files(const std::filesystem::path& path) {
  std::array<std::byte, 512> block{};
  const std::span<const std::byte> filled = FileReader(path).read(block);
  const std::string_view begin(reinterpret_cast<const char*>(filled.data()), filled.size());
  if (begin.empty()) throw CheckpointError("{}: expected safetensors or .npz, found an empty file", path.string());
  std::string_view what = what_by_bytes(begin);
  const bool is_safetensors = begin.size() > 8 && begin[8] == '{';
  if (what.empty() && !is_safetensors && !begin.starts_with("PK")) what = what_by_name(path.filename().string());
  if (!what.empty()) throw CheckpointError("{}: expected safetensors or .npz, found {}", path.string(), what);
}

void refuse_unsupported_directory(const std::filesystem::path& path, std::span<const std::string> names) {
  for (const std::string& name : names)
    if (const std::string_view what = what_by_name(name); !what.empty())
      throw CheckpointError("{}: expected safetensors or .npz, found {}", path.string(), what);
}

}  // namespace segue
