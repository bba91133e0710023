// The command line: verbs and their options, and nothing else: each verb calls the floor that does the work.
#pragma once

namespace pontage::cli {

// Exit code: 0 fine, 1 run-time failure, 2 usage, 78 bad configuration.
int run(int argc, char** argv);

}  // namespace pontage::cli
