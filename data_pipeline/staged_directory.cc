#include "data_pipeline/staged_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/file.h"

namespace segue {
namespace {

std::filesystem::path without_trailing_slash(const std::filesystem::path& path) {
  const std::filesystem::path normal = path.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

// Puts the directory `partial` in place of `target`, which is removed.
// Where the file system cannot exchange two names (NFS), there is a moment without `target`.
void replace(const std::filesystem::path& partial, const std::filesystem::path& target) {
  if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) {
    sync_directory(target / "..");
    return remove_tree(partial);
  }
  if (errno != EINVAL && errno != ENOSYS)
    throw FileError("{}: cannot replace: {}", target.string(), std::generic_category().message(errno));
  remove_tree(target);
  rename_durably(partial, target);
}

// A file system that is mounted on a directory keeps that from being replaced, as in a container whose volume it is.
void refuse_mount_point(const std::filesystem::path& target) {
  struct statx status {};
  if (::statx(AT_FDCWD, target.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) != 0) return;
  if ((status.stx_attributes & status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0)
    throw FileError("{}: expected a directory that can be replaced, found a mounted file system; name one in it",
                    target.string());
}

}  // namespace

StagedDirectory::StagedDirectory(const std::filesystem::path& target)
    : target_(behind_links(without_trailing_slash(target))), partial_(target_.string() + ".partial") {
  refuse_mount_point(target_);
  output_.emplace(partial_, target, [&] {
    std::error_code error;
    std::filesystem::create_directories(partial_, error);
    if (error) throw FileError("{}: cannot create the directory: {}", target.string(), error.message());
    claim();
  });
  for (const auto& left_over : std::filesystem::directory_iterator(partial_)) remove_tree(left_over.path());
}

void StagedDirectory::claim() {
  lock_ = ::open(partial_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) throw FileError("{}: cannot open: {}", partial_.string(), std::generic_category().message(errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(lock_);
  throw FileError("{}: another process is writing here", partial_.string());
}

StagedDirectory::~StagedDirectory() {
  std::error_code ignored;
  if (!committed_) std::filesystem::remove_all(partial_, ignored);
  ::close(lock_);
}

void StagedDirectory::commit() {
  sync_directory(partial_);
  output_->publish([this] {
    if (std::filesystem::exists(target_)) {
      replace(partial_, target_);
    } else {
      rename_durably(partial_, target_);
    }
  });
  committed_ = true;
}

}  // namespace segue
