/**
 * Assembles `kernel.wat` into `bytes.ts`, a module of base64, so that nothing but this script needs an assembler.
 * `--check` writes nothing and fails when the committed bytes are not those of the source.
 */

import { readFile, writeFile } from 'node:fs/promises';
import initWabt from 'wabt';

const SOURCE = new URL('kernel.wat', import.meta.url);
const TARGET = new URL('bytes.ts', import.meta.url);

async function assemble(): Promise<string> {
  const wabt = await initWabt();
  // Threads: their proposal brought the shared memory.
  const module = wabt.parseWat('kernel.wat', await readFile(SOURCE, 'utf8'), { simd: true, threads: true });
  try {
    const binary = module.toBinary({}).buffer;
    if (!WebAssembly.validate(binary)) throw new Error('kernel.wat is not valid');
    return Buffer.from(binary).toString('base64');
  } finally {
    module.destroy();
  }
}

const text = `/** \`kernel.wat\`, assembled by \`build.ts\`. */
export const KERNEL_BASE64 =
  '${await assemble()}';
`;
if (process.argv.includes('--check')) {
  if ((await readFile(TARGET, 'utf8')) !== text) throw new Error('bytes.ts is not built from kernel.wat: run build.ts');
} else {
  await writeFile(TARGET, text);
}
