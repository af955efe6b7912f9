/** A message that repeats the last one of its advert is recorded without reading the state, with the same result. */

import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import fc from 'fast-check';
import { randomUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import type { IntakeMessage } from '../../src/engine/domain/intake-message.ts';
import { lockProperties } from '../../src/engine/store/properties.ts';
import { ADVERT, nextOrigin, OTHER_ADVERT, upsertAt } from '../support/adverts.ts';
import { runsOf } from '../support/random-runs.ts';
import { startRecordedApi } from '../support/recorded-api.ts';
import { recrawlHistory, type SentMessage } from '../support/recrawl-histories.ts';

const { api, scene, createSearch } = await startRecordedApi({ after });

async function rowOf(property: Uuid) {
  const { rows } = await api.database.query(
    `select state, state_bytes, crawls::text, expired_at, updated_at::text as "writtenAt" from properties where uuid = $1`,
    [property],
  );
  return rows[0];
}

/** Everything that depends on the messages of a property, without its id and the digests. */
async function recordedOf(property: Uuid) {
  const { rows } = await api.database.query(
    `select (select array_agg(array[advert_uuid::text, kind, field_old_value, field_new_value, created_at::text] order by id)
         from events where property_uuid = $1) as events,
       (select array_agg(array[search_number::text, has_begun::text, channel, last_sequence::text] order by search_number)
         from matches where property_uuid = $1) as matches,
       (select array_agg(array[f.channel, f.kind, f.search_number::text, f.sequence::text] order by f.search_number, f.id)
         from feed_items f join matches m on m.id = match_id where property_uuid = $1) as items,
       (select to_jsonb(s) - 'property_uuid' - 'sample_key' from property_summaries s where property_uuid = $1) as summary`,
    [property],
  );
  const { state = null, crawls = '{}', ...row } = (await rowOf(property)) ?? {};
  const withoutDigest = ([at, stream, sequence, , ...superseded]: unknown[]) => [at, stream, sequence, superseded];
  return {
    ...rows[0],
    state: state?.replace(property, ''),
    bytes: row.state_bytes,
    expiredAt: row.expired_at,
    crawls: Object.entries<unknown[]>(JSON.parse(crawls)).map(([uuid, crawl]) => [uuid, withoutDigest(crawl)]),
  };
}

it('random histories of re-crawls leave the same rows, events and matches as if each message read the state', async () => {
  const kinds = ['ad.update.price', 'ad.update.expired', 'property.ad.update', 'property.ad.create'];
  for (const members of [{ budgetMax: 110_000 }, { budgetMin: 110_000 }, {}]) {
    const search = { withCoherentPrice: null, notificationEnabled: true, subscribedEvents: kinds };
    await createSearch({ ...search, ...members });
  }
  await scene.matcher.refresh();
  const histories = fc.tuple(
    recrawlHistory(randomUuid(), 40),
    fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }),
  );
  let [number, unread] = [0, 0];
  await fc.assert(
    fc.asyncProperty(histories, async ([history, sizes]) => {
      const [property, twin] = [randomUuid(), randomUuid()];
      for (let from = 0, batch = 0; from < history.length; batch += 1) {
        const to = from + (sizes[batch % sizes.length] as number);
        const part = history.slice(from, to);
        const messages = part.map(({ message }) => ({ ...message, propertyUuid: property }));
        const locked = await lockProperties(api.database, messages);
        if (locked.get(property)?.stored === null) unread += 1;
        await recordAll(part, messages);
        // No digest is repeated, so the state is always read.
        const others = messages.map((message) => {
          return { ...message, propertyUuid: twin, digest: `${message.digest} ${(number += 1)}` };
        });
        await recordAll(part, others);
        from = to;
      }
      const recorded = await recordedOf(property);
      assert.deepEqual(recorded, await recordedOf(twin));
    }),
    { numRuns: runsOf(400) },
  );
  assert.ok(unread > 0);
});

async function recordAll(part: readonly SentMessage[], messages: readonly IntakeMessage[]): Promise<void> {
  await scene.recordForKnown(
    messages,
    part.map(({ origin }) => origin),
  );
}

it('a message without changes writes the time of its crawl, and neither reads nor writes the state', async () => {
  const property = randomUuid();
  const [one, other] = [ADVERT, OTHER_ADVERT].map((advertUuid) => {
    return (at: number, price: number) => upsertAt(at, { propertyUuid: property, advertUuid, advert: { price } });
  }) as [(at: number, price: number) => IntakeMessage, (at: number, price: number) => IntakeMessage];
  await scene.recordForKnown([one(1, 100_000), other(2, 90_000)]);
  const isRead = async (...messages: readonly IntakeMessage[]): Promise<boolean> => {
    return (await lockProperties(api.database, messages)).get(property)?.stored !== null;
  };
  assert.deepEqual(
    [
      await isRead(other(3, 90_000)),
      await isRead(other(3, 90_000), one(4, 100_000)),
      await isRead(other(3, 90_001)),
      await isRead(other(3, 90_000), one(4, 90_000)),
      // The digest of another advert.
      await isRead({ ...one(3, 0), digest: other(3, 90_000).digest }),
      await isRead(upsertAt(3, { propertyUuid: property, advertUuid: randomUuid() })),
    ],
    [false, false, true, true, true, true],
  );
  const before = await rowOf(property);
  const origin = nextOrigin();
  await scene.recordForKnown([other(3, 90_000)], [origin]);
  const { crawls, ...row } = await rowOf(property);
  const { crawls: _crawls, ...rowBefore } = before;
  assert.deepEqual(row, rowBefore);
  const { crawledAt, digest } = other(3, 90_000);
  assert.deepEqual(JSON.parse(crawls)[OTHER_ADVERT], [crawledAt, origin.stream, origin.sequence, digest]);
});
