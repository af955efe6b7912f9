/**
 * A crawler that follows the intake contract. It publishes the messages of one property one after another, and repeats
 * each with the same message id until the stream has acknowledged it.
 */

import { setTimeout as wait } from 'node:timers/promises';
import type { Broker } from '../../src/engine/broker/connection.ts';
import { publish } from '../../src/engine/broker/publish.ts';
import { ADVERTS_STREAM, advertSubject } from '../../src/engine/broker/topology.ts';
import type { IntakeMessageJson, SampleCrawler } from '../adverts/sample-adverts.ts';

export interface ChaosCrawler {
  /**
   * Messages that the stream has acknowledged, or will have acknowledged when `end` resolves; in order per property.
   */
  readonly messages: readonly IntakeMessageJson[];
  /**
   * True if the stream has assigned a sequence to two messages, which means that it forgot the acknowledged first one.
   */
  readonly hasStreamForgotten: boolean;
  /**
   * Ids of acknowledged messages that the stream's leader lacks. An instance may have recorded them before their loss.
   * The leader is asked for each message that another server lacks.
   */
  findLost(): Promise<readonly string[]>;
  /** Number of publishes that were repeated. */
  readonly retries: number;
  /** Publishes `count` further messages as fast as possible, all with the same `crawledAt`. */
  burst(count: number): void;
  /** Publishes a message and adds it to `messages`. */
  publishKept(message: IntakeMessageJson): void;
  /** Publishes a message that the service must refuse; it is not added to `messages`. */
  publish(message: IntakeMessageJson): void;
  /** Creates no messages until `resume`; resolves when the stream has acknowledged everything. */
  pause(): Promise<void>;
  resume(): void;
  /** Creates no further messages; resolves when the stream has acknowledged everything. */
  end(): Promise<void>;
}

export interface ChaosCrawlerOptions {
  readonly broker: Broker;
  readonly crawler: SampleCrawler;
  readonly messagesPerSecond: number;
}

const TICK_MS = 100;
/** While this many messages wait for the stream's acknowledgement, the timer creates no further ones. */
const WAITING_MAX = 2_000;
const AGAIN_MS = 250;
const PAGE = 1_000;

export function startChaosCrawler({ broker, crawler, messagesPerSecond }: ChaosCrawlerOptions): ChaosCrawler {
  const messages: IntakeMessageJson[] = [];
  const lastOf = new Map<string, Promise<void>>();
  let count = 0;
  let waiting = 0;
  let retries = 0;
  let owed = 0;
  let isPaused = false;
  /** Message ids by the acknowledged sequence. */
  const stored = new Map<number, string>();
  let hasStreamForgotten = false;
  /** The acknowledged sequence of each message id. */
  const taken = new Map<string, number>();

  function publishKept(message: IntakeMessageJson): void {
    messages.push(message);
    enqueue(message);
  }

  function enqueue(message: IntakeMessageJson): void {
    waiting += 1;
    const { uuid } = message.property;
    const messageId = `${uuid}/${message.advert.uuid}/${message.crawledAt}/${count}`;
    count += 1;
    const published = (lastOf.get(uuid) ?? Promise.resolve()).then(() => publishUntilTaken(message, messageId));
    lastOf.set(uuid, published);
  }

  async function publishUntilTaken(message: IntakeMessageJson, messageId: string): Promise<void> {
    const publication = {
      subject: advertSubject(message.property.uuid),
      messageId,
      bytes: Buffer.from(JSON.stringify(message)),
    };
    for (;;) {
      try {
        const { sequence } = await publish(broker, publication);
        hasStreamForgotten ||= (stored.get(sequence) ?? messageId) !== messageId;
        stored.set(sequence, messageId);
        taken.set(messageId, sequence);
        waiting -= 1;
        return;
      } catch {
        retries += 1;
        await wait(AGAIN_MS);
      }
    }
  }

  const timer = setInterval(() => {
    if (!isPaused) owed += (messagesPerSecond * TICK_MS) / 1_000;
    for (; owed >= 1; owed--) if (waiting < WAITING_MAX) publishKept(crawler.next());
  }, TICK_MS);
  return {
    messages,
    async findLost() {
      const consumer = await broker.jetStream.consumers.get(ADVERTS_STREAM, { headers_only: true });
      const { num_pending } = await consumer.info();
      const stored = new Set<string>();
      for (let left = num_pending; left > 0; ) {
        const page = await consumer.fetch({ max_messages: Math.min(left, PAGE) });
        for await (const { headers } of page) {
          stored.add(headers?.get('Nats-Msg-Id') ?? '');
          left -= 1;
        }
      }
      const lost: string[] = [];
      for (const [messageId, seq] of taken) {
        if (stored.has(messageId)) continue;
        const kept = await broker.manager.streams.getMessage(ADVERTS_STREAM, { seq }).catch(() => null);
        if (kept?.header.get('Nats-Msg-Id') !== messageId) lost.push(messageId);
      }
      return lost;
    },
    get retries() {
      return retries;
    },
    get hasStreamForgotten() {
      return hasStreamForgotten;
    },
    burst(count) {
      let crawledAt: string | null = null;
      for (let made = 0; made < count; made++) {
        const message = crawler.next();
        crawledAt ??= message.crawledAt;
        publishKept({ ...message, crawledAt });
      }
    },
    publishKept,
    publish: enqueue,
    async pause() {
      isPaused = true;
      await Promise.all(lastOf.values());
    },
    resume() {
      isPaused = false;
    },
    async end() {
      clearInterval(timer);
      await Promise.all(lastOf.values());
    },
  };
}
