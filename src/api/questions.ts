/**
 * Questions over many properties or searches, which hold something scarce for as long as a second: a few at once, on
 * connections of their own, each statement within two seconds, and in slices of a few milliseconds of this process.
 */

import type { Context } from 'koa';
import type { Language } from '../domain/criterion-words.ts';
import type { MedianOf } from '../domain/property-digest.ts';
import type { RetentionDays } from '../domain/retention.ts';
import type { SiteCategoryName } from '../domain/search.ts';
import type { Database } from '../store/database.ts';
import { readMedians } from '../store/market-medians.ts';
import { isNoConnectionLeft, isStatementTimeout } from '../store/outage.ts';
import { listSiteCategories } from '../store/site-categories.ts';
import { principalOf } from './auth.ts';
import { createConcurrencyLimit } from './concurrency-limit.ts';
import type { ApiDependencies } from './dependencies.ts';
import { Problem } from './problem.ts';

export interface Questions {
  readonly database: Database;
  readonly retentionDays: RetentionDays;
  /** Throws a 429 `Problem` when too many are asked, or this one takes too long. */
  answering<T>(ctx: Context, work: () => Promise<T>): Promise<T>;
  /** What prices are judged by, as of a minute ago. */
  medians(): Promise<MedianOf>;
  siteCategoryName(): Promise<SiteCategoryName>;
}

/** Decisions, section 11. */
const BOUNDS = { perClientMax: 2, allMax: 8, retryAfterSeconds: 1, spreadSeconds: 8 };
const MEDIANS_KEPT_MS = 30_000;
const KEPT_FOR_EVER: RetentionDays = { events: 0, deliveries: 0, expired: 0, deadLetters: 0 };

export function createQuestions({
  database: shared,
  questionDatabase,
  retentionDays,
  now,
}: ApiDependencies): Questions {
  const database = questionDatabase ?? shared;
  const limit = createConcurrencyLimit('previews, explanations, near-misses and completions', BOUNDS);
  let medians: { readonly read: Promise<MedianOf>; readonly atMs: number } | null = null;
  return {
    database,
    retentionDays: retentionDays ?? KEPT_FOR_EVER,
    answering: (ctx, work) => limit(principalOf(ctx).clientId, () => work().catch(refuseSlow)),
    medians() {
      const atMs = now().getTime();
      if (medians === null || Math.abs(atMs - medians.atMs) > MEDIANS_KEPT_MS) {
        const read = readMedians(database);
        medians = { read, atMs };
        read.catch(() => {
          medians = null;
        });
      }
      return medians.read;
    },
    async siteCategoryName() {
      const names = new Map((await listSiteCategories(database)).map(({ id, name }) => [id, name]));
      return (id) => names.get(id) ?? null;
    },
  };
}

function refuseSlow(error: unknown): never {
  if (!isStatementTimeout(error) && !isNoConnectionLeft(error)) throw error;
  const headers = { 'Retry-After': '5' };
  throw new Problem(429, 'this question takes too long: ask for less, or again when there is less to do', { headers });
}

/** What the client's user reads; `fallback` without a preference. */
export function languageOf(ctx: Context, fallback: Language): Language {
  ctx.vary('Accept-Language');
  const accepted = ctx.req.headers['accept-language'];
  const language = accepted === undefined || accepted === '*' ? fallback : ctx.acceptsLanguages('fr', 'en');
  const chosen = language === 'fr' || language === 'en' ? language : fallback;
  ctx.set('Content-Language', chosen);
  return chosen;
}
