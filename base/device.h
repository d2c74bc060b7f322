// Which processor holds memory and runs operations.
#pragma once

#include <cstdint>
#include <string>

namespace segue {

enum class DeviceKind : uint8_t { kCpu, kCuda };

struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;  // of the GPU, as CUDA counts them; 0 for the CPU
  bool is_cuda() const { return kind == DeviceKind::kCuda; }
  bool operator==(const Device&) const = default;
};

inline std::string name_of(const Device& device) {
  return device.is_cuda() ? "cuda:" + std::to_string(device.index) : "cpu";
}

}  // namespace segue
