/**
 * E-mails to a client's notice address. They report endpoints that were paused after failures, or have failed for half
 * the time that leads to a pause (decisions, section 6). One e-mail names the first 20 such endpoints of a client and
 * counts the others. A client gets at most one e-mail an hour. Each notice is sent at least once, because endpoints are
 * marked as notified afterwards. After a failure that is not permanent, the next attempt is an hour later.
 */

import { startTask } from '../../engine/actor/task.ts';
import { endsWithin } from '../../engine/actor/waiting.ts';
import { endpointKeyOf } from '../../engine/domain/endpoint.ts';
import { timeOrderedUuid, type Uuid } from '../../engine/domain/ids.ts';
import type { MailLanguage } from '../../engine/domain/mail.ts';
import { arrayLiteral } from '../../engine/store/array-literal.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { isHalfDead } from '../../engine/store/endpoints.ts';
import type { FeatureTask } from '../../feature.ts';
import { both, inLanguage } from '../../languages.ts';
import { messageBytes } from './mail-letter.ts';
import type { MailOutcome } from './mail-sender.ts';
import { cleanText, MAIL_WORDS } from './mail-words.ts';
import type { MailingDependencies } from './mailing.ts';

type Shared = 'database' | 'sender' | 'from' | 'language' | 'gate' | 'drainTimeoutMs' | 'onTransientError';

export interface NoticeDependencies extends Pick<MailingDependencies, Shared> {
  /** See `pauseDeadEndpoints`. */
  readonly pauseDays: number;
  readonly onNotice: (clientId: Uuid, endpointCount: number, outcome: MailOutcome) => void;
}

const CHECK_EVERY_MS = 60_000;
/** Maximum number of endpoints in a check. Later checks read the others, after an hour if the client got an e-mail. */
const ENDPOINTS_MAX = 1_000;
const SHOWN_MAX = 20;
const URL_LENGTH_MAX = 200;

export function startEndpointNotices(dependencies: NoticeDependencies): FeatureTask {
  const { gate, drainTimeoutMs, onTransientError } = dependencies;
  const task = startTask({
    what: 'endpoint notices',
    everyMs: CHECK_EVERY_MS,
    isDueAtOnce: true,
    work: async (stopping) => (gate.isOpen ? sendEndpointNotices(dependencies, stopping) : undefined),
    onTransientError,
  });
  return {
    async drain() {
      await endsWithin(task.stop(), drainTimeoutMs);
    },
  };
}

export async function sendEndpointNotices(dependencies: NoticeDependencies, stopping: AbortSignal): Promise<void> {
  const { database, sender, from, language, pauseDays, onNotice } = dependencies;
  const due = new Map<Uuid, DueNotice[]>();
  for (const notice of await readDueNotices(database, pauseDays)) {
    due.set(notice.clientId, [...(due.get(notice.clientId) ?? []), notice]);
  }
  for (const [clientId, endpoints] of due) {
    const { clientName, address } = endpoints[0] as DueNotice;
    if (stopping.aborted) return;
    if (!(await claimNotice(database, clientId))) continue;
    const text = noticeText(clientName, endpoints, pauseDays, language);
    const bytes = await messageBytes({
      id: timeOrderedUuid(new Date()),
      from,
      to: address,
      text,
      unsubscribeUrl: null,
    });
    const outcome = await sender.send({ from: from.address, to: address, bytes }, new Date());
    // After a permanent refusal another attempt is useless, so the endpoints are marked as notified, too.
    if (outcome.error === null || outcome.isFinal) await markNoticed(database, endpoints);
    onNotice(clientId, endpoints.length, outcome);
  }
}

interface DueNotice {
  readonly clientId: Uuid;
  readonly clientName: string;
  readonly address: string;
  readonly key: string;
  readonly url: string;
  readonly pausedAt: Date | null;
  readonly failingSince: Date | null;
  readonly lastError: string | null;
  /** PostgreSQL's time in microseconds: in whole milliseconds it could precede a pause in this e-mail. */
  readonly readAt: string;
}

/** The client has a notice address, and no e-mail to it was tried within the last hour. */
const IS_NOTICE_DUE = `notice_address is not null
  and coalesce(notice_tried_at, '-infinity') < statement_timestamp() - interval '1 hour'`;

/** Scans all endpoints if any client may get a notice now. */
async function readDueNotices(database: Queryable, pauseDays: number): Promise<readonly DueNotice[]> {
  const { rows } = await database.query<DueNotice>(
    `select c.id as "clientId", c.name as "clientName", c.notice_address as address, e.key, e.url,
       e.failures_paused_at as "pausedAt", e.failing_since as "failingSince", e.last_error as "lastError",
       statement_timestamp()::text as "readAt"
     from clients c join endpoints e on length(e.key) = 32 and substr(e.key, 17, 8) = right(c.id::text, 8)
     where ${IS_NOTICE_DUE}
       and (e.failures_paused_at > coalesce(e.noticed_at, '-infinity')
         or e.failing_since > coalesce(e.noticed_at, '-infinity') and ${isHalfDead('e', '$1')})
     order by c.id, e.url limit ${ENDPOINTS_MAX}`,
    [pauseDays],
  );
  // Keys contain only the last digits of a client's id, so different clients may match each other's endpoints.
  return rows.filter(({ clientId, key, url }) => endpointKeyOf(clientId, url) === key);
}

/** False if another instance has claimed the notice, or the address was removed. Served by the primary key. */
async function claimNotice(database: Queryable, clientId: Uuid): Promise<boolean> {
  const { rowCount } = await database.query(
    `update clients set notice_tried_at = clock_timestamp() where id = $1 and ${IS_NOTICE_DUE}`,
    [clientId],
  );
  return rowCount === 1;
}

/** Stores the time of the reading, so that a later e-mail reports changes after it. Served by the primary key. */
async function markNoticed(database: Queryable, endpoints: readonly DueNotice[]): Promise<void> {
  await database.query('update endpoints set noticed_at = $2 where key = any($1::text[])', [
    arrayLiteral(endpoints.map(({ key }) => key)),
    endpoints[0]?.readAt,
  ]);
}

const TEXTS = {
  subject: (client: string, hasPaused: boolean) =>
    both(
      `Webhooks for ${client}: endpoints ${hasPaused ? 'have been paused' : 'are failing'}`,
      `Webhooks de ${client} : adresses ${hasPaused ? 'suspendues' : 'en échec'}`,
    ),
  paused: (at: string) =>
    both(
      `paused since ${at}; nothing is sent to it, nothing is lost`,
      `suspendue depuis le ${at} ; rien n’y est envoyé, rien n’est perdu`,
    ),
  failing: (at: string, until: string) =>
    both(
      `has been failing since ${at}; will be paused on ${until} unless it answers 200`,
      `échoue depuis le ${at} ; sera suspendue le ${until} sans réponse 200`,
    ),
  lastError: (error: string) => both(`last failure: ${error}`, `dernier échec : ${error}`),
  more: (count: number) => both(`And ${count} more.`, `Et ${count} autres.`),
  advice: both(
    'Repair the endpoint, then resume it in the console or with PATCH /endpoints. Waiting webhooks are then sent in order.',
    'Corrigez l’adresse, puis reprenez-la dans la console ou par PATCH /endpoints. Les webhooks en attente sont alors envoyés dans l’ordre.',
  ),
};

const DAY_MS = 86_400_000;

function noticeText(client: string, endpoints: readonly DueNotice[], pauseDays: number, language: MailLanguage) {
  const words = inLanguage(TEXTS, language);
  const { locale } = MAIL_WORDS[language];
  const at = (ms: number): string =>
    new Date(ms).toLocaleString(locale, { dateStyle: 'long', timeStyle: 'long', timeZone: 'Europe/Paris' });
  const lines = endpoints.slice(0, SHOWN_MAX).map(({ url, pausedAt, failingSince, lastError }) => {
    const since = failingSince?.getTime() ?? 0;
    const failing = words.failing(at(since), at(since + pauseDays * DAY_MS));
    const state = pausedAt === null ? failing : words.paused(at(pausedAt.getTime()));
    return [shownUrl(url), state, ...(lastError === null ? [] : [words.lastError(lastError)])].join('\n  ');
  });
  if (endpoints.length > SHOWN_MAX) lines.push(words.more(endpoints.length - SHOWN_MAX));
  const hasPaused = endpoints.some(({ pausedAt }) => pausedAt !== null);
  return { subject: words.subject(cleanText(client), hasPaused), text: `${[...lines, words.advice].join('\n\n')}\n` };
}

/** The shortened URL without query and fragment, because these may contain a password. */
function shownUrl(url: string): string {
  const [address = ''] = url.split(/[?#]/, 1);
  return cleanText(address).slice(0, URL_LENGTH_MAX);
}
