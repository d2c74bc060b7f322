// One process at a time writes to a directory, on every host that sees it.
#pragma once

#include <filesystem>
#include <string>

namespace segue {

// Keeps a directory for this process while it lives, or until the process ends in whatever way. Others that ask for the
// same lock are refused; those that do not ask are not held off.
//
// The lock is an open-file-description lock (fcntl) on the file `lock` in the directory, which NFS clients pass on to
// their server; a flock on a directory they keep to themselves. Unlike the older lock of a process it does not end when
// the process closes any other descriptor of the file. Where hosts do not see one another's locks all the same (NFS
// mounted with nolock, a server that forgot), the owner's token that the file holds tells who took the directory last.
class DirectoryLock {
 public:
  // Throws FileError: who has the directory, or that its file system refuses locks and what to do.
  explicit DirectoryLock(const std::filesystem::path& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  // To be called right before anything is changed in the directory. Throws FileError when it is no longer this
  // process's: the lock or its file is gone, or another has put its token there.
  void check() const;

 private:
  DirectoryLock(std::filesystem::path path, int descriptor);
  bool obtain() const;  // false when another process has it
  void sign() const;

  std::filesystem::path path_;
  int descriptor_;
  std::string token_;  // all that the file holds
};

}  // namespace segue
