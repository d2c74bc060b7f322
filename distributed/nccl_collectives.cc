// Every call is begun, then asked for until NCCL has queued it; every wait asks whether NCCL is still well.
#include "distributed/nccl_collectives.h"

#include <exception>

#include "base/buffer.h"
#include "base/error.h"
#include "base/patience.h"

namespace segue {

namespace {

std::string tell_id(Job& job) { return job.gather(job.is_first() ? nccl::make_id() : "").front(); }

}  // namespace

NcclCollectives::NcclCollectives(Job& job, Device device, double timeout_seconds)
    : Collectives(job.rank(), job.size()),
      job_(job),
      timeout_seconds_(timeout_seconds),
      stream_(device.index),
      handle_(tell_id(job), job.size(), job.rank()) {
  settle("NCCL's start");
  check_sum_of_ones(device);
}

NcclCollectives::~NcclCollectives() {
  if (std::uncaught_exceptions() > 0) return;
  try {
    wait();
    handle_.finish();
    settle("NCCL's end");
  } catch (const Error&) {  // the handle aborts; whoever needed the others has heard of it
  }
}

void NcclCollectives::all_reduce(TensorView values) {
  check_summable(values.dtype);
  handle_.all_reduce(values, stream());
  settle("all_reduce");
}

void NcclCollectives::reduce_scatter(ConstTensorView values, TensorView my_part) {
  check_summable(values.dtype);
  handle_.reduce_scatter(values, my_part, stream());
  settle("reduce_scatter");
}

void NcclCollectives::all_gather(ConstTensorView my_part, TensorView values) {
  handle_.all_gather(my_part, values, stream());
  settle("all_gather");
}

void NcclCollectives::wait() {
  wait_until([this] { return cuda::is_idle(stream()); }, [this](double seconds) { check_progress(seconds); });
}

void NcclCollectives::check_progress(double seconds_waited) {
  if (handle_.progress() == nccl::Progress::kFailed) fail("waiting for a GPU");
  if (seconds_waited > timeout_seconds_) give_up("waiting for a GPU");
}

// The others are asked before they are left, which some of them would notice as an error of NCCL's.
void NcclCollectives::give_up(std::string_view what) {
  try {
    job_.give_up(what);
  } catch (...) {
    abandon();
    throw;
  }
  std::terminate();  // giving up throws
}

// Until NCCL has queued the work of the last call.
void NcclCollectives::settle(std::string_view what) {
  const auto watch = [&](double seconds) {
    if (seconds > timeout_seconds_) give_up(what);
  };
  wait_until([this] { return handle_.progress() != nccl::Progress::kGoingOn; }, watch);
  if (handle_.progress() == nccl::Progress::kFailed) fail(what);
}

// Ranks that have met may still not reach each other: better to learn that before the first step.
void NcclCollectives::check_sum_of_ones(Device device) {
  OwnedTensor one(DType::kInt64, {1});
  one.as<int64_t>()[0] = 1;
  OwnedTensor sum(DType::kInt64, {1}, device);
  copy_tensor(sum.view(), one.view(), device);
  all_reduce(sum.view());
  wait();
  const int64_t found = host_copy(sum.view(), device).as<int64_t>()[0];
  if (found != size()) throw PeerError("NCCL: the ones of {} ranks add up to {}", size(), found);
}

void NcclCollectives::fail(std::string_view what) {
  const std::string error = handle_.error();
  abandon();
  throw PeerError("step {}: {}: NCCL failed on rank {}, host {}: {}", job_.step(), what, rank(), job_.host(), error);
}

}  // namespace segue
