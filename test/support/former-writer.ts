/**
 * An instance of the version whose newest migration was 0003, as far as others could see it: its statements, its messages
 * and its lead, kept here word for word. It takes adverts in for one search that wants everything, until it is killed.
 */

import { createHash } from 'node:crypto';
import { connect, type JsMsg } from 'nats';
import pg from 'pg';
import { applyMessage, type HeldProperty } from '../../src/domain/change.ts';
import type { ResolvePlace } from '../../src/domain/city.ts';
import { timeOrderedUuid, type Uuid } from '../../src/domain/ids.ts';
import { decodeIntakeMessage } from '../../src/domain/intake-message.ts';
import { propertyDocument } from '../../src/domain/property-document.ts';
import { bodyHead, type Notice, noticesOf, type SearchRoute } from '../../src/domain/routing.ts';
import type { Cleanup, TestServers } from './servers.ts';

/** Its newest migration. */
export const FORMER_SCHEMA = 3;
/** Any number that nothing else locks. */
const LEADER_LOCK = 7_640_891_576;
const PARTITIONS = 8;

export interface FormerWriter {
  /** Takes in what waits, `count` messages of it, and acknowledges them. */
  takeIn(count: number): Promise<void>;
  /** Likewise, and dies when it has recorded half of them: nothing is dispatched or acknowledged. */
  dieTakingIn(count: number): Promise<void>;
  /** The message of a delivery's first attempt, or of its retry. */
  publish(id: string, endpoint: string, retryAt?: number): Promise<void>;
}

/** The servers hold the schema, the streams and the consumers. Resolves when it leads. */
export async function startFormerWriter(
  cleanup: Cleanup,
  { postgres, nats }: TestServers,
  search: SearchRoute,
  resolvePlace: ResolvePlace,
): Promise<FormerWriter> {
  const client = new pg.Client(postgres.url);
  client.on('error', () => undefined);
  await client.connect();
  const { hostname, port, username, password } = new URL(nats.url);
  const connection = await connect({ servers: `${hostname}:${port}`, user: username, pass: password });
  const jetStream = connection.jetstream({ timeout: 60_000 });
  const die = async (): Promise<void> => {
    await client.end();
    await connection.close();
  };
  cleanup.after(die);
  await client.query(`select pg_advisory_lock(${LEADER_LOCK})`);
  const lead = await client.query('update intake_leader set term = term + 1 returning term');
  const { term } = lead.rows[0] as { term: string };

  async function publish(id: string, endpoint: string, retryAt: number | null = null): Promise<void> {
    const key = keyOf(endpoint);
    const partition = Number.parseInt(key.slice(0, 8), 16) % PARTITIONS;
    const subject = retryAt === null ? `deliveries.${partition}.${key}` : `deliveries.r${partition}.${key}`;
    await jetStream.publish(subject, retryAt === null ? id : `${id} ${retryAt}`, { msgID: id });
  }

  /** Resolves with what is to be dispatched. */
  async function record(messages: readonly JsMsg[]): Promise<{ outbox: string; told: Told[] }> {
    await client.query('begin');
    await client.query('select from intake_leader where term = $1 for share', [term]);
    const told: Told[] = [];
    for (const message of messages) told.push(...(await recordOne(client, search, message, resolvePlace)));
    const outbox = await client.query('insert into outbox (delivery_ids) values ($1::uuid[]) returning id', [
      told.map(({ id }) => id),
    ]);
    await client.query('commit');
    return { outbox: (outbox.rows[0] as { id: string }).id, told };
  }

  async function pull(count: number): Promise<readonly JsMsg[]> {
    const consumer = await jetStream.consumers.get('ADVERTS', 'intake');
    const messages: JsMsg[] = [];
    while (messages.length < count) {
      for await (const message of await consumer.fetch({ max_messages: count - messages.length, expires: 5_000 })) {
        messages.push(message);
      }
    }
    return messages;
  }

  return {
    publish,
    async takeIn(count) {
      const messages = await pull(count);
      const { outbox, told } = await record(messages);
      for (const { id, endpoint } of told) await publish(id, endpoint);
      await client.query('delete from outbox where id = any($1::bigint[])', [[outbox]]);
      for (const message of messages) await message.ackAck();
    },
    async dieTakingIn(count) {
      const messages = await pull(count);
      await record(messages.slice(0, count / 2));
      await die();
    },
  };
}

interface Told {
  readonly id: string;
  readonly endpoint: string;
}

async function recordOne(
  client: pg.Client,
  search: SearchRoute,
  message: JsMsg,
  resolvePlace: ResolvePlace,
): Promise<readonly Told[]> {
  const decoded = decodeIntakeMessage(message.data);
  const uuid = decoded.propertyUuid;
  const known = await client.query(
    'select uuid, state, crawls from properties where uuid = any($1::uuid[]) for update',
    [[uuid]],
  );
  const before = (known.rows[0] as HeldProperty | undefined) ?? null;
  const { held, events } = applyMessage(before, decoded);
  if (held === null) return [];
  const written = [uuid, JSON.stringify(held.state, withoutNewMembers), JSON.stringify(held.crawls)];
  await client.query(
    before === null
      ? 'insert into properties (uuid, state, crawls, is_land) values ($1, $2, $3, false)'
      : 'update properties set state = $2, crawls = $3, updated_at = now() where uuid = $1',
    written,
  );
  for (const { advertUuid, kind, field, createdAt } of events) {
    await client.query(
      `insert into events (property_uuid, advert_uuid, kind, field_name, field_old_value, field_new_value,
         percent_variation, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [
        uuid,
        advertUuid,
        kind,
        field?.fieldName,
        field?.fieldOldValue,
        field?.fieldNewValue,
        field?.percentVariation,
        createdAt,
      ],
    );
  }
  const now = new Date();
  const match = await client.query(
    `insert into matches (id, search_number, property_uuid, began_at, updated_at) values ($1, $2, $3, $4, $4)
     on conflict (property_uuid, search_number) do update set updated_at = $4
     returning id, began_at as "beganAt"`,
    [timeOrderedUuid(now), search.number, uuid, now],
  );
  const { id: matchId, beganAt } = match.rows[0] as { id: Uuid; beganAt: Date };
  const snapshotId = timeOrderedUuid(now);
  const document = propertyDocument(held.state, held.crawls, resolvePlace, { withContacts: true });
  await client.query('insert into snapshots (id, document) values ($1, $2)', [snapshotId, JSON.stringify(document)]);
  const record = { id: matchId, beganAt: beganAt.toISOString(), updatedAt: now.toISOString() };
  const notices = noticesOf(search, events, before === null);
  return insertDeliveries(
    client,
    search,
    notices.map((notice) => ({ notice, matchId, snapshotId, head: bodyHead(notice, search.id, uuid, record) })),
  );
}

async function insertDeliveries(
  client: pg.Client,
  { number }: SearchRoute,
  rows: readonly { notice: Notice; matchId: Uuid; snapshotId: Uuid; head: string }[],
): Promise<readonly Told[]> {
  const told: Told[] = [];
  for (const { notice, matchId, snapshotId, head } of rows) {
    const [id, { channel, kind, endpoint }] = [timeOrderedUuid(new Date()), notice];
    // It knew no feed: what had no endpoint was not told.
    if (endpoint === null) continue;
    await client.query(
      `insert into deliveries (id, search_number, match_id, channel, kind, endpoint, endpoint_key, head, snapshot_id,
         traceparent) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, null)`,
      [id, number, matchId, channel, kind, endpoint, keyOf(endpoint), head, snapshotId],
    );
    told.push({ id, endpoint });
  }
  return told;
}

/** An endpoint was a URL, whoever named it. */
function keyOf(endpoint: string): string {
  return createHash('sha256').update(endpoint).digest('hex').slice(0, 16);
}

function withoutNewMembers(name: string, value: unknown): unknown {
  return name === 'createdBefore' ? undefined : value;
}
