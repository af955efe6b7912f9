#!/usr/bin/env -S node --max-semi-space-size=64
/** `vigie` as npm installs it: Node.js strips no types of what lies in node_modules, so tsx does. */

import { register } from 'tsx/esm/api';

register();
await import('./main.ts');
