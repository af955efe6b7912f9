/**
 * Test files that share a process, one after another: its modules are loaded, compiled and warm for all of them, which
 * takes longer than most of their tests. Each is a suite under its own name, and ends what it has opened before the next
 * one begins. A file runs by itself as well.
 */

import { after, describe } from 'node:test';
import { moduleUrl } from './checkout.ts';
import { GROUPS } from './groups.ts';
import { endSharedServer } from './own-database.ts';

export function runTogether(group: keyof typeof GROUPS): void {
  after(endSharedServer);
  let ended: Promise<void> = Promise.resolve();
  for (const file of GROUPS[group]) {
    const before = ended;
    let end: () => void = () => undefined;
    ended = new Promise((resolve) => {
      end = resolve;
    });
    describe(file, async () => {
      after(end);
      // A promise of this suite: after one of another, tests would be taken for that one's.
      await new Promise<void>((resolve) => void before.then(resolve));
      await import(moduleUrl(`test/${file}.test`).href).catch((error: unknown) => {
        end();
        throw error;
      });
    });
  }
}
