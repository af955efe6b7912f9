/** E-mails in the test's own process, from recorded items to a test's SMTP server, and queries of their rows. */

import { createPauseGate } from '../../src/engine/broker/pause-gate.ts';
import { timeOrderedUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import type { IntakeMessage } from '../../src/engine/domain/intake-message.ts';
import { NO_MARKETS } from '../../src/engine/domain/market-prices.ts';
import { isLive } from '../../src/engine/domain/property.ts';
import { SEARCH_DEFAULTS, type Search, type SearchMembers } from '../../src/engine/domain/search.ts';
import { createClient } from '../../src/engine/store/clients.ts';
import { type Database, openDatabase } from '../../src/engine/store/database.ts';
import { insertProperties } from '../../src/engine/store/properties.ts';
import { createSearch } from '../../src/engine/store/searches.ts';
import { insertMailItems } from '../../src/features/mail/mail.ts';
import {
  type ClaimedMail,
  claimMail,
  type MailClaimOptions,
  readMailTurns,
} from '../../src/features/mail/mail-claims.ts';
import type { MailReason, NewMailItem } from '../../src/features/mail/mail-items.ts';
import { keepMail, recordMail, type SettledMail } from '../../src/features/mail/mail-outcomes.ts';
import { createMailSender, type MailSenderOptions } from '../../src/features/mail/mail-sender.ts';
import { type MailingDependencies, startMailing } from '../../src/features/mail/mailing.ts';
import { heldAfter, resolveToulon, upsertAt } from './adverts.ts';
import { ownDatabase } from './own-database.ts';
import type { Cleanup } from './servers.ts';
import { type SmtpReceiver, startSmtpReceiver } from './smtp-receiver.ts';
import { runStatements } from './statements.ts';
import { quietSupervisor } from './supervisor.ts';
import { until } from './until.ts';

/** Long enough for a server to answer in time on any machine. */
const PATIENT_MS = 60_000;

export const NEW_MATCH: MailReason = { type: 'match', kind: 'property.ad.create', oldValue: null, newValue: null };

export interface MailItemRow {
  readonly id: Uuid;
  readonly state: string;
  readonly attempts: number;
  readonly mail_id: Uuid | null;
  readonly due_at: Date;
  readonly endpoint: string;
}

type MailPart =
  | 'retryDelayMs'
  | 'attemptTimeoutMs'
  | 'drainTimeoutMs'
  | 'gate'
  | 'clock'
  | 'nowMs'
  | 'resolvePlace'
  | 'onTransientError';
export type MailStart = Partial<Pick<MailingDependencies, MailPart>> & {
  readonly sender?: Partial<MailSenderOptions>;
};

export interface MailScene {
  readonly database: Database;
  readonly smtp: SmtpReceiver;
  readonly settled: readonly SettledMail[];
  readonly client: Uuid;
  newClient(name: string): Promise<Uuid>;
  /** Creates a search of a client, by default `client`. */
  newSearch(address: string, members?: Partial<SearchMembers>, clientId?: Uuid): Promise<Search>;
  /** Records items of the search, each for another property; resolves with their ids. */
  record(
    search: Search,
    count: number,
    options?: { gatherMs?: number; now?: Date; title?: string; url?: string },
  ): Promise<Uuid[]>;
  start(options?: MailStart): ReturnType<typeof startMailing>;
  rows(): Promise<readonly MailItemRow[]>;
  /** Resolves with the items once none is open. */
  untilAllEnded(): Promise<readonly MailItemRow[]>;
  /** State and number of attempts of each item, as `delivered 1`. */
  states(): Promise<readonly string[]>;
  /** The same, once none is open. */
  ended(): Promise<readonly string[]>;
  /** The attempts by number, each with its result, as `1 250` or `1 aborted`. */
  attempts(): Promise<readonly string[]>;
  /** Counts of the day's e-mails: for each mailbox, then for each client. */
  counts(): Promise<readonly number[]>;
  /** Claims the first due e-mail as another instance would. */
  claim(options?: Partial<MailClaimOptions>): Promise<ClaimedMail | null>;
}

/** `openDatabaseUrl` returns the URL of a migrated database; by default on the shared server of the process. */
export async function openMailScene(
  cleanup: Cleanup,
  openDatabaseUrl: (cleanup: Cleanup) => Promise<string> = ownDatabase,
): Promise<MailScene> {
  const closers: (() => Promise<unknown>)[] = [];
  cleanup.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const url = await openDatabaseUrl({ after: (work) => closers.push(work) });
  const database = openDatabase({
    ...{ url, connectionsMax: 12, plans: 'pipeline', onConnectionLost: () => undefined },
  });
  closers.push(() => database.end());
  const smtp = await startSmtpReceiver({ after: (work) => closers.push(work) });
  const settled: SettledMail[] = [];

  async function rows(): Promise<readonly MailItemRow[]> {
    const { rows: found } = await database.query<MailItemRow>(
      'select id, state, attempt_count as attempts, mail_id, due_at, endpoint from mail_items order by id',
    );
    return found;
  }

  const newClient = async (name: string) => (await createClient(database, { name })).id;
  const client = await newClient('default');
  const untilAllEnded = () => until(rows, (found) => found.every(({ state }) => ENDED.has(state)));

  return {
    database,
    smtp,
    settled,
    rows,
    client,
    newClient,
    newSearch: (notificationRecipient, members = {}, clientId = client) =>
      createSearch(database, clientId, {
        ...{ ...SEARCH_DEFAULTS, title: 'private', publicTitle: 'Toulon' },
        ...{ notificationEnabled: true, notificationRecipient, ...members },
      }),
    async record(search, count, { gatherMs = 0, now = new Date(), title = 'T3 vue mer', url } = {}) {
      const items: NewMailItem[] = [];
      for (let position = 0; position < count; position++) {
        const item = mailItemOf(search, timeOrderedUuid(now), now);
        const advert = { title: `${title} ${position}`, price: 250_000, surface: 62, url: url ?? null };
        await holdProperty(database, upsertAt(0, { propertyUuid: item.propertyUuid, advert }));
        items.push(item);
      }
      await runStatements(database, insertMailItems(items, now, gatherMs));
      return items.map(({ id }) => id);
    },
    start({ sender, ...options } = {}) {
      const mailing = startMailing({
        database,
        sender: createMailSender({ url: smtp.url, timeoutMs: options.attemptTimeoutMs ?? PATIENT_MS, ...sender }),
        from: { name: 'Vigie', address: 'alerts@vigie.example' },
        publicUrl: 'https://vigie.example',
        language: 'fr',
        resolvePlace: resolveToulon,
        cityNames: { city: () => 'Toulon', department: () => 'Var' },
        retryDelayMs: 50,
        markets: async () => NO_MARKETS,
        keptSince: () => null,
        attemptTimeoutMs: PATIENT_MS,
        drainTimeoutMs: PATIENT_MS,
        gate: createPauseGate(),
        onMail: (mail) => void settled.push(mail),
        supervisor: quietSupervisor(),
        onTransientError: (what, error) => assertNever(what, error),
        ...options,
      });
      closers.push(() => mailing.drain());
      return mailing;
    },
    states: async () => statesOf(await rows()),
    ended: async () => statesOf(await untilAllEnded()),
    async attempts() {
      const { rows: logged } = await database.query<{ attempt: string }>(
        `select number || ' ' || coalesce(status_code::text, error, 'none') as attempt from attempts
         order by number, delivery_id`,
      );
      return logged.map(({ attempt }) => attempt);
    },
    async counts() {
      const { rows: counted } = await database.query<{ mails: number }>(
        'select mails from mail_mailboxes union all select mails from mail_clients',
      );
      return counted.map(({ mails }) => mails);
    },
    async claim({ leaseMs = 60_000, now = new Date() } = {}) {
      const [turn] = await readMailTurns(database, 1);
      return turn === undefined ? null : claimMail(database, turn, { leaseMs, now });
    },
    untilAllEnded,
  };
}

const statesOf = (rows: readonly MailItemRow[]) => rows.map(({ state, attempts }) => `${state} ${attempts}`);
const ENDED = new Set(['delivered', 'failed', 'cancelled']);

/** Every transient error except a lost connection is a bug here, and ends the test's process. */
function assertNever(what: string, error: Error): void {
  if (/terminat|connect|shutting down|ECONN/i.test(error.message)) return;
  setImmediate(() => {
    throw new Error(what, { cause: error });
  });
}

/** An item as the recorder writes it. */
export function mailItemOf(
  { clientId, number, members, mail }: Search,
  propertyUuid: Uuid,
  now: Date,
  reason: MailReason = NEW_MATCH,
): NewMailItem {
  const address = members.notificationRecipient as string;
  return {
    ...{ id: timeOrderedUuid(now), clientId, searchNumber: number, matchId: timeOrderedUuid(now), propertyUuid },
    route: {
      address,
      key: mail.key as string,
      frequency: members.notificationFrequency,
      hasConsent: members.notificationConsent !== null,
    },
    ...{ reason, generation: 0 },
  };
}

/** Stores the bytes of a claimed e-mail, with all its items. */
export function keepBytes(database: Database, { id, items }: ClaimedMail, bytes: Buffer) {
  const written = { mailId: id, bytes, items: items.map((item) => item.id) };
  return keepMail(database, { ...written, notified: new Map(), contactSearches: [], leaving: new Map() });
}

/** Records the answer of the mail server to a claimed e-mail: 250, or 451 with a retry that is due. */
export function settleMail(database: Database, mail: ClaimedMail, state: 'delivered' | 'retry_wait'): Promise<void> {
  const isDone = state === 'delivered';
  const answer = isDone ? ({ statusCode: 250, error: null } as const) : ({ statusCode: 451, error: 'status' } as const);
  return recordMail(database, {
    ...{ id: mail.id, key: mail.key, attempt: mail.attempt, retryInMs: 0, isRecipientRefused: false },
    outcome: { startedAt: mail.startedAt, durationMs: 1, ...answer, reason: null, responseHead: null },
    after: isDone ? { state, dueAt: null } : { state, dueAt: new Date() },
  });
}

/** Replaces the stored property by the property that results from these messages. */
export async function holdProperty(database: Database, ...messages: IntakeMessage[]): Promise<void> {
  const stored = heldAfter(...messages);
  await database.query('delete from properties where uuid = $1', [stored.state.uuid]);
  const { adverts } = stored.state;
  const expiredAt = adverts.some(isLive) ? null : (adverts[0]?.expiredAt ?? null);
  await runStatements(database, insertProperties([{ stored, expiredAt }]));
}
