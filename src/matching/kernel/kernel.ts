/**
 * One property against listed groups of rows: the WASM SIMD kernel, or its plain twin where SIMD is missing. Query,
 * list and answers lie at fixed addresses below the groups; both kernels read and write them alike.
 */

import { type GroupMemory, LANES } from '../rows/row-groups.ts';
import { KERNEL_BASE64 } from './bytes.ts';
import { createTwin } from './twin.ts';

/** Codes that no bound may exceed for a row to pass; in the order of the bound columns. */
export const MAYBE_BOUNDS = 0;
/** Likewise for a row to pass surely. */
export const SURE_BOUNDS = 16;
export const QUERY_TYPE = 32;
export const QUERY_LACKING = 33;
/** The `ATTENTION` bits that matter for this property. */
export const QUERY_TRIGGER = 34;
export const QUERY_LATITUDE = 48;
export const QUERY_LONGITUDE = 52;
/** cos(lat) cos(lat + north) as a polynomial in `north`, degrees: c0 - north (c1 + c2 north). */
export const QUERY_COSINES = 56;
export const CHECK_COUNT = 80;
/** Addresses of the groups to test. */
export const GROUP_LIST = 1024;
export const GROUP_LIST_MAX = 2048;
/** Between list and answers the kernel keeps its verdicts. Numbers of the searches that surely match. */
export const SURE_ANSWERS = 32_768;
/** Rows to check: number, source and attention, the latter with `OPEN_ROW` when the columns could not decide. */
export const CHECK_ANSWERS = SURE_ANSWERS + 4 * LANES * GROUP_LIST_MAX;
export const CHECK_INTEGERS = 3;
export const OPEN_ROW = 256;
export const KERNEL_BYTES = CHECK_ANSWERS + 4 * CHECK_INTEGERS * LANES * GROUP_LIST_MAX;

/** Tests the first `groupCount` listed groups; returns the number of sure answers. */
export type KernelFilter = (groupCount: number, hasArea: boolean) => number;

export interface Kernel {
  readonly kind: 'simd' | 'plain';
  readonly filter: KernelFilter;
}

/** `simd`: null takes it where the runtime has it. */
export function createKernel(memory: GroupMemory, simd: boolean | null = null): Kernel {
  const bytes = Buffer.from(KERNEL_BASE64, 'base64');
  if (!(simd ?? WebAssembly.validate(bytes))) return { kind: 'plain', filter: createTwin(memory) };
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), { vigie: { memory: memory.memory } });
  const filter = instance.exports.filter as (groupCount: number, hasArea: number) => number;
  return { kind: 'simd', filter: (groupCount, hasArea) => filter(groupCount, hasArea ? 1 : 0) };
}
