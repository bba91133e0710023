#include "protocols/http1/scan.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace pontage::http1 {
namespace {

TEST(Scan, FindsTheFirstControlAtEveryLengthAndAlignment) {
  std::vector<char> memory(160, 'a');
  for (std::size_t offset = 0; offset < 16; ++offset) {
    for (std::size_t length = 0; length < 70; ++length) {
      char* const at = memory.data() + offset;
      ASSERT_EQ(find_control(at, at + length), at + length);
      for (std::size_t bad = 0; bad < length; ++bad) {
        at[bad] = '\r';
        ASSERT_EQ(find_control(at, at + length), at + bad);
        ASSERT_EQ(find_control_scalar(at, at + length), at + bad);
        at[bad] = '\t';
        ASSERT_EQ(find_control(at, at + length), at + length);
        at[bad] = 'a';
      }
    }
  }
}

TEST(Scan, AgreesWithItsTwinOnEveryByte) {
  for (int c = 0; c < 256; ++c) {
    for (const std::size_t at : {0, 15, 16, 31, 35}) {
      std::string text(36, 'x');
      text[at] = static_cast<char>(c);
      const char* const end = text.data() + text.size();
      EXPECT_EQ(find_control(text.data(), end), find_control_scalar(text.data(), end)) << c << " at " << at;
    }
  }
}

TEST(Scan, FindsTheFirstColonAtEveryLength) {
  for (std::size_t length = 0; length < 50; ++length) {
    std::string text(length, 'n');
    EXPECT_EQ(find_colon(text.data(), text.data() + length), text.data() + length);
    for (std::size_t at = 0; at < length; ++at) {
      text.replace(at, std::string::npos, length - at, ':');
      EXPECT_EQ(find_colon(text.data(), text.data() + length), text.data() + at);
      EXPECT_EQ(find_colon_scalar(text.data(), text.data() + length), text.data() + at);
      text.replace(at, std::string::npos, length - at, 'n');
    }
  }
}

// The input ends where an unreadable page starts.
TEST(Scan, NeverReadsPastTheEnd) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const map = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(map, MAP_FAILED);
  char* const guard = static_cast<char*>(map) + page;
  ASSERT_EQ(mprotect(guard, page, PROT_NONE), 0);
  for (std::size_t length = 0; length < 100; ++length) {
    for (char* c = guard - length; c != guard; ++c) *c = 'v';
    EXPECT_EQ(find_control(guard - length, guard), guard);
    EXPECT_EQ(find_colon(guard - length, guard), guard);
  }
  munmap(map, 2 * page);
}

}  // namespace
}  // namespace pontage::http1
