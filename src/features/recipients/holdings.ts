/**
 * Reads a client's data about a recipient of e-mails, from the rows in which the address may be stored. The address is
 * the whole value of `notificationRecipient` and `notificationReplyTo` (searches), of `endpoint` (items of e-mails,
 * after `mailto:`) and of the client's notice address. The texts of searches and of their marks may contain it.
 */

import type { Uuid } from '../../engine/domain/ids.ts';
import type { RecipientChoice } from '../../engine/domain/mail.ts';
import { readAttempts } from '../../engine/store/attempts.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { identityOf } from '../../rest/hydra.ts';
import { Fault, RECIPIENT_ADDRESS } from '../../values.ts';
import { addressesIn, addressPattern, partPattern, RUN_PATTERN } from './address-forms.ts';

export interface Recipient {
  readonly clientId: Uuid;
  readonly address: string;
}

export const EMAILS_MAX = 10_000;

/** True if the rule for the recipient of a search accepts the text. */
export function isAddress(text: string): boolean {
  return !(RECIPIENT_ADDRESS.read(text) instanceof Fault);
}

export const CONSENT_SOURCE = "members -> 'notificationConsent' ->> 'source'";
const REPLY_TO = "members ->> 'notificationReplyTo'";
export const PUBLIC_TITLE = "members ->> 'publicTitle'";
/** The texts of a search's marks, served by their primary key. */
const MARKS =
  "(select string_agg(concat_ws(E'\\n', reason, note), E'\\n') from search_marks where search_number = number)";
const TEXTS = ['title', PUBLIC_TITLE, 'context', CONSENT_SOURCE, MARKS];
/** The whole value is the address. Parameters: those of `NAMING_SEARCHES`. */
export const IS_REPLY_TO = `lower(${REPLY_TO}) is not distinct from lower($2)`;

/** The key of a recipient. Parameters: the client, the address. */
export const KEY = '(select mail_key_of($1, $2))';
export const IS_RECIPIENT = `mail_key is not distinct from ${KEY}`;
/**
 * The numbers of searches, including deleted ones, that send e-mails to a recipient or mention it. Parameters: the
 * client, the address, a pattern of it. Reads each search of the client, by searches_client and searches_deleted.
 */
export const NAMING_SEARCHES = ['is null', 'is not null']
  .map(
    (isDeleted) => `select number from searches where deleted_at ${isDeleted} and client_id = $1
      and (mail_key = ${KEY} or ${IS_REPLY_TO} or ${TEXTS.map((text) => `${text} ~ $3`).join(' or ')})`,
  )
  .join(' union all ');

/** Parameters: the client, the address. Served by the primary key. */
export const IS_NOTICE_ADDRESS = 'id = $1 and lower(notice_address) = lower($2)';

/** True if a text may have the address ($3) as part of another one; certain occurrences ($4) are masked first. */
const MAY_CONTAIN = TEXTS.map((text) => `coalesce(regexp_replace(${text}, $4, '…', 'g') ~ $3, false)`).join(' or ');

/** The choices that the recipient made on its page, and its erasure; null for none. Served by the primary keys. */
async function readChoices(database: Queryable, { clientId, address }: Recipient) {
  const { rows } = await database.query<Omit<RecipientChoice, 'key' | 'clientId'>>(
    `select kind, scope, value, at from mail_recipients left join mail_choices on recipient_key = key
     where key = ${KEY} order by at`,
    [clientId, address],
  );
  const [unsubscription, erasure, frequency] = (['unsubscription', 'erasure', 'frequency'] as const).map((kind) =>
    rows.find((choice) => choice.kind === kind && choice.scope === 'sender'),
  );
  return {
    isKnown: rows.length > 0,
    ...timesOf(unsubscription, 'unsubscribedAt', 'resubscribedAt'),
    ...timesOf(erasure, 'erasedAt', 'liftedAt'),
    emailFrequencyChosen: frequency?.value || null,
    emailFrequencyChosenAt: frequency?.at ?? null,
    searchUnsubscriptions: rows
      .filter((choice) => choice.kind === 'unsubscription' && choice !== unsubscription)
      .map((choice) => ({
        search: choice.scope.replace('search:', '/searches/'),
        ...timesOf(choice, 'unsubscribedAt', 'resubscribedAt'),
      })),
  };
}

/** The time when the choice was made, as member `made`, or taken back, as member `takenBack`. */
function timesOf(choice: Pick<RecipientChoice, 'value' | 'at'> | undefined, made: string, takenBack: string) {
  const { value, at = null } = choice ?? {};
  return { [made]: value === true ? at : null, [takenBack]: value === false ? at : null };
}

export function recipientDocument(address: string, holding: object) {
  return { ...identityOf('Recipient', `/recipients/${encodeURIComponent(address)}`), address, ...holding };
}

/** The document of `/recipients/{address}`; null if nothing is stored. */
export async function readRecipient(database: Queryable, { clientId, address }: Recipient) {
  const { rows: searches } = await database.query(
    `select '/searches/' || id as search, title, ${PUBLIC_TITLE} as "publicTitle", not (${IS_RECIPIENT}) as "mentionsOnly",
       ${MAY_CONTAIN} as "mayContain", members -> 'notificationConsent' as "notificationConsent", mail_refused_at as "refusedAt",
       deleted_at as "deletedAt", coalesce((
         select json_agg(json_build_object('property', '/documents/properties/' || property_uuid, 'reason', reason, 'note', note)
           order by property_uuid)
         from search_marks where search_number = number and concat_ws(E'\\n', reason, note) ~ $3), '[]') as marks
     from searches where number = any(array(${NAMING_SEARCHES})) order by number`,
    [clientId, address, partPattern(address), addressPattern(address)],
  );
  const { rowCount: noticeCount } = await database.query(`select from clients where ${IS_NOTICE_ADDRESS}`, [
    clientId,
    address,
  ]);
  const { emails, emailCount } = await readEmails(database, clientId, address);
  const { isKnown, ...choices } = await readChoices(database, { clientId, address });
  const receivesNotices = noticeCount === 1;
  if (!isKnown && searches.length + emailCount === 0 && !receivesNotices) return null;
  return recipientDocument(address, { ...choices, receivesNotices, searches, emails, emailCount });
}

/** Items of an e-mail with the same state share its attempts, so they are one row. Served by mail_items_notified. */
async function readEmails(database: Queryable, clientId: Uuid, address: string) {
  const { rows } = await database.query<{ firstItem: Uuid; emailCount: number }>(
    `select state as status, count(*)::integer as items, min(created_at) as "createdAt",
       max(finished_at) as "finishedAt", (array_agg(id order by id))[1] as "firstItem",
       count(*) over ()::integer as "emailCount"
     from mail_items where endpoint_key = ${KEY} group by mail_id, state order by "createdAt" desc limit ${EMAILS_MAX}`,
    [clientId, address],
  );
  const firstItems = rows.map(({ firstItem }) => firstItem);
  const attemptsOf = await readAttempts(database, firstItems);
  const emails = rows.map(({ firstItem, emailCount: _count, ...email }) => ({
    ...email,
    attempts: attemptsOf(firstItem).map(({ startedAt, statusCode, error, reason }) => {
      return { startedAt, statusCode, error, reason };
    }),
  }));
  return { emails, emailCount: rows[0]?.emailCount ?? 0 };
}

/** All clients by name, or only `clientId`. Also has deleted clients whose searches are still being removed. */
export async function readClients(database: Queryable, clientId: Uuid | null) {
  // Served by the primary key; without an id it reads every client.
  const { rows } = await database.query<{ client: Uuid; name: string }>(
    'select id as client, name from clients where $1::uuid is null or id = $1 order by name',
    [clientId],
  );
  return rows;
}

/** The stored data of the clients that have any; null if none has. */
export async function documentOfClients(database: Queryable, address: string, clientId: Uuid | null) {
  const clients: object[] = [];
  for (const client of await readClients(database, clientId)) {
    const document = await readRecipient(database, { clientId: client.client, address });
    if (document !== null) clients.push({ ...client, ...document });
  }
  return clients.length === 0 ? null : { address, exportedAt: new Date(), clients };
}

/**
 * The addresses of recipients whose keys are known, by key. Served by searches_mail and mail_items_notified; also reads
 * every search, to find texts with an @.
 */
export async function readAddresses(
  database: Queryable,
  keys: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows: named } = await database.query<{ client: Uuid; text: string }>(
    `select client_id as client, members ->> 'notificationRecipient' as text from searches where mail_key = any($1)
     union select client_id, substr(endpoint, length('mailto:') + 1) from mail_items where endpoint_key = any($1)
     union select id, notice_address from clients where notice_address is not null
     union select client_id, found[1]
     from searches, concat_ws(E'\\n', ${[...TEXTS, REPLY_TO].join()}) as said(text),
       regexp_matches(said.text, $2, 'g') as found
     where said.text ~ '@|%40'`,
    [keys, RUN_PATTERN],
  );
  const addresses = named.flatMap(({ client, text }) => addressesIn(text).map((address) => ({ client, address })));
  const { rows } = await database.query<{ key: string; addresses: readonly string[] }>(
    `select key, array_agg(distinct address) as addresses
     from json_to_recordset($1) as named(client uuid, address text), mail_key_of(client, address) as key
     where key = any($2) group by key`,
    [JSON.stringify(addresses), keys],
  );
  return new Map(rows.map(({ key, addresses: found }) => [key, found]));
}
