// Every call is begun, then asked for until NCCL has queued it; every wait asks whether NCCL is still well.
#include "distributed/nccl_communicator.h"

#include <exception>

#include "base/buffer.h"
#include "base/error.h"
#include "base/patience.h"

namespace segue {

namespace {

std::string tell_id(Communicator& job) { return job.gather(job.is_first() ? nccl::make_id() : "").front(); }

// Work of NCCL that waits for ranks which will not come must not outlive the job's last word: whoever frees memory of
// the GPU would wait for it.
template <typename Call>
auto or_abort(nccl::Handle& handle, const Call& call) {
  try {
    return call();
  } catch (...) {
    handle.abort();
    throw;
  }
}

}  // namespace

NcclCommunicator::NcclCommunicator(Communicator& job, Device device, double timeout_seconds)
    : job_(job),
      timeout_seconds_(timeout_seconds),
      stream_(device.index),
      handle_(tell_id(job), job.size(), job.rank()) {
  settle("NCCL's start");
  check_sum_of_ones(device);
}

NcclCommunicator::~NcclCommunicator() {
  if (std::uncaught_exceptions() > 0) return;
  try {
    wait();
    handle_.finish();
    settle("NCCL's end");
  } catch (const Error&) {  // the handle aborts; whoever needed the others has heard of it
  }
}

void NcclCommunicator::all_reduce(TensorView values) {
  check_summable(values.dtype);
  handle_.all_reduce(values, stream());
  settle("all_reduce");
}

void NcclCommunicator::reduce_scatter(ConstTensorView values, TensorView my_part) {
  check_summable(values.dtype);
  handle_.reduce_scatter(values, my_part, stream());
  settle("reduce_scatter");
}

void NcclCommunicator::all_gather(ConstTensorView my_part, TensorView values) {
  handle_.all_gather(my_part, values, stream());
  settle("all_gather");
}

void NcclCommunicator::wait() {
  wait_until([this] { return cuda::is_idle(stream()); }, [this](double seconds) { check_progress(seconds); });
}

void NcclCommunicator::check_progress(double seconds_waited) {
  if (handle_.progress() == nccl::Progress::kFailed) fail("waiting for a GPU");
  if (seconds_waited > timeout_seconds_) give_up("waiting for a GPU");
}

void NcclCommunicator::barrier() {
  or_abort(handle_, [&] { job_.barrier(); });
}

void NcclCommunicator::sum(std::span<double> values) {
  or_abort(handle_, [&] { job_.sum(values); });
}

std::vector<std::string> NcclCommunicator::gather(std::string_view mine) {
  return or_abort(handle_, [&] { return job_.gather(mine); });
}

void NcclCommunicator::at_step(int64_t step) {
  step_ = step;
  job_.at_step(step);
}

// The others are asked before they are left, which some of them would notice as an error of NCCL's.
void NcclCommunicator::give_up(std::string_view what) {
  or_abort(handle_, [&] { job_.give_up(what); });
  std::terminate();  // giving up throws
}

// Until NCCL has queued the work of the last call.
void NcclCommunicator::settle(std::string_view what) {
  const auto watch = [&](double seconds) {
    if (seconds > timeout_seconds_) give_up(what);
  };
  wait_until([this] { return handle_.progress() != nccl::Progress::kGoingOn; }, watch);
  if (handle_.progress() == nccl::Progress::kFailed) fail(what);
}

// Ranks that have met may still not reach each other: better to learn that before the first step.
void NcclCommunicator::check_sum_of_ones(Device device) {
  OwnedTensor one(DType::kInt64, {1});
  one.as<int64_t>()[0] = 1;
  OwnedTensor sum(DType::kInt64, {1}, device);
  copy_tensor(sum.view(), one.view(), device);
  all_reduce(sum.view());
  wait();
  const int64_t found = host_copy(sum.view(), device).as<int64_t>()[0];
  if (found != size()) throw PeerError("NCCL: the ones of {} ranks add up to {}", size(), found);
}

void NcclCommunicator::fail(std::string_view what) {
  const std::string error = handle_.error();
  handle_.abort();
  throw PeerError("step {}: {}: NCCL failed on rank {}, host {}: {}", step_, what, rank(), host(), error);
}

}  // namespace segue
