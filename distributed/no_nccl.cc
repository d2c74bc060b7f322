// A build without NCCL: there is no library, so no handle is ever made.
#include "base/error.h"
#include "distributed/nccl.h"

namespace segue::nccl {

namespace {

constexpr const char* kComplaint = "this program was built without NCCL";

[[noreturn]] void refuse() { throw PeerError("{}", kComplaint); }

}  // namespace

struct Handle::State {};

Library find_library() { return {.version = 0, .complaint = kComplaint}; }
std::string make_id() { refuse(); }

Handle::Handle(const std::string& /*id*/, int /*ranks*/, int /*rank*/) { refuse(); }
Handle::~Handle() = default;
Progress Handle::progress() { refuse(); }
std::string Handle::error() const { refuse(); }
void Handle::all_reduce(TensorView /*values*/, void* /*stream*/) { refuse(); }
void Handle::reduce_scatter(ConstTensorView /*values*/, TensorView /*my_part*/, void* /*stream*/) { refuse(); }
void Handle::all_gather(ConstTensorView /*my_part*/, TensorView /*values*/, void* /*stream*/) { refuse(); }
void Handle::finish() { refuse(); }
void Handle::abort() noexcept {}

}  // namespace segue::nccl
