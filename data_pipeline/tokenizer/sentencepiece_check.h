// Checks, before the SentencePiece library is handed a model, what the library takes for granted.
//
// Versions below 0.2.1 read and write outside of their memory where a model is not as their own trainer makes it. What
// can lead there is bounded here: lengths of pieces (the library's trie recurses over them), user-defined pieces that
// begin each other, and the automaton that normalises characters, whose every step and text must lie inside of it.
#pragma once

#include <string>
#include <string_view>

namespace segue {

// Throws DataError naming `source`.
void check_sentencepiece_model(std::string_view model, const std::string& source);

}  // namespace segue
