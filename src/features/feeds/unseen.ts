/**
 * What nobody sees any more ends: adverts that no crawler and no feed has shown for so many days expire, as if their
 * crawler had said so (`VIGIE_UNSEEN_DAYS`). Time in which nobody took adverts in is not counted.
 */

import { pause } from '../../engine/actor/waiting.ts';
import type { Broker } from '../../engine/broker/connection.ts';
import { type Publication as Message, publishAll } from '../../engine/broker/publish.ts';
import { advertSubject } from '../../engine/broker/topology.ts';
import type { HeldProperty } from '../../engine/domain/change.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import { isLive, lastLiveCrawl } from '../../engine/domain/property.ts';
import type { Database, Queryable } from '../../engine/store/database.ts';
import { withIntakeGaps } from '../../engine/store/intake-leader.ts';
import { type HeldRow, heldOf } from '../../engine/store/properties.ts';
import { withSource } from './publications.ts';

const DAY_MS = 24 * 3_600_000;
const PAGE_ROWS = 500;
/** Between two pages: a million properties take half an hour, and nobody waits for them. */
const REST_MS = 500;
/** No source is called so. */
const LOCK = '.unseen';

export interface UnseenOptions {
  readonly database: Database;
  readonly broker: Broker;
  readonly days: number;
  readonly clock: () => Date;
  readonly stopping: AbortSignal;
}

/** Resolves with how many adverts expire. Throws `SourceBusyError` while another instance looks. */
export function expireUnseen({ database, broker, days, clock, stopping }: UnseenOptions): Promise<number> {
  return withSource(database, LOCK, async () => {
    const now = clock();
    const before = new Date(now.getTime() - (await withIntakeGaps(database, days * DAY_MS, now))).toISOString();
    let count = 0;
    for (let after: Uuid | null = null; !stopping.aborted; ) {
      const page: Page = await readPage(database, after, before);
      const messages = page.rows.flatMap((row) => expiriesOf(row, before, now.toISOString()));
      await publishAll(broker, messages);
      count += messages.length;
      if (page.last === null) break;
      after = page.last;
      await pause(REST_MS, stopping);
    }
    return count;
  });
}

interface Page {
  /** Those with a crawl that is old enough. */
  readonly rows: readonly HeldProperty[];
  /** Null: no page follows. */
  readonly last: Uuid | null;
}

function expiriesOf({ state, crawls }: HeldProperty, before: string, crawledAt: string): readonly Message[] {
  const unseen = state.adverts.filter((advert) => isLive(advert) && lastLiveCrawl(advert, crawls) < before);
  return unseen.map((unseenAdvert) => {
    const { uuid: advert } = unseenAdvert;
    const message = { kind: 'expire', crawledAt, property: { uuid: state.uuid }, advert: { uuid: advert } };
    const messageId = `${advert}/unseen/${lastLiveCrawl(unseenAdvert, crawls)}`;
    return { subject: advertSubject(state.uuid), messageId, bytes: Buffer.from(JSON.stringify(message)) };
  });
}

/** Served by the primary key, whose pages are read in its order. */
async function readPage(client: Queryable, after: Uuid | null, before: string): Promise<Page> {
  const { rows } = await client.query<{ uuid: Uuid } & { [name in keyof HeldRow]: HeldRow[name] | null }>(
    `select uuid, case when is_old then state end as state, case when is_old then crawls end as crawls from (
       select uuid, state, crawls, expired_at is null
         and exists (select from json_each(crawls) as crawl(advert, seen) where seen ->> 0 < $2) as is_old
       from properties where uuid > $1 order by uuid limit ${PAGE_ROWS}) page`,
    [after ?? '00000000-0000-0000-0000-000000000000', before],
  );
  const old = rows.flatMap(({ state, crawls }) =>
    state === null || crawls === null ? [] : [heldOf({ state, crawls })],
  );
  return { rows: old, last: rows.length < PAGE_ROWS ? null : (rows.at(-1)?.uuid ?? null) };
}
