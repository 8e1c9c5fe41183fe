// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Reference.h"

#include <gtest/gtest.h>
#include <limits>

using namespace ringconv::halo;
using namespace ringconv::halo::test;

/// testing::Test has a member of the name Run.
using Runs = std::vector<ringconv::halo::Run>;

/// The fewest runs by trying every last run: dynamic programming over prefixes.
static size_t fewestRuns(const std::vector<int64_t> &values,
                         const std::vector<bool> &care) {
  std::vector<size_t> fewest{0};
  auto linear = [&](size_t begin, size_t end) {
    for (int64_t slope = -20; slope <= 20; ++slope) {
      bool fits = true, known = false;
      int64_t base = 0;
      for (size_t c = begin; c < end && fits; ++c) {
        if (!care[c])
          continue;
        int64_t at = values[c] - slope * static_cast<int64_t>(c - begin);
        fits = !known || base == at;
        base = at;
        known = true;
      }
      if (fits)
        return true;
    }
    return false;
  };
  for (size_t end = 1; end <= values.size(); ++end) {
    fewest.push_back(end);
    for (size_t begin = 0; begin < end; ++begin)
      if (linear(begin, end))
        fewest[end] = std::min(fewest[end], fewest[begin] + 1);
  }
  return fewest.back();
}

TEST(HaloTable, RunsAreMaximal) {
  EXPECT_EQ(Table::of({4, 4, 4}).runs, (Runs{{0, 4, 0}}));
  EXPECT_EQ(Table::of({0, 1, 2, 3}).runs, (Runs{{0, 0, 1}}));
  EXPECT_EQ(Table::of({7}).runs, (Runs{{0, 7, 0}}));
  EXPECT_EQ(Table::of({0, 0, 0, 5}).runs, (Runs{{0, 0, 0}, {3, 5, 0}}));
  EXPECT_EQ(Table::of({3, 0, 0, 0}).runs, (Runs{{0, 3, -3}, {2, 0, 0}}));
  EXPECT_EQ(Table::of({0, 3, 6, 8, 10, 12}).runs, (Runs{{0, 0, 3}, {3, 8, 2}}));
}

TEST(HaloTable, Constant) {
  EXPECT_EQ(Table::of({4, 4, 4}).constant(), 4);
  EXPECT_EQ(Table::of({4}).constant(), 4);
  EXPECT_EQ(Table::of({4, 5}).constant(), std::nullopt);
  EXPECT_EQ(Table::of({4, 4, 5}).constant(), std::nullopt);
  EXPECT_EQ(Table::of({9, 4, 4, 1}, {false, true, true, false}).constant(), 4);
  EXPECT_EQ(Table::of({9, 4, 5, 1}, {false, true, true, false}).runs,
            (Runs{{0, 3, 1}}));
  EXPECT_TRUE(Table::of({9, 8}, {false, false}).constant().has_value());
}

TEST(HaloTable, ExtremeValuesDoNotOverflow) {
  constexpr int64_t least = std::numeric_limits<int64_t>::min(),
                    most = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> values{least, most, most - 1,         least, 0,
                              most,  0,    int64_t(1) << 62, least};
  Table table = Table::of(values);
  Table same = Table::of(values, std::vector<bool>(values.size(), true));
  for (size_t c = 0; c < values.size(); ++c)
    EXPECT_EQ(table.at(c), values[c]);
  EXPECT_EQ(table, same);
}

TEST(HaloTable, RandomTablesHaveTheFewestRuns) {
  Random random(2);
  constexpr int kCases = 5000;
  for (int i = 0; i < kCases; ++i) {
    size_t parts = draw(random, 1, 9);
    std::vector<int64_t> values;
    std::vector<bool> care, all(parts, true);
    for (size_t c = 0; c < parts; ++c) {
      values.push_back(draw(random, 0, draw(random, 1, 6)));
      care.push_back(draw(random, 0, 2) != 0);
    }
    Table exact = Table::of(values), loose = Table::of(values, care);
    EXPECT_EQ(exact.runs.size(), fewestRuns(values, all));
    EXPECT_EQ(loose.runs.size(), fewestRuns(values, care));
    std::vector<int64_t> filled;
    for (size_t c = 0; c < parts; ++c) {
      EXPECT_EQ(exact.at(c), values[c]);
      if (care[c]) {
        EXPECT_EQ(loose.at(c), values[c]);
      }
      filled.push_back(loose.at(c));
    }
    EXPECT_EQ(loose, Table::of(filled)) << "not canonical";
  }
  std::cout << kCases << " tables\n";
}
