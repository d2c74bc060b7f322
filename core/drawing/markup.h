// Escapes text for HTML and SVG, and estimates its width.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace segue::report {

// Fit for text and for quoted attributes, of HTML and of XML: & < > " ' are named; characters that XML does not have,
// and bytes that are not UTF-8, become U+FFFD.
std::string escaped(std::string_view text);

// Characters of UTF-8 text.
int64_t character_count(std::string_view text);

// At most so many characters: the middle of what is longer becomes an ellipsis.
std::string shortened(std::string_view text, int64_t most);

// The same, so that it takes no more than so many pixels.
std::string fitted(std::string_view text, double width, double font_size);

// Lines of whole words of such a width; a longer word has a line of its own, and is shortened.
std::vector<std::string> wrapped(std::string_view text, double width, double font_size);

// Pixels that a line of the page's sans-serif takes, roughly and rather too many.
double text_width(std::string_view text, double font_size);

}  // namespace segue::report
