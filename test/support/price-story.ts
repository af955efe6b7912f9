/**
 * One search and a few properties whose prices change in rounds while a test causes failures. Crawlers repeat a message
 * until the stream has stored it. At the end every change that NATS kept has one delivery, and the auditor finds no
 * violation.
 */

import assert from 'node:assert/strict';
import { connect } from 'nats';
import { ADVERTS_STREAM, nullIfMissing } from '../../src/engine/broker/topology.ts';
import { countOpen } from './courier.ts';
import type { RunningService } from './daemon.ts';
import { connectDatabase } from './database.ts';
import { auditDeliveries } from './delivery-auditor.ts';
import { numberedUuid, roundOf } from './intake.ts';
import { assertNone } from './lists.ts';
import { metricOf } from './operator-scene.ts';
import { everythingTo, restClient } from './rest-client.ts';
import type { Cleanup } from './servers.ts';
import { until, untilIs } from './until.ts';
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts';

const PROPERTIES = 20;
const RETRY_DELAY_MS = 1_000;
const PUBLISH_TIMEOUT_MS = 3_000;
/** Number of checks in a minute. If webhooks are then missing, `untilTold` looks for messages that NATS lost. */
const CHECKS_OF_LOSS = 1_200;

/** Attempts must not time out on a busy machine. */
export const STORY_SETTINGS = { VIGIE_RETRY_DELAY_MS: String(RETRY_DELAY_MS), VIGIE_ATTEMPT_TIMEOUT_MS: '20000' };

export interface PriceStory {
  readonly receiver: WebhookReceiver;
  readonly connection: Awaited<ReturnType<typeof connect>>;
  /** Saves the search; resolves when the daemon's index has it. */
  begin(daemon: RunningService, key: string): Promise<void>;
  /** Changes the price of every property. */
  publishRound(): Promise<void>;
  /** Resolves when the webhooks of all messages have been received, except messages that NATS lost. */
  untilTold(): Promise<void>;
  /** Publishes `rounds`, waits until they are received, and returns the milliseconds this took. */
  tell(rounds: number): Promise<number>;
  /** Resolves when no delivery is open and the receiver's log agrees with the rows of `databaseUrl`. */
  audit(databaseUrl: string): Promise<void>;
}

/** `natsUrls`: servers of one cluster. */
export async function openPriceStory(cleanup: Cleanup, natsUrls: readonly string[]): Promise<PriceStory> {
  const receiver = await startWebhookReceiver(cleanup);
  const [{ username, password }] = natsUrls.map((url) => new URL(url)) as [URL];
  const connection = await connect({
    servers: natsUrls.map((url) => new URL(url).host),
    ...(username === '' ? {} : { user: username, pass: password }),
    timeout: PUBLISH_TIMEOUT_MS,
    maxReconnectAttempts: -1,
    pingInterval: 2_000,
  });
  cleanup.after(() => connection.close());
  const jetStream = connection.jetstream({ timeout: PUBLISH_TIMEOUT_MS });
  let round = 0;
  /** Message ids by the sequence that the stream acknowledged. */
  const stored = new Map<number, string>();
  /** Sequences that NATS lost: servers that lose their majority may forget messages that they acknowledged. */
  const forgotten = new Set<number>();

  async function publishRound(): Promise<void> {
    for (const message of roundOf(PROPERTIES, round)) {
      const [subject, bytes] = [`adverts.${message.property.uuid}`, JSON.stringify(message)];
      const msgID = `${message.advert.uuid}-${round}`;
      const isHeld = async (): Promise<boolean> => {
        const { seq } = await jetStream.publish(subject, bytes, { msgID }).catch(() => ({ seq: 0 }));
        if (seq > 0 && (stored.get(seq) ?? msgID) !== msgID) forgotten.add(seq);
        stored.set(seq, msgID);
        // The server may be cut off from the others; version 2.10 then acknowledges a repetition with sequence 0.
        if (seq === 0) void connection.reconnect();
        return seq > 0;
      };
      await until(isHeld, Boolean);
    }
    round += 1;
  }

  /** Reads each acknowledged message again: a server that is cut off also acknowledges repetitions, and drops them. */
  async function findForgotten(): Promise<void> {
    const { streams } = await connection.jetstreamManager();
    for (const [seq, msgID] of stored) {
      const held = seq === 0 ? null : await streams.getMessage(ADVERTS_STREAM, { seq }).catch(nullIfMissing);
      if (seq > 0 && held?.header.get('Nats-Msg-Id') !== msgID) forgotten.add(seq);
    }
  }

  async function untilTold(): Promise<void> {
    let checks = 0;
    await until(
      async () => {
        checks += 1;
        if (checks % CHECKS_OF_LOSS === 0) await findForgotten().catch(() => undefined);
        return new Set(receiver.posts.map(({ id }) => id)).size;
      },
      (count) => count >= round * PROPERTIES - forgotten.size,
    );
  }

  return {
    receiver,
    connection,
    async begin(daemon, key) {
      await restClient(daemon, key).createSearch(everythingTo(receiver));
      await untilIs(() => metricOf(daemon, 'vigie_searches'), 1);
    },
    publishRound,
    untilTold,
    async tell(rounds) {
      const startedAt = performance.now();
      for (let told = 0; told < rounds; told++) await publishRound();
      await untilTold();
      return Math.round(performance.now() - startedAt);
    },
    async audit(databaseUrl) {
      const database = connectDatabase(cleanup, databaseUrl);
      await untilIs(() => countOpen(database), 0);
      const properties = Array.from({ length: PROPERTIES }, (_, number) => numberedUuid('property', number));
      const expected = properties.flatMap((uuid) => [
        `${uuid} match`,
        ...Array.from({ length: round - 1 }, () => `${uuid} event`),
      ]);
      const keyOf = ({ propertyUuid, channel }: { propertyUuid: string | null; channel: string }) =>
        `${propertyUuid} ${channel}`;
      const { posts } = receiver;
      const order = { mayJump: forgotten.size > 0 };
      const faults = await auditDeliveries({ database, posts, retryDelayMs: RETRY_DELAY_MS, expected, keyOf, order });
      const lost = faults.filter((fault) => fault.endsWith('do not exist'));
      assert.ok(lost.length <= forgotten.size, lost.join('\n'));
      assertNone(faults.filter((fault) => !lost.includes(fault)));
    },
  };
}
