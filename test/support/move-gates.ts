/**
 * Brings a command that moves a client to one of its steps and kills it there. Each step waits for a lock that the test
 * has taken: what the command has done until then is seen in the rows, and nothing of what follows.
 */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type pg from 'pg';
import { until } from './until.ts';

export const STEPS = ['held', 'copying', 'copied', 'left', 'woken'] as const;
export type Step = (typeof STEPS)[number];

interface Gate {
  open(): Promise<void>;
}

async function closeGate(database: pg.Pool, lock: string): Promise<Gate> {
  const session = await database.connect();
  await session.query('begin');
  await session.query(lock);
  return {
    async open() {
      await session.query('rollback');
      session.release();
    },
  };
}

const HELD = `select from intake_leader where held_until > clock_timestamp()`;
const CLIENT = 'select from clients where moved_to is null for update';
const SLEEPER = 'select from clients where moved_to is not null for update';
const WAITS = `select from pg_locks where not granted and relation = 'api_keys'::regclass`;
const SLEEPS = `select from intake_leader where held_until = 'infinity'`;
const HAS_LEFT = 'select from clients where moved_to is not null';
const LIVES = 'select from clients where moved_to is null';

/** Throws when the command ends by itself before. */
async function untilRow(
  database: pg.Pool,
  query: string,
  command: ChildProcess,
  words: readonly string[],
): Promise<void> {
  await until(
    () => database.query(query),
    ({ rowCount }) => {
      if (command.exitCode !== null) throw new Error(`the command ended with ${command.exitCode}: ${words.join('')}`);
      return rowCount !== 0;
    },
  );
}

/** `start`: begins the command. Resolves when it has been killed at the step. */
export async function killAt(step: Step, source: pg.Pool, target: pg.Pool, start: () => ChildProcess): Promise<void> {
  const first =
    step === 'held' ? await closeGate(source, CLIENT) : await closeGate(target, 'lock api_keys in share mode');
  const command = start();
  const exited = once(command, 'exit');
  const words: string[] = [];
  command.stderr?.on('data', (chunk) => words.push(String(chunk)));
  const seen = (database: pg.Pool, query: string) => untilRow(database, query, command, words);
  const gates = [first];
  const pass = async (gate: Gate): Promise<void> => {
    await gate.open();
    gates.splice(gates.indexOf(gate), 1);
  };
  if (step === 'held') {
    await seen(source, HELD);
    await seen(target, HELD);
  } else {
    await seen(target, WAITS);
  }
  if (step !== 'held' && step !== 'copying') {
    const decision = await closeGate(source, 'select from intake_leader for update');
    gates.push(decision);
    await pass(first);
    await seen(target, SLEEPS);
    if (step !== 'copied') {
      const waking = await closeGate(target, SLEEPER);
      gates.push(waking);
      await pass(decision);
      await seen(source, HAS_LEFT);
      if (step === 'woken') {
        gates.push(await closeGate(source, 'lock feed_batches in share mode'));
        await pass(waking);
        await seen(target, LIVES);
      }
    }
  }
  command.kill('SIGKILL');
  await exited;
  for (const gate of [...gates]) await pass(gate);
}
