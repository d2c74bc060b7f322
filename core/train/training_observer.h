// The interface by which others follow the progress of training, so that training need not know what is drawn of it.
#pragma once

namespace segue {

class TrainingObserver {
 public:
  TrainingObserver() = default;
  virtual ~TrainingObserver() = default;
  TrainingObserver(const TrainingObserver&) = delete;
  TrainingObserver& operator=(const TrainingObserver&) = delete;

  // There is one more line of metrics, of training or of an evaluation. The other ranks wait meanwhile.
  virtual void metrics_written() = 0;

  // Training is over, by its plan, by a signal, or since a loss or a norm is not finite. Not called after other errors.
  virtual void ended() = 0;
};

}  // namespace segue
