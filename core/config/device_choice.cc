#include "core/config/device_choice.h"

#include <charconv>

#include "base/cuda.h"
#include "base/error.h"
#include "core/config/bounds.h"

namespace segue {

namespace {

constexpr std::string_view kNumbered = "cuda:";

// -1 when the text is no index.
int index_of(std::string_view text) {
  int index = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  return error == std::errc() && end == text.data() + text.size() ? index : -1;
}

}  // namespace

void describe_compute(JsonFields& fields, std::string& device, PrecisionKind& precision, int64_t& threads) {
  fields.optional("device", device, {.meaning = "auto, cpu, cuda or cuda:N"});
  fields.optional("precision", precision,
                  {.meaning = "precision of activations and products: fp32, or bf16 if the device has it"});
  fields.optional("threads", threads, {.meaning = "CPU threads; 0: all", .minimum = 0, .maximum = kMostThreads});
}

bool is_device_name(std::string_view name) {
  if (name == "auto" || name == "cpu" || name == "cuda") return true;
  return name.starts_with(kNumbered) && index_of(name.substr(kNumbered.size())) >= 0;
}

Device choose_device(std::string_view name, std::string_view key, int local_rank) {
  if (!is_device_name(name))
    throw ConfigError(R"({}: expected "auto", "cpu", "cuda" or "cuda:N", found "{}")", key, name);
  if (name == "cpu") return {};
  if (name.starts_with(kNumbered)) return {DeviceKind::kCuda, index_of(name.substr(kNumbered.size()))};
  const int gpus = cuda::device_count();
  if (gpus == 0 && name == "auto") return {};
  return {DeviceKind::kCuda, gpus == 0 ? 0 : local_rank % gpus};
}

Device usable_device(std::string_view name, std::string_view key, int local_rank) {
  const Device device = choose_device(name, key, local_rank);
  if (!device.is_cuda()) return device;
  try {
    cuda::require_device(device.index);
  } catch (const DeviceError& error) {
    throw DeviceError("{} {}: {}", key, name, error.what());
  }
  return device;
}

}  // namespace segue
