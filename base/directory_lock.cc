// The lock of the kernel, and the owner's token in the locked file.
#include "base/directory_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <random>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json_fields.h"

namespace segue {

namespace {

constexpr const char* kLockFile = "lock";
constexpr int64_t kLongestToken = 4096;

struct Owner {
  std::string host;
  int64_t process = 0;
  std::string random;  // process numbers come again
  void describe(JsonFields& fields) {
    fields.required("host", host, {.meaning = "where the process runs that last wrote to this directory"});
    fields.required("process", process, {.meaning = "its number there"});
    fields.required("random", random, {.meaning = "tells it from others of this number"});
  }
};

std::string name_of_this_host() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0)
    throw FileError("cannot tell this host's name: {}", reason_of_failure());
  return host.data();
}

std::string token_of_this_process() {
  std::random_device device;
  return write_fields(Owner{.host = name_of_this_host(),
                            .process = ::getpid(),
                            .random = fmt::format("{:08x}{:08x}", device(), device())})
             .dump() +
         "\n";
}

Owner owner_in(const std::string& token) {
  return read_fields<FileError, Owner>(parse_json<FileError>(token, kLockFile), kLockFile);
}

// "HOST pid N", or that it is not known.
std::string describe_owner(const std::string& token) try {
  const Owner owner = owner_in(token);
  return fmt::format("{} pid {}", owner.host, owner.process);
} catch (const FileError&) {
  return "another process, which left no name";
}

// Another host may be gone, and its lock outlive it.
std::string advice_on(const std::string& token) try {
  if (owner_in(token).host == name_of_this_host()) return "";
  return "; if that host is gone, its lock ends a minute or two later (NFS 4) or when it is back (NFS 3)";
} catch (const FileError&) {
  return "";
}

int open_lock(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) throw FileError("{}: cannot open for writing: {}", path.string(), reason_of_failure());
  return descriptor;
}

}  // namespace

DirectoryLock::DirectoryLock(const std::filesystem::path& directory)
    : DirectoryLock(directory / kLockFile, open_lock(directory / kLockFile)) {
  if (!obtain()) {
    const std::string token = read_file(path_, kLongestToken);
    throw FileError("{}: in use by {}{}", directory.string(), describe_owner(token), advice_on(token));
  }
  sign();
}

// Delegated to, so that the destructor closes the file after an exception.
DirectoryLock::DirectoryLock(std::filesystem::path path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor), token_(token_of_this_process()) {}

// The file stays: another process may be about to lock it.
DirectoryLock::~DirectoryLock() { ::close(descriptor_); }

bool DirectoryLock::obtain() const {
  struct flock whole_file {};
  whole_file.l_type = F_WRLCK;
  whole_file.l_whence = SEEK_SET;
  if (::fcntl(descriptor_, F_OFD_SETLK, &whole_file) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  throw FileError(
      "{}: the file system refuses locks, which keep two processes from writing to one run: {}; mount it with them "
      "(NFS: without nolock and with the server's lock service, Lustre: with -o flock) or choose another with --run",
      path_.string(), reason_of_failure());
}

void DirectoryLock::sign() const {
  const auto length = static_cast<ssize_t>(token_.size());
  if (::ftruncate(descriptor_, 0) != 0 || ::pwrite(descriptor_, token_.data(), token_.size(), 0) != length ||
      ::fsync(descriptor_) != 0)
    throw FileError("{}: cannot write: {}", path_.string(), reason_of_failure());
}

// To ask for the lock again asks NFS's server, which may have forgotten it. The file is opened anew since a client only
// then looks whether it has changed.
void DirectoryLock::check() const {
  if (!path_exists(path_)) {
    throw FileError("{}: gone, so that another process may begin to write here; this one ends and saves nothing more",
                    path_.string());
  }
  const bool is_ours = obtain();
  const std::string found = read_file(path_, kLongestToken);
  if (is_ours && found == token_) return;
  throw FileError("{}: taken over by {}; this process, {}, ends and saves nothing more", path_.string(),
                  describe_owner(found), describe_owner(token_));
}

}  // namespace segue
