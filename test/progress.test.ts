/** How long-running work reports its progress, on a terminal and elsewhere. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startProgress } from '../src/cli/progress.ts';

function scene(isTTY: boolean) {
  const written: string[] = [];
  let now = 0;
  let tick: (() => void) | null = null;
  const progress = startProgress(
    'publishing adverts.ndjson',
    'messages',
    { isTTY, columns: 100, write: (text) => written.push(text) },
    {
      nowMs: () => now,
      every(_, work) {
        tick = work;
        return () => {
          tick = null;
        };
      },
    },
  );
  return {
    progress,
    pass(seconds: number): string {
      now += seconds * 1_000;
      written.length = 0;
      tick?.();
      return written.join('');
    },
    written,
  };
}

const standing = (count: number, share: number | null) => ({ doing: 'publishing adverts.ndjson', count, share });

test('a line states the work, the completed share, the speed, the elapsed time and the remaining time', () => {
  const { progress, pass } = scene(false);
  progress.update(standing(0, 0));
  assert.equal(pass(0), 'publishing adverts.ndjson: 0 messages, 0/s, for 0 s\n');
  progress.update(standing(12_000, 0.25));
  assert.equal(pass(10), 'publishing adverts.ndjson: 25 %, 12,000 messages, 1,200/s, 30 s left\n');
  progress.update(standing(24_000, null));
  assert.equal(pass(50), 'publishing adverts.ndjson: 24,000 messages, 400/s, for 60 s\n');
  progress.end();
  assert.equal(pass(10), '');
});

test('work that ends before the first line prints nothing without a terminal', () => {
  const { progress, written } = scene(false);
  progress.update(standing(3, 1));
  progress.end();
  assert.deepEqual(written, []);
});

test('a terminal shows a bar within its width, and lines above it', () => {
  const { progress, pass, written } = scene(true);
  progress.update(standing(500, 0.5));
  assert.equal(
    pass(2),
    `\r\u001b[Kpublishing adverts.ndjson  ${'█'.repeat(12)}${'░'.repeat(12)}  50 %  500 messages  250/s  2 s left`,
  );
  written.length = 0;
  progress.say('line 7 refused: not \u001b[2JJSON');
  progress.end();
  assert.deepEqual(written, ['\r\u001b[Kline 7 refused: not \ufffd[2JJSON\n', '\r\u001b[K']);
});

test('each pass over a file has its own time and speed', () => {
  const { progress, pass } = scene(false);
  progress.update({ doing: 'pass 1', count: 1_000, share: 1 });
  assert.match(pass(10), /100\/s, 0 s left/);
  progress.update({ doing: 'pass 2', count: 1_000, share: 0 });
  pass(0);
  progress.update({ doing: 'pass 2', count: 1_500, share: 0.5 });
  assert.equal(pass(1), 'pass 2: 50 %, 1,500 messages, 500/s, 1 s left\n');
});
