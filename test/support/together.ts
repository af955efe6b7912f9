/**
 * Runs test files in one process, one after another. The process loads, compiles and warms up its modules once, which
 * takes longer than most of the tests. Each file is a suite with its own name, and closes everything that it opened
 * before the next file begins. A file can also run alone.
 */

import { after, describe } from 'node:test';
import { moduleUrl } from './checkout.ts';
import { endSharedServer } from './own-database.ts';

/** `files`: names below `test`, without their ending. */
export function runTogether(files: readonly string[]): void {
  after(endSharedServer);
  let ended: Promise<void> = Promise.resolve();
  for (const file of files) {
    const before = ended;
    let end: () => void = () => undefined;
    ended = new Promise((resolve) => {
      end = resolve;
    });
    describe(file, async () => {
      after(end);
      // A promise created in this suite: after another suite's promise, node:test would attribute the tests to that
      // suite.
      await new Promise<void>((resolve) => void before.then(resolve));
      await import(moduleUrl(`test/${file}.test`).href).catch((error: unknown) => {
        end();
        throw error;
      });
    });
  }
}
