#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "src/http/encoder_heap.h"

namespace pontage::http {
namespace {

constexpr std::size_t kLarge = 100'000;

TEST(EncoderHeap, CountsWhatIsInUse) {
  EncoderHeap heap;
  void* small = heap.allocate(10);
  void* large = heap.allocate(kLarge);
  std::memset(large, 1, kLarge);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small) % alignof(std::max_align_t), 0U);
  EXPECT_GE(heap.held(), kLarge + 10);
  EXPECT_LT(heap.held(), kLarge + 100);
  heap.free(small);
  heap.free(large);
  heap.free(nullptr);
  EXPECT_EQ(heap.held(), 0U) << "without a limit nothing is kept";
}

TEST(EncoderHeap, KeepsLargeBlocksForTheSameSizeAgain) {
  EncoderHeap heap;
  heap.set_limit(kLarge * 2);
  void* first = heap.allocate(kLarge);
  heap.free(first);
  EXPECT_GE(heap.held(), kLarge);
  void* much_smaller = heap.allocate(kLarge / 2);
  EXPECT_NE(much_smaller, first);
  void* a_little_smaller = heap.allocate(kLarge - 1000);
  EXPECT_EQ(a_little_smaller, first);
  heap.free(much_smaller);
  heap.free(a_little_smaller);
}

TEST(EncoderHeap, WhatIsKeptNeverExceedsTheLimit) {
  EncoderHeap heap;
  heap.set_limit(kLarge * 3);
  std::vector<void*> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(heap.allocate(kLarge));
  EXPECT_GE(heap.held(), 20 * kLarge) << "what is needed is given";
  for (void* block : blocks) heap.free(block);
  EXPECT_LE(heap.held(), kLarge * 3);
  EXPECT_GE(heap.held(), kLarge * 2);
  void* other = heap.allocate(kLarge * 2);
  EXPECT_LE(heap.held(), kLarge * 3) << "idle blocks make room";
  heap.free(other);
}

TEST(EncoderHeap, RefusesWhatNoMachineHas) {
  EncoderHeap heap;
  EXPECT_EQ(heap.allocate(std::numeric_limits<std::size_t>::max()), nullptr);
  EXPECT_EQ(heap.held(), 0U);
}

}  // namespace
}  // namespace pontage::http
