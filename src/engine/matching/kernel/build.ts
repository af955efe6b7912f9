/**
 * Assembles `source.ts` and stores the result in `bytes.ts` as base64, so that only this script needs an assembler.
 * With `--check` it writes nothing, and fails if the committed bytes do not match the source and the layout.
 */

import { readFile, writeFile } from 'node:fs/promises';
import initWabt from 'wabt';
import { KERNEL_SOURCE } from './source.ts';

const TARGET = new URL('bytes.ts', import.meta.url);

async function assemble(name: string, source: string): Promise<string> {
  const wabt = await initWabt();
  // Shared memory belongs to the threads proposal of WebAssembly.
  const module = wabt.parseWat(name, source, { simd: true, threads: true });
  try {
    const binary = module.toBinary({}).buffer;
    if (!WebAssembly.validate(binary)) throw new Error(`${name} does not result in valid WebAssembly. Correct it.`);
    return Buffer.from(binary).toString('base64');
  } finally {
    module.destroy();
  }
}

const text = `/** The kernel of \`source.ts\`, assembled by \`build.ts\`. */
export const KERNEL_BASE64 =
  '${await assemble('source.ts', KERNEL_SOURCE)}';
`;
if (process.argv.includes('--check')) {
  const isBuilt = (await readFile(TARGET, 'utf8')) === text;
  if (!isBuilt) throw new Error('bytes.ts is outdated: run npm run generate');
} else {
  await writeFile(TARGET, text);
}
