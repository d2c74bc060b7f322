// What a process may be started with that would harm its files.
#pragma once

namespace segue {

// Opens /dev/null in place of each closed one of standard input, output and error: a file that is opened later would
// take its number, and what is printed would go into that file. Input is empty then, and writing to output fails as it
// does where it is closed. To be called before any file is opened.
void open_standard_streams();

// A write beyond the limit on the size of files (ulimit -f) fails with a reason, as on a full disk, in place of ending
// the process without a word.
void fail_beyond_file_limit();

}  // namespace segue
