/** A short chaos run for each seed of the long runs (`npm run chaos`): the auditor must find nothing. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CHAOS_SEEDS } from '../../bench/chaos/seeds.ts';
import { LOADER, moduleUrl } from '../support/checkout.ts';

const CHAOS = fileURLToPath(moduleUrl('bench/chaos'));
const SECONDS = '15';
/** Leaves out restores, which take too long here and have their own tests (test/long/restore.test.ts). */
const FAULTS = '^(?!.* returns with)';

// The seeds run concurrently, because they mostly wait for JetStream to redeliver lost messages.
describe('servers, daemons and connections fail at random, and the auditor finds nothing', {
  concurrency: true,
}, () => {
  for (const seed of CHAOS_SEEDS) {
    test(`seed ${seed}`, async (t) => {
      const settings = ['--seconds', SECONDS, '--instances', '2', '--faults', FAULTS];
      const args = [...LOADER, CHAOS, '--seed', String(seed), ...settings];
      const chaos = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      t.after(() => void chaos.kill());
      const [timeline, [code]] = await Promise.all([text(chaos.stdout), once(chaos, 'exit')]);
      assert.equal(code, 0, timeline);
    });
  }
});
