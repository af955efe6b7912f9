/** Reads every store in which an erased address might still be found. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Broker, connectBroker } from '../../src/engine/broker/connection.ts';
import type { Database } from '../../src/engine/store/database.ts';

/** Every row of every table, as text. */
export async function everyRow(database: Pick<Database, 'query'>): Promise<string> {
  const { rows: tables } = await database.query<{ name: string }>(
    "select format('%I', table_name) as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
  );
  const texts = await Promise.all(
    tables.map(async ({ name }) => {
      const { rows } = await database.query<{ row: string }>(`select t::text as row from ${name} t`);
      return rows.map(({ row }) => `${name} ${row}`).join('\n');
    }),
  );
  return texts.join('\n');
}

/** Every message of every stream, with its subject and headers. */
export async function everyMessage(url: string): Promise<string> {
  const broker = await connectBroker({ url, name: 'reader', onStatus: () => undefined });
  try {
    const texts: string[] = [];
    for await (const { config, state } of broker.manager.streams.list()) {
      for (let seq = state.first_seq; seq <= state.last_seq; seq++)
        texts.push(await messageOf(broker, config.name, seq));
    }
    return texts.join('\n');
  } finally {
    await broker.close();
  }
}

/** Empty if the message was deleted. */
async function messageOf({ manager }: Broker, stream: string, seq: number): Promise<string> {
  const message = await manager.streams.getMessage(stream, { seq }).catch(() => null);
  if (message === null) return '';
  return `${message.subject} ${JSON.stringify([...message.header])} ${Buffer.from(message.data).toString()}`;
}

/** The contents of every file directly in the directory, without its folders, which the servers own. */
export async function everyFile(directory: string): Promise<string> {
  const entries = await readdir(directory, { withFileTypes: true });
  const texts = entries.filter((entry) => entry.isFile()).map(({ name }) => readFile(join(directory, name), 'latin1'));
  return (await Promise.all(texts)).join('\n');
}

/** Asserts that the address is absent, also encoded and as an unsalted hash. */
export function assertGone(text: string, address: string): void {
  const bytes = Buffer.from(address);
  const digests = ['md5', 'sha1', 'sha256', 'sha512'].map((name) => createHash(name).update(bytes).digest());
  const hidden = [bytes, ...digests].flatMap((each) => [each.toString('hex'), each.toString('base64')]);
  for (const form of [address, encodeURIComponent(address), ...hidden]) {
    const at = text.toLowerCase().indexOf(form.toLowerCase());
    assert.equal(at, -1, text.slice(Math.max(0, at - 200), at + 100));
  }
}
