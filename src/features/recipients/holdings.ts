/**
 * Where the address of a recipient of e-mails is: alone in `notificationRecipient` of a search and `endpoint` of an item,
 * which have its key beside it, in `notificationReplyTo`, and within the texts of searches. What a client holds is read
 * and erased by these places.
 */

import { z } from 'zod';
import type { Uuid } from '../../engine/domain/ids.ts';
import { readAttempts } from '../../engine/store/attempts.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { identityOf } from '../../rest/hydra.ts';

export interface Recipient {
  readonly clientId: Uuid;
  readonly address: string;
}

export const EMAILS_MAX = 10_000;
const ADDRESS_LENGTH_MAX = 320;

/** As a search takes it. */
export function isAddress(text: string): boolean {
  return text.length <= ADDRESS_LENGTH_MAX && z.email().safeParse(text).success;
}

/** Characters of an address that a text may have before it, when it is another address. */
const OTHER_BEFORE = "(?:(?<![A-Za-z0-9._+'-])|(?<=%[0-9A-Fa-f]{2}))";
const OTHER_AFTER = '(?![A-Za-z0-9-]|[.][A-Za-z0-9])';

/** For PostgreSQL: finds the address in a text, as it is and percent-encoded, ignoring case. Not within a longer one. */
export function addressPattern(address: string): string {
  const characters = Array.from(address, (character) => {
    if (/\w/.test(character)) return character;
    const encoded = encodeURIComponent(character);
    const hex = `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
    return `(?:[${character}]|${encoded.length > 1 ? encoded : hex})`;
  });
  return `${OTHER_BEFORE}${characters.join('')}${OTHER_AFTER}`;
}

export const CONSENT_SOURCE = "members -> 'notificationConsent' ->> 'source'";
export const REPLY_TO = "members ->> 'notificationReplyTo'";
const TEXTS = ['title', 'context', CONSENT_SOURCE, REPLY_TO];

/** The key of a recipient. Parameters: the client, the address. */
export const KEY = '(select mail_key_of($1, $2))';
export const IS_RECIPIENT = `mail_key is not distinct from ${KEY}`;
/**
 * The numbers of searches, deleted ones as well, that write to a recipient or mention it. Parameters: the client, the
 * address, its pattern. Reads each search of the client, by searches_client and searches_deleted.
 */
export const NAMING_SEARCHES = ['is null', 'is not null']
  .map(
    (isDeleted) => `select number from searches where deleted_at ${isDeleted} and client_id = $1
      and (mail_key = ${KEY} or ${TEXTS.map((text) => `${text} ~* $3`).join(' or ')})`,
  )
  .join(' union all ');

export function recipientDocument(address: string, holding: object) {
  return { ...identityOf('Recipient', `/recipients/${encodeURIComponent(address)}`), address, ...holding };
}

/** The document of `/recipients/{address}`; null when nothing was ever held. Oppositions are served by the primary key. */
export async function readRecipient(database: Queryable, { clientId, address }: Recipient) {
  const { rows: oppositions } = await database.query(
    `select unsubscribed_at as "unsubscribedAt", erased_at as "erasedAt", lifted_at as "liftedAt"
     from mail_recipients where key = ${KEY}`,
    [clientId, address],
  );
  const { rows: searches } = await database.query(
    `select '/searches/' || id as search, title, not (${IS_RECIPIENT}) as "mentionsOnly",
       members -> 'notificationConsent' as "notificationConsent", mail_refused_at as "refusedAt",
       deleted_at as "deletedAt"
     from searches where number = any(array(${NAMING_SEARCHES})) order by number`,
    [clientId, address, addressPattern(address)],
  );
  const { emails, emailCount } = await readEmails(database, clientId, address);
  if (oppositions.length + searches.length + emailCount === 0) return null;
  const [opposition = { unsubscribedAt: null, erasedAt: null, liftedAt: null }] = oppositions;
  return recipientDocument(address, { ...opposition, searches, emails, emailCount });
}

/** The items of an e-mail in one state, which share its attempts, or those that are in none. Served by mail_items_notified. */
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

/** For operators, by name; deleted ones, whose searches are still being removed, as well. `clientId`: this one alone. */
export async function readClients(database: Queryable, clientId: Uuid | null) {
  // Served by the primary key; without an id it reads every client.
  const { rows } = await database.query<{ client: Uuid; name: string }>(
    'select id as client, name from clients where $1::uuid is null or id = $1 order by name',
    [clientId],
  );
  return rows;
}

/** What clients hold, those that do; null when none ever did. */
export async function documentOfClients(database: Queryable, address: string, clientId: Uuid | null) {
  const clients: object[] = [];
  for (const client of await readClients(database, clientId)) {
    const document = await readRecipient(database, { clientId: client.client, address });
    if (document !== null) clients.push({ ...client, ...document });
  }
  return clients.length === 0 ? null : { address, exportedAt: new Date(), clients };
}

/** An address in a text, as it is or percent-encoded, with what may belong to it. For PostgreSQL. */
const ADDRESS_IN_TEXT = String.raw`[^\s"<>()\[\]{},;:=?&/\\]+(?:@|%40)[A-Za-z0-9.-]+`;

/**
 * The addresses of recipients whose keys alone are known, by key. Served by searches_mail and mail_items_notified; reads
 * each search with an @.
 */
export async function readAddresses(
  database: Queryable,
  keys: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows: named } = await database.query<{ client: Uuid; text: string }>(
    `select client_id as client, members ->> 'notificationRecipient' as text from searches where mail_key = any($1)
     union select client_id, substr(endpoint, length('mailto:') + 1) from mail_items where endpoint_key = any($1)
     union select client_id, found[1]
     from searches, concat_ws(E'\\n', ${TEXTS.join()}) as said(text), regexp_matches(said.text, $2, 'gi') as found
     where said.text ~* '@|%40'`,
    [keys, ADDRESS_IN_TEXT],
  );
  const addresses = named.map(({ client, text }) => ({ client, address: addressIn(text) }));
  const { rows } = await database.query<{ key: string; addresses: readonly string[] }>(
    `select key, array_agg(distinct address) as addresses
     from json_to_recordset($1) as named(client uuid, address text), mail_key_of(client, address) as key
     where key = any($2) group by key`,
    [JSON.stringify(addresses), keys],
  );
  return new Map(rows.map(({ key, addresses: found }) => [key, found]));
}

function addressIn(text: string): string {
  const address = text.replace(/(?:%[0-9a-f]{2})+/gi, (encoded) =>
    Buffer.from(encoded.replaceAll('%', ''), 'hex').toString(),
  );
  return address.replace(/^\W+|\.$/g, '').toLowerCase();
}
