/** Each shipped alert rule has a test, and every metric is used. `test/long/monitoring.test.ts` runs the real tools. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createMetrics } from '../src/metrics.ts';
import { ROOT } from './support/checkout.ts';
import { assertNone } from './support/lists.ts';

const FOLDER = join(ROOT, 'config/prometheus/');
const SOURCES = join(ROOT, 'src/');

test('every rule has a test', () => {
  const rules = [...readFileSync(`${FOLDER}alerts.yml`, 'utf8').matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  const tests = readFileSync(`${FOLDER}alerts.test.yml`, 'utf8');
  for (const name of rules)
    assert.match(tests, new RegExp(`alertname(?:="|: )${name}\\b`), `${name} is never seen firing`);
});

test('summaries show numbers as integers or durations', () => {
  const summaries = readFileSync(`${FOLDER}alerts.yml`, 'utf8').match(/summary: .*\$value.*/g) ?? [];
  assert.ok(summaries.length > 20);
  const isWhole = (summary: string) => /\$value \| humanizeDuration|printf \\"%\.0f\\" \$value/.test(summary);
  assertNone(summaries.filter((summary) => !isWhole(summary)));
});

test('every metric is on a dashboard or in an alert, and every alert names existing metrics', () => {
  const sources = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(`${SOURCES}${path}`, 'utf8'));
  const metrics = new Set(sources.flatMap((source) => source.match(/(?<=')vigie_[a-z_]+(?=',)/g) ?? []));
  assert.ok(metrics.size > 50, `${metrics.size} are found`);
  const shown = ['../grafana/vigie.json', '../grafana/vigie-details.json', 'alerts.yml']
    .map((path) => readFileSync(`${FOLDER}${path}`, 'utf8'))
    .join();
  const isShown = (name: string) => new RegExp(`\\b${name}(?:_bucket|_sum|_count)?\\b`).test(shown);
  assertNone([...metrics].filter((name) => !isShown(name)));
  const named = readFileSync(`${FOLDER}alerts.yml`, 'utf8').match(/\bvigie_[a-z_]+/g) ?? [];
  assert.ok(named.length > 20);
  assertNone(named.filter((name) => !metrics.has(name.replace(/_(?:bucket|sum|count)$/, ''))));
});

test('the metrics of a new process have only labels from a fixed list', async () => {
  const bounded = [
    'outcome',
    'cause',
    'result',
    'kind',
    'cause',
    'actor',
    'state',
    'stage',
    'stream',
    'table',
    'method',
    'status',
    'code',
    'version',
    'le',
  ];
  const exposition = await createMetrics('1').registry.metrics();
  const ours = exposition.split('\n').filter((line) => line.startsWith('vigie_') && line.includes('{'));
  for (const line of ours) {
    for (const [, label] of line.matchAll(/[{,](\w+)="/g)) assert.ok(bounded.includes(label ?? ''), line);
  }
});
