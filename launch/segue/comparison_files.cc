#include "launch/segue/comparison_files.h"

#include <fmt/format.h>

#include <random>

#include "base/file.h"
#include "base/json_text.h"
#include "core/compare/comparison_page.h"
#include "core/compare/comparison_result.h"
#include "core/compare/result_csv.h"
#include "core/compare/result_text.h"

namespace segue {

void write_for_all(const std::filesystem::path& path, std::string_view text) {
  const std::filesystem::path own = fmt::format("{}.{:08x}", path.string(), std::random_device()());
  write_file_atomically(own, text);
  rename_durably(own, path);
}

void write_comparison(const std::filesystem::path& directory, const ComparisonResult& result, const std::string& name) {
  write_for_all(directory / "result.json", format_json(result_json(result)));
  for (const CsvFile& file : result_csv(result)) write_for_all(directory / file.name, file.text);
  const report::Page page = comparison_page(result, name);
  write_for_all(directory / "index.html", page.finish());
  make_directories(directory / "figures");
  for (const report::DrawnFile& drawing : page.drawings())
    write_for_all(directory / "figures" / drawing.name, drawing.svg);
}

}  // namespace segue
