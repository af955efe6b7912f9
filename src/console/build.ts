/** Writes the console's script and style where the compiled program reads them. Argument: the directory. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleSources } from './bundle.ts';

const directory = process.argv[2];
if (directory === undefined) throw new Error('Name the output directory as the argument.');
const { script, style } = await bundleSources();
await mkdir(directory, { recursive: true });
await writeFile(join(directory, 'console.js'), script);
await writeFile(join(directory, 'console.css'), style);
