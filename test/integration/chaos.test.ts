/** The chaos run in short, with the seeds of the long one (`npm run chaos`): the auditor must find nothing. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const CHAOS = fileURLToPath(new URL('../../bench/chaos.ts', import.meta.url));
const SECONDS_EACH = 15;

test('servers, daemons and connections break at random, and the auditor finds nothing', async (t) => {
  const chaos = spawn(process.execPath, ['--import', 'tsx', CHAOS, '--seconds', String(SECONDS_EACH)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => void chaos.kill());
  const [timeline, [code]] = await Promise.all([text(chaos.stdout), once(chaos, 'exit')]);
  assert.equal(code, 0, timeline);
});
