#include "src/observe/histogram.h"

#include <set>
#include <thread>

#include <gtest/gtest.h>

namespace pontage::observe {
namespace {

TEST(Histogram, PutsEachBoundInItsOwnBucketAndTheNextNanosecondAbove) {
  for (std::size_t i = 0; i < kLatencyBounds; ++i) {
    EXPECT_EQ(bucket_of(kLatencyBoundsNs[i]), i);
    EXPECT_EQ(bucket_of(kLatencyBoundsNs[i] + 1), i + 1);
  }
  EXPECT_EQ(bucket_of(0), 0U);
  EXPECT_EQ(bucket_of(~0ULL), kLatencyBounds);
}

TEST(Histogram, CellsNeverFallAsDurationsGrowAndStayInRange) {
  std::size_t last = 0;
  for (std::uint64_t ns = 0; ns < 300'000'000'000; ns += 1 + ns / 1000) {
    const std::size_t cell = cell_of(ns);
    ASSERT_GE(cell, last);
    ASSERT_LE(cell, last + 1);
    last = cell;
  }
  EXPECT_EQ(last, kHistogramCells - 1);
  EXPECT_EQ(cell_of(~0ULL), kHistogramCells - 1);
}

TEST(Histogram, StepsAreAtMostASixteenthWide) {
  for (std::size_t step = 16; step < detail::kSteps; ++step) {
    const auto begin = detail::step_begin(step);
    EXPECT_EQ(detail::step_of(begin), step);
    EXPECT_EQ(detail::step_of(begin - 1), step - 1);
    EXPECT_LE((detail::step_begin(step + 1) - begin) * 16, begin);
  }
}

TEST(Histogram, SumsWorkersExactlyByBucket) {
  HistogramCells a;
  HistogramCells b;
  std::uint64_t sum = 0;
  for (const std::uint64_t ns : {1ULL, 50'000ULL, 50'001ULL, 2'500'000ULL, 10'000'000'000ULL}) {
    a.record(ns);
    sum += ns;
  }
  b.record(20'000'000'000ULL);
  HistogramTotals totals;
  totals.add(a);
  totals.add(b);
  EXPECT_EQ(totals.count(), 6U);
  EXPECT_EQ(totals.sum(), sum + 20'000'000'000ULL);
  const auto buckets = totals.buckets();
  EXPECT_EQ(buckets[0], 2U);
  EXPECT_EQ(buckets[1], 1U);
  EXPECT_EQ(buckets[5], 1U);
  EXPECT_EQ(buckets[16], 1U);
  EXPECT_EQ(buckets[17], 1U);
}

TEST(Histogram, TellsQuantilesToASixteenth) {
  HistogramTotals none;
  EXPECT_EQ(none.quantile(0.5), 0U);
  HistogramCells cells;
  for (std::uint64_t us = 1; us <= 1000; ++us) cells.record(us * 1000);
  HistogramTotals totals;
  totals.add(cells);
  for (const double q : {0.1, 0.5, 0.9, 0.99, 1.0}) {
    const double exact = q * 1e6;
    EXPECT_GE(static_cast<double>(totals.quantile(q)), exact);
    EXPECT_LE(static_cast<double>(totals.quantile(q)), exact * 17 / 16 + 256);
  }
}

TEST(Histogram, MayBeReadWhileItIsWritten) {
  HistogramCells cells;
  constexpr std::uint64_t kAll = 20000;
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < kAll; ++i) cells.record(i * 1000);
  });
  std::uint64_t seen = 0;
  while (seen < kAll) {
    HistogramTotals totals;
    totals.add(cells);
    ASSERT_GE(totals.count(), seen);
    seen = totals.count();
  }
  writer.join();
}

}  // namespace
}  // namespace pontage::observe
