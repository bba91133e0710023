// ChunkPool and Recycler: the memory of buffers and of coroutine frames.
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "src/net/chunk_pool.h"
#include "src/net/recycler.h"

namespace pontage::net {
namespace {

constexpr std::size_t kMiB = 1 << 20;

TEST(ChunkPool, GivesAnEmptyChunkAtItsLimit) {
  ChunkPool pool(2 * kMiB);
  std::vector<Chunk> held;
  for (;;) {
    Chunk chunk = pool.take();
    if (!chunk) break;
    ASSERT_LE(held.size() * ChunkPool::kChunk, 2 * kMiB);
    held.push_back(std::move(chunk));
  }
  EXPECT_GE(held.size() * ChunkPool::kChunk, 2 * kMiB - 8 * ChunkPool::kChunk) << "most of it serves as chunks";
  EXPECT_LE(pool.bytes_mapped(), 2 * kMiB);
  EXPECT_TRUE(pool.take().span().empty());
  held.pop_back();
  EXPECT_TRUE(pool.take());
}

TEST(ChunkPool, GivesSlabsBackThatAWholeIntervalDidWithout) {
  ChunkPool pool;
  std::vector<Chunk> held;
  for (int i = 0; i < 1000; ++i) held.push_back(pool.take());
  const std::size_t peak = pool.bytes_mapped();
  EXPECT_GE(peak, 1000 * ChunkPool::kChunk);
  held.clear();
  pool.trim();
  EXPECT_EQ(pool.bytes_mapped(), peak) << "this interval needed them";
  pool.trim();
  EXPECT_LE(pool.bytes_mapped(), peak / 8);
  EXPECT_GT(pool.bytes_mapped(), 0U) << "some are kept for the next burst";
}

TEST(ChunkPool, UsesWhatIsFreeBeforeItMapsMore) {
  ChunkPool pool;
  std::vector<Chunk> held;
  for (int i = 0; i < 100; ++i) held.push_back(pool.take());
  const std::size_t mapped = pool.bytes_mapped();
  held.clear();
  for (int i = 0; i < 100; ++i) held.push_back(pool.take());
  EXPECT_EQ(pool.bytes_mapped(), mapped);
}

TEST(ChunkPool, TrimLeavesAloneWhatIsInUse) {
  ChunkPool pool;
  std::vector<Chunk> held;
  for (int i = 0; i < 400; ++i) held.push_back(pool.take());
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (i % 40 != 0) held[i].reset();
  }
  pool.trim();
  pool.trim();
  for (std::size_t i = 0; i < held.size(); i += 40) {
    std::memset(held[i].data(), 0x5a, ChunkPool::kChunk);
    held[i].reset();
  }
  pool.trim();
  pool.trim();
  EXPECT_TRUE(pool.take());
}

TEST(ChunkPool, NeverGivesAChunkToTwo) {
  ChunkPool pool(8 * kMiB);
  std::mt19937_64 random(7);
  struct Held {
    Chunk chunk;
    char mark;
  };
  std::vector<Held> held;
  std::set<char*> out;
  for (int i = 0; i < 20'000; ++i) {
    const bool take = held.empty() || (random() % 2 == 0 && held.size() < 300);
    if (take) {
      Chunk chunk = pool.take();
      ASSERT_TRUE(chunk);
      ASSERT_TRUE(out.insert(chunk.data()).second);
      const auto mark = static_cast<char>(random());
      std::memset(chunk.data(), mark, chunk.span().size());
      held.push_back({std::move(chunk), mark});
    } else {
      std::swap(held[random() % held.size()], held.back());
      const auto bytes = held.back().chunk.span();
      ASSERT_EQ(bytes.front(), held.back().mark);
      ASSERT_EQ(bytes.back(), held.back().mark);
      out.erase(bytes.data());
      held.pop_back();
    }
  }
}

TEST(ChunkPool, AMovedChunkIsGivenBackOnce) {
  ChunkPool pool(kMiB / 2);
  Chunk first = pool.take();
  char* const memory = first.data();
  Chunk second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT
  EXPECT_EQ(second.data(), memory);
  second = pool.take();
  EXPECT_NE(second.data(), memory);
  EXPECT_EQ(pool.take().data(), memory) << "the last one given back is the next one out";
}

TEST(Recycler, GivesABlockOfTheSameClassAgain) {
  Recycler::trim();
  void* const first = Recycler::allocate(200);
  Recycler::deallocate(first, 200);
  void* const second = Recycler::allocate(193);  // the same class of 64 bytes
  EXPECT_EQ(second, first);
  void* const third = Recycler::allocate(200);
  EXPECT_NE(third, second) << "never the same block to two";
  std::memset(second, 1, 193);
  std::memset(third, 2, 200);
  Recycler::deallocate(second, 193);
  Recycler::deallocate(third, 200);
  Recycler::trim();
}

TEST(Recycler, AnyBlockIsAsLargeAsItWasAskedFor) {
  Recycler::trim();
  for (int round = 0; round < 2; ++round) {
    for (std::size_t bytes = 1; bytes < 6000; bytes += 7) {
      void* const block = Recycler::allocate(bytes);
      std::memset(block, 0x5a, bytes);  // the sanitizer watches the end
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignof(std::max_align_t), 0U);
      Recycler::deallocate(block, bytes);
    }
  }
  Recycler::trim();
}

TEST(Recycler, KeepsNoMoreThanABurstIsWorth) {
  Recycler::trim();
  std::vector<void*> blocks;
  for (int i = 0; i < 2000; ++i) blocks.push_back(Recycler::allocate(512));
  EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
  for (void* block : blocks) Recycler::deallocate(block, 512);
  Recycler::trim();  // the leak checker counts the rest
}

}  // namespace
}  // namespace pontage::net
