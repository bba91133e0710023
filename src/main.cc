#include "src/cli/cli.h"

int main(int argc, char** argv) {
  return pontage::cli::run(argc, argv);
}
