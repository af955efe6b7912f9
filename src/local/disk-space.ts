/** The free space on the disk of a directory. */

import { statfs } from 'node:fs/promises';

export interface DiskSpace {
  readonly freeBytes: number;
  readonly sizeBytes: number;
  /** True if the disk may become full before an operator can react. */
  readonly isLow: boolean;
}

const FREE_SHARE_LEAST = 1 / 20;

export async function readDiskSpace(directory: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(directory);
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize, isLow: bavail < blocks * FREE_SHARE_LEAST };
}

export function bytesText(bytes: number): string {
  const [size, unit] = bytes < 1e9 ? [bytes / 1e6, 'MB'] : [bytes / 1e9, 'GB'];
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${unit}`;
}
