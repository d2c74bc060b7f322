// How tests make an NCCL without GPUs fail.
#pragma once

#include <cstdint>

namespace segue::nccl {

enum class Fault : uint8_t {
  kNone,
  kRefusedCall,  // the next collective is an error
  kLateError,    // the next collective is queued, never done, and an error is found later
  kHang,         // the next collective is queued and never done
  kHangingCall,  // the next call, also that which opens a handle, is never queued
};

// For one call of this process.
void inject(Fault fault);

}  // namespace segue::nccl
