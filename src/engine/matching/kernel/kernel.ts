/** One property against listed groups of rows: the WASM SIMD kernel, or its plain twin where SIMD is missing. */

import type { GroupMemory } from '../rows/row-groups.ts';
import { KERNEL_BASE64 } from './bytes.ts';
import { createTwin } from './twin.ts';

/**
 * Adds to the first `groupCount` listed groups those of the first `zoneCount` listed zones that may have an answer, and
 * tests them; returns the number of sure answers.
 */
export type KernelFilter = (groupCount: number, zoneCount: number, hasArea: boolean) => number;

export interface Kernel {
  readonly kind: 'simd' | 'plain';
  readonly filter: KernelFilter;
}

/** `simd`: null takes it where the runtime has it. */
export function createKernel(memory: GroupMemory, simd: boolean | null = null): Kernel {
  const bytes = Buffer.from(KERNEL_BASE64, 'base64');
  if (!(simd ?? WebAssembly.validate(bytes))) return { kind: 'plain', filter: createTwin(memory) };
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), { vigie: { memory: memory.memory } });
  const filter = instance.exports.filter as (groupCount: number, zoneCount: number, hasArea: number) => number;
  return { kind: 'simd', filter: (groupCount, zoneCount, hasArea) => filter(groupCount, zoneCount, hasArea ? 1 : 0) };
}
