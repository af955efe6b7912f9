/** A leaf of a row tree: its rows side by side in chunks of groups, and a summary that tells whether to visit them. */

import type { Box } from './area-geometry.ts';
import {
  CHUNK_LOG2_MAX,
  CHUNK_ROWS_LOG2_MAX,
  CHUNK_ROWS_MAX,
  type GroupMemory,
  groupBytes,
  LANES,
} from './row-groups.ts';

export interface Split {
  parent: Split | null;
  readonly axis: number;
  readonly at: number;
  left: TreeNode;
  right: TreeNode;
  /** At least what the rows below accept: removals do not narrow it. */
  accepts: number;
}

/** What the R-tree holds: the box of a leaf, as wide as when it was last entered. */
export interface LeafBox extends Box {
  readonly leaf: Leaf;
}

export class Leaf {
  parent: Split | null = null;
  /** Addresses of full chunks, or of one of 2^chunkLog2 groups. */
  chunks: number[] = [];
  /** The first of them while there are rows: most leaves have no other, and are read without a look at the array. */
  firstChunk = 0;
  chunkLog2 = 0;
  rowCount = 0;
  /** Union over the rows. */
  accepts = 0;
  removals = 0;
  /** Null in a place's tree. */
  box: LeafBox | null = null;
  /** Its line in the tables of the R-tree, and the revision of the tables in which it is that. */
  line = 0;
  lineRevision = -1;

  groupAt(position: number, hasArea: boolean): number {
    const chunk = this.chunks[position >> CHUNK_ROWS_LOG2_MAX] as number;
    return chunk + ((position & (CHUNK_ROWS_MAX - 1)) >> 4) * groupBytes(hasArea);
  }
}

export type TreeNode = Leaf | Split;

/** Makes room for one more row; returns its position. */
export function appendLane(leaf: Leaf, memory: GroupMemory, hasArea: boolean): number {
  const { chunks, rowCount } = leaf;
  leaf.rowCount = rowCount + 1;
  if (chunks.length === 0) {
    leaf.chunkLog2 = 0;
    leaf.firstChunk = memory.allocate(0, hasArea);
    chunks.push(leaf.firstChunk);
  } else if (rowCount === chunks.length * (LANES << leaf.chunkLog2)) {
    if (leaf.chunkLog2 < CHUNK_LOG2_MAX) resize(leaf, leaf.chunkLog2 + 1, memory, hasArea);
    else chunks.push(memory.allocate(CHUNK_LOG2_MAX, hasArea));
  }
  return rowCount;
}

/** Frees chunks that the rows no longer need. */
export function giveBackChunks(leaf: Leaf, memory: GroupMemory, hasArea: boolean): void {
  const { chunks, rowCount } = leaf;
  if (rowCount === 0 || (chunks.length > 1 && rowCount <= (chunks.length - 1) * CHUNK_ROWS_MAX)) {
    memory.free(chunks.pop() as number, leaf.chunkLog2, hasArea);
  } else if (leaf.chunkLog2 > 0 && chunks.length === 1 && rowCount <= (LANES << leaf.chunkLog2) / 4) {
    resize(leaf, leaf.chunkLog2 - 1, memory, hasArea);
  }
}

/** Moves the only chunk of a leaf to a larger or smaller one. */
function resize(leaf: Leaf, log2: number, memory: GroupMemory, hasArea: boolean): void {
  const from = leaf.chunks[0] as number;
  const to = memory.allocate(log2, hasArea);
  const bytes = groupBytes(hasArea) << Math.min(log2, leaf.chunkLog2);
  memory.bytes.copyWithin(to, from, from + bytes);
  memory.free(from, leaf.chunkLog2, hasArea);
  leaf.chunks[0] = to;
  leaf.firstChunk = to;
  leaf.chunkLog2 = log2;
}
