/**
 * A range of memory that grows in place. Growth replaces the views, and old views keep their length. The memory is
 * shared only because V8 marks its whole heap when unshared memory grows. No other thread uses it.
 */

const WASM_PAGE_BYTES = 65_536;
const GROWTH_PAGES = 64;
/** Limits addresses to 2 GiB, so that they are positive 32-bit integers. */
export const PAGES_MAX = 32_768;

/** The processor does not have the instructions that matching needs. */
class ProcessorUnfitError extends Error {
  readonly code = 'PROCESSOR_UNFIT';
}

/** Throws `ProcessorUnfitError` if the processor lacks instructions, which some virtual machines hide. */
export function compileKernel(base64: string): WebAssembly.Module {
  const binary = Buffer.from(base64, 'base64');
  if (WebAssembly.validate(binary)) return new WebAssembly.Module(binary);
  throw new ProcessorUnfitError(
    'Matching needs SSE4.1, which this processor lacks. In a virtual machine, choose a processor type that has it, ' +
      'such as "host" in place of "kvm64". Otherwise use a processor that was made after 2008.',
  );
}

export class SharedMemory {
  readonly memory: WebAssembly.Memory;
  bytes: Uint8Array;
  codes: Int8Array;
  integers: Int32Array;
  floats: Float32Array;
  #carvedBytes: number;

  /** The caller owns the first `reservedBytes`. */
  constructor(reservedBytes: number) {
    const initial = Math.ceil(reservedBytes / WASM_PAGE_BYTES);
    this.memory = new WebAssembly.Memory({ initial, maximum: PAGES_MAX, shared: true });
    this.#carvedBytes = initial * WASM_PAGE_BYTES;
    this.bytes = new Uint8Array(this.memory.buffer);
    this.codes = new Int8Array(this.memory.buffer);
    this.integers = new Int32Array(this.memory.buffer);
    this.floats = new Float32Array(this.memory.buffer);
  }

  get carvedBytes(): number {
    return this.#carvedBytes;
  }

  /** Returns the address of `byteCount` unused bytes, which are zero and aligned to a cache line. */
  carve(byteCount: number): number {
    const address = this.#carvedBytes;
    const missing = address + byteCount - this.bytes.length;
    if (missing > 0) this.#grow(Math.max(GROWTH_PAGES, Math.ceil(missing / WASM_PAGE_BYTES)));
    this.#carvedBytes = address + byteCount;
    return address;
  }

  #grow(pages: number): void {
    this.memory.grow(pages);
    this.bytes = new Uint8Array(this.memory.buffer);
    this.codes = new Int8Array(this.memory.buffer);
    this.integers = new Int32Array(this.memory.buffer);
    this.floats = new Float32Array(this.memory.buffer);
  }
}
