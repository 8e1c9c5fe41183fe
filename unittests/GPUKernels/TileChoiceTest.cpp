// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Costs by hand, and the tiles that follow for layers of ResNet-50 with 32 images
// on a device of 132 multiprocessors.
#include "TileChoice.h"

#include <gtest/gtest.h>

using namespace ringconv;

static constexpr TileOption big{{128, 128, 64, 64, 4}, 2, 0.5}, narrow{{128, 64, 64, 64, 4}, 3, 0.5},
    small{{64, 64, 32, 32, 4}, 4, 0.25};
static constexpr TileOption options[] = {big, narrow, small};

TEST(TileChoice, CountsWavesOfWholeTiles) {
  // 10 blocks on 2 multiprocessors with 2 blocks each: 3 waves of 2 tiles.
  EXPECT_EQ(tileCost(big, 1280, 128, 1, 2), 3 * 2 * 128 * 128 / 0.5);
  // One pixel or feature more begins another row or column of tiles.
  EXPECT_EQ(tileCost(big, 1281, 128, 1, 11), tileCost(big, 1280, 128, 1, 11));
  EXPECT_EQ(tileCost(big, 1281, 128, 1, 5), 2 * tileCost(big, 1280, 128, 1, 5));
  EXPECT_EQ(tileCost(big, 1280, 129, 1, 5), tileCost(big, 1280, 256, 1, 5));
  // Groups are blocks of their own.
  EXPECT_EQ(tileCost(big, 128, 128, 10, 2), tileCost(big, 1280, 128, 1, 2));
}

TEST(TileChoice, WastesNoColumns) {
  // 64 features of 100,352 pixels: a tile of 128 features computes half for nothing.
  // Blocks of 128x64: 784 in 2 waves of 396; of 128x128: 784 in 3 waves of 264.
  EXPECT_EQ(chooseTile(options, 100352, 64, 1, 132), narrow.tile);
}

TEST(TileChoice, FillsTheDevice) {
  // 28x28 with 128 features: 392 blocks of 128x64 are 0.99 of a wave of 396, 196 of
  // 128x128 are 0.74 of one of 264: 3 * 8192 / 0.5 against 2 * 16384 / 0.5.
  EXPECT_EQ(chooseTile(options, 25088, 128, 1, 132), narrow.tile);
  // 7x7 with 512: 100 blocks of 128x64 fit, but so do 200 of 64x64 that are smaller.
  EXPECT_EQ(tileCost(narrow, 1568, 512, 1, 132), 3 * 128 * 64 / 0.5);
  EXPECT_EQ(tileCost(small, 1568, 512, 1, 132), 4 * 64 * 64 / 0.25);
  EXPECT_EQ(chooseTile(options, 1568, 512, 1, 132), narrow.tile);
}

TEST(TileChoice, TakesTheFirstOfEquals) {
  static constexpr TileOption twins[] = {{{64, 64, 32, 32, 3}, 4, 0.5}, {{64, 64, 32, 32, 4}, 4, 0.5}};
  EXPECT_EQ(chooseTile(twins, 1000, 100, 1, 10), twins[0].tile);
}
