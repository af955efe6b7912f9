#!/usr/bin/env -S node --max-semi-space-size=64
/** `vigie` as npm installs it: Node.js strips no types of what lies in node_modules, so tsx does. */

// tsx executes what its cache holds, and the cache is in a folder that other users of the machine may have created.
process.env.TSX_DISABLE_CACHE = '1';
const { register } = await import('tsx/esm/api');
register();
await import('./main.ts');
