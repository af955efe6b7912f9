/** A worker thread for tests of worker threads: it counts, waits, fails or ends as requested. */

import { threadId } from 'node:worker_threads';
import { answerRequests, settingsOfThread } from '../../src/engine/actor/worker-thread.ts';
import { createWorkSlices } from '../../src/features/explanations/examination.ts';

export type CountingRequest = 'thread' | 'settings' | 'count for ever' | 'wait for ever' | 'fail' | 'throw' | 'exit';

const HOUR_MS = 3_600_000;

answerRequests(async (request, cancelled) => {
  switch (request as CountingRequest) {
    case 'thread':
      return threadId;
    case 'settings':
      return settingsOfThread();
    case 'count for ever': {
      const slices = createWorkSlices({ cancelled });
      for (;;) await slices.yieldIfDue();
    }
    case 'wait for ever':
      return new Promise((_, reject) => {
        const timer = setTimeout(() => undefined, HOUR_MS);
        cancelled.addEventListener('abort', () => {
          clearTimeout(timer);
          reject(new Error('no more waiting'));
        });
      });
    case 'fail':
      throw Object.assign(new Error('a statement failed'), { code: '57014' });
    case 'throw':
      setImmediate(() => {
        throw new Error('out of order');
      });
      return new Promise(() => undefined);
    case 'exit':
      return process.exit(3);
  }
});
