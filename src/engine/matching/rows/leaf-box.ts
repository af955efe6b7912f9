/** How the box of a leaf of areas grows with its rows. */

import { type Box, writeBoxOfRow } from './area-geometry.ts';
import type { Row } from './row-groups.ts';
import { BOX_MAX_X, BOX_MAX_Y, BOX_MIN_X, BOX_MIN_Y, BOX_NUMBER } from './tree-nodes.ts';

const BOX_SLACK = 0.05;

const rowBox: Box = { minX: 0, minY: 0, maxX: 0, maxY: 0 };
const leafBox: Box = { minX: 0, minY: 0, maxX: 0, maxY: 0 };

/**
 * The box that the leaf needs for an added row, lent until the next call; null when it has room. With some slack, so
 * that most insertions leave the R-tree alone.
 */
export function coveringBox(integers: Int32Array, leaf: number, row: Row): Box | null {
  writeBoxOfRow(row.latitude, row.longitude, row.reach, rowBox);
  if (integers[leaf + BOX_NUMBER] === 0) return rowBox;
  const minX = integers[leaf + BOX_MIN_X] as number;
  const minY = integers[leaf + BOX_MIN_Y] as number;
  const maxX = integers[leaf + BOX_MAX_X] as number;
  const maxY = integers[leaf + BOX_MAX_Y] as number;
  if (rowBox.minX >= minX && rowBox.maxX <= maxX && rowBox.minY >= minY && rowBox.maxY <= maxY) return null;
  const slackX = Math.round((Math.max(maxX, rowBox.maxX) - Math.min(minX, rowBox.minX)) * BOX_SLACK);
  const slackY = Math.round((Math.max(maxY, rowBox.maxY) - Math.min(minY, rowBox.minY)) * BOX_SLACK);
  leafBox.minX = rowBox.minX < minX ? rowBox.minX - slackX : minX;
  leafBox.minY = rowBox.minY < minY ? rowBox.minY - slackY : minY;
  leafBox.maxX = rowBox.maxX > maxX ? rowBox.maxX + slackX : maxX;
  leafBox.maxY = rowBox.maxY > maxY ? rowBox.maxY + slackY : maxY;
  return leafBox;
}
