/**
 * Many live properties, with their summaries. A tenth of them are generated, and written as the recorder writes them;
 * PostgreSQL copies these under other UUIDs.
 */

import { applyMessage, type StoredProperty } from '../../src/engine/domain/change.ts';
import { decodeIntakeMessage, type IntakeMessage } from '../../src/engine/domain/intake-message.ts';
import { readingOf } from '../../src/engine/domain/property-document.ts';
import type { Reference } from '../../src/engine/reference/communes.ts';
import type { Database } from '../../src/engine/store/database.ts';
import { insertProperties } from '../../src/engine/store/properties.ts';
import { insertSummaries } from '../../src/engine/store/property-summaries.ts';
import { runStatements } from '../../test/support/statements.ts';
import type { SampleCrawler } from '../adverts/sample-adverts.ts';

/** Rows for each generated property, including its own, because generating is slow. */
const COPIES = 10;
const INSERTED_AT_ONCE = 500;

export async function seedMarket(
  database: Database,
  reference: Reference,
  crawler: SampleCrawler,
  count: number,
): Promise<void> {
  await seedProperties(database, reference, crawler, Math.round(count / COPIES));
  await copyProperties(database);
}

async function seedProperties(database: Database, reference: Reference, crawler: SampleCrawler, count: number) {
  let batch = new Map<string, StoredProperty>();
  for (let i = 0; i < count; i++) {
    const message = decoded(crawler.newAdvert());
    const stored = applyMessage(batch.get(message.propertyUuid) ?? null, message, { stream: 1, sequence: i })
      .stored as StoredProperty;
    batch.set(message.propertyUuid, stored);
    if (batch.size < INSERTED_AT_ONCE && i < count - 1) continue;
    const writes = [...batch.values()].map((each) => {
      const reading = readingOf(each.state, each.crawls, reference.resolvePlace);
      return { stored: each, reading, crawls: each.crawls, expiredAt: null };
    });
    const known = await database.query<{ uuid: string }>('select uuid from properties where uuid = any($1::uuid[])', [
      [...batch.keys()],
    ]);
    const fresh = writes.filter(({ stored: { state } }) => !known.rows.some(({ uuid }) => uuid === state.uuid));
    await runStatements(database, [...insertProperties(fresh), ...insertSummaries(fresh)]);
    batch = new Map();
  }
}

/** Copies each property under new UUIDs. */
async function copyProperties(database: Database): Promise<void> {
  await database.query(
    `create unlogged table copied as
     select uuid, gen_random_uuid() as copy from properties, generate_series(2, $1::integer)`,
    [COPIES],
  );
  await database.query(
    `insert into properties (uuid, state, crawls, state_bytes)
     select copy, state, crawls, state_bytes
     from copied join properties using (uuid)`,
  );
  await database.query(
    `insert into property_summaries
     select (d).* from (
       select jsonb_populate_record(summary, jsonb_build_object('property_uuid', copy,
         'sample_key', (random() * 4294967295 - 2147483648)::bigint)) as d
       from copied join property_summaries summary on property_uuid = uuid offset 0
     ) changed`,
  );
  await database.query('drop table copied');
  await database.query('analyze');
}

export function decoded(message: unknown): IntakeMessage {
  return decodeIntakeMessage(Buffer.from(JSON.stringify(message)));
}
