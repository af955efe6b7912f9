/** `npm run record:market`: writes the recorded market of the demonstration. A test compares it with `recordMarket`. */

import { writeFile } from 'node:fs/promises';
import { brotliCompressSync, constants } from 'node:zlib';
import { recordMarket } from './adverts/market.ts';

const TARGET = new URL('../src/cli/demo/market.json.br', import.meta.url);

const params = { [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS };
const recorded = brotliCompressSync(JSON.stringify(recordMarket()), { params });
await writeFile(TARGET, recorded);
process.stdout.write(`${recorded.length} bytes\n`);
