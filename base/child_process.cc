// fork and exec. A pipe that exec closes tells whether it came to that.
#include "base/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"

namespace segue {

namespace {

// As a shell starts it: no signal is blocked or ignored that this process blocks or ignores.
void restore_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGPIPE}) static_cast<void>(std::signal(signal, SIG_DFL));
}

// In the child, where after fork() of a program with threads nothing may be allocated.
[[noreturn]] void become(char* const* words, ChildOutput output, int failure, pid_t parent) {
  static_cast<void>(::setpgid(0, 0));
  if (output == ChildOutput::kNone) {
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) static_cast<void>(::dup2(nowhere, STDOUT_FILENO));
  }
  restore_signals();
  static_cast<void>(::prctl(PR_SET_PDEATHSIG, SIGINT));
  if (::getppid() != parent) ::_exit(128 + SIGINT);
  ::execvp(words[0], words);
  const int reason = errno;
  static_cast<void>(!::write(failure, &reason, sizeof reason));
  ::_exit(127);
}

// What kept the child from its program; 0: nothing.
int failure_of(int from) {
  int reason = 0;
  ssize_t size = 0;
  do size = ::read(from, &reason, sizeof reason);
  while (size < 0 && errno == EINTR);
  return size == sizeof reason ? reason : 0;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& words, ChildOutput output) {
  if (words.empty()) throw ContractError("child process: expected words, found none");
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));  // NOLINT: exec's type
  arguments.push_back(nullptr);
  std::array<int, 2> failure{};
  if (::pipe2(failure.data(), O_CLOEXEC) != 0) throw FileError("{}: {}", words[0], std::strerror(errno));
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) become(arguments.data(), output, failure[1], parent);
  const int refused = process_ < 0 ? errno : 0;
  ::close(failure[1]);
  const int reason = refused != 0 ? refused : failure_of(failure[0]);
  ::close(failure[0]);
  if (reason == 0) return;
  if (process_ > 0) ::waitpid(process_, nullptr, 0);
  throw FileError("{}: cannot be started: {}", words[0], std::strerror(reason));
}

ChildProcess::~ChildProcess() {
  if (process_ < 0 || end_) return;
  send(SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void ChildProcess::send(int signal) const {
  if (!end_) static_cast<void>(::kill(process_, signal));
}

std::optional<ProcessEnd> ChildProcess::ended() {
  if (end_) return end_;
  int status = 0;
  rusage usage{};
  if (::wait4(process_, &status, WNOHANG, &usage) != process_) return std::nullopt;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  end_ = ProcessEnd{.code = code, .peak_bytes = int64_t{usage.ru_maxrss} * 1024};
  return end_;
}

}  // namespace segue
