#include "base/control_groups.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace segue {
namespace {

bool contains(std::string_view controllers, std::string_view wanted) {
  while (!controllers.empty()) {
    const size_t end = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, end) == wanted) return true;
    controllers.remove_prefix(std::min(end + 1, controllers.size()));
  }
  return false;
}

// Of "/a/b" the groups /a/b, /a and /.
void add_with_parents(const std::filesystem::path& root, std::filesystem::path group,
                      std::vector<std::filesystem::path>& found) {
  for (bool goes_on = true; goes_on; group = group.parent_path()) {
    found.push_back(root / group.relative_path());
    goes_on = group.has_relative_path();
  }
}

}  // namespace

std::vector<std::filesystem::path> control_groups(std::string_view controller, const std::filesystem::path& groups,
                                                  const std::filesystem::path& membership) {
  std::vector<std::filesystem::path> found;
  std::ifstream file(membership);
  for (std::string line; std::getline(file, line);) {  // "4:cpu,cpuacct:/a/b", or "0::/a/b" of version 2
    std::istringstream fields(line);
    std::string number, controllers, group;
    if (!std::getline(fields, number, ':') || !std::getline(fields, controllers, ':') || !std::getline(fields, group))
      continue;
    if (number == "0" && controllers.empty()) add_with_parents(groups, group, found);
    if (contains(controllers, controller)) add_with_parents(groups / controllers, group, found);
  }
  return found;
}

}  // namespace segue
