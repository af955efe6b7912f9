/** What a client holds about a recipient of e-mails: searches, oppositions, and e-mails with their outcomes. */

import { z } from 'zod';
import type { Uuid } from '../../engine/domain/ids.ts';
import type { MailConsent } from '../../engine/domain/mail.ts';
import { type AttemptRead, readAttempts } from '../../engine/store/attempts.ts';
import type { Queryable } from '../../engine/store/database.ts';

export interface Recipient {
  readonly clientId: Uuid;
  readonly address: string;
}

export interface RecipientSearch {
  readonly id: Uuid;
  readonly title: string;
  /** False: it only mentions the address, in its title, context or consent. */
  readonly isRecipient: boolean;
  readonly consent: MailConsent | null;
  /** Since when the recipient's server refuses the address. */
  readonly refusedAt: Date | null;
  /** Its row stays until its deliveries are gone. */
  readonly deletedAt: Date | null;
}

/** The items of an e-mail in one state, or those that are in none yet. */
export interface RecipientEmail {
  readonly id: Uuid | null;
  readonly state: string;
  readonly itemCount: number;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  readonly attempts: readonly AttemptRead[];
}

export interface Holding {
  readonly unsubscribedAt: Date | null;
  /** Not written to since. */
  readonly erasedAt: Date | null;
  /** When consent lifted the last erasure. */
  readonly liftedAt: Date | null;
  readonly searches: readonly RecipientSearch[];
  /** The newest `EMAILS_MAX`. */
  readonly emails: readonly RecipientEmail[];
  readonly emailCount: number;
}

/** Of one recipient: erased, or that was lifted since. */
export interface Opposition {
  /** The salted hash of client and address. */
  readonly key: string;
  readonly clientId: Uuid;
  readonly erasedAt: Date | null;
  readonly liftedAt: Date | null;
  readonly unsubscribedAt: Date | null;
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

/**
 * Finds the address in a text, as it is and percent-encoded: for JavaScript and PostgreSQL alike, ignoring case. Not
 * within a longer address.
 */
export function addressPattern(address: string): string {
  const characters = Array.from(address, (character) => {
    const plain = /\w/.test(character) ? character : `[${character}]`;
    const encoded = encodeURIComponent(character);
    const hex = `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
    return /\w/.test(character) ? plain : `(?:${plain}|${encoded.length > 1 ? encoded : hex})`;
  });
  return `${OTHER_BEFORE}${characters.join('')}${OTHER_AFTER}`;
}

/** A search is written to the recipient, or mentions it. Parameters: the client, the address, its pattern. */
export const NAMES_RECIPIENT = `client_id = $1 and (mail_key = mail_key_of($1, $2) or title ~* $3 or context ~* $3
  or members -> 'notificationConsent' ->> 'source' ~* $3)`;

/** An address in a text, as it is or percent-encoded, with what may belong to it. */
const ADDRESS_IN_TEXT = /[^\s"<>()[\]{},;:=?&/\\]+(?:@|%40)[A-Za-z0-9.-]+/gi;
const TEXTS_PER_PAGE = 1_000;

/**
 * Addresses that searches mention, of recipients with these keys, by key: what was erased is known by its key alone. Reads
 * each search with an @.
 */
export async function readMentions(
  database: Queryable,
  keys: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, string[]>();
  for (let after = 0, isMore = true; isMore; ) {
    const { rows } = await database.query<{ number: number; clientId: Uuid; text: string }>(
      `select number, client_id as "clientId", said.text from searches,
         concat_ws(E'\\n', title, context, members -> 'notificationConsent' ->> 'source') as said(text)
       where number > $1 and said.text ~* '@|%40' order by number limit ${TEXTS_PER_PAGE}`,
      [after],
    );
    const named = rows.flatMap(({ clientId, text }) =>
      addressesIn(text).map((address) => ({ client: clientId, address })),
    );
    const { rows: known } = await database.query<{ key: string; address: string }>(
      `select distinct key, address from json_to_recordset($1) as named(client uuid, address text), mail_key_of(client, address) as key
       where key = any($2)`,
      [JSON.stringify(named), keys],
    );
    for (const { key, address } of known) found.set(key, [...(found.get(key) ?? []), address]);
    after = rows.at(-1)?.number ?? after;
    isMore = rows.length === TEXTS_PER_PAGE;
  }
  return found;
}

function addressesIn(text: string): readonly string[] {
  return (text.match(ADDRESS_IN_TEXT) ?? []).map((token) =>
    decoded(token)
      .replace(/^\W+|\.$/g, '')
      .toLowerCase(),
  );
}

function decoded(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}

/** Null when nothing was ever held. Reads each search of the client, by searches_client; the rest by the indexes on keys. */
export async function readHolding(database: Queryable, { clientId, address }: Recipient): Promise<Holding | null> {
  const { rows: oppositions } = await database.query<Pick<Holding, 'unsubscribedAt' | 'erasedAt' | 'liftedAt'>>(
    `select unsubscribed_at as "unsubscribedAt", erased_at as "erasedAt", lifted_at as "liftedAt"
     from mail_recipients where key = mail_key_of($1, $2)`,
    [clientId, address],
  );
  const { rows: searches } = await database.query<RecipientSearch>(
    ['is null', 'is not null']
      .map(
        (isDeleted) => `
          select id, title, coalesce(mail_key = mail_key_of($1, $2), false) as "isRecipient",
            members -> 'notificationConsent' as consent, mail_refused_at as "refusedAt", deleted_at as "deletedAt"
          from searches where deleted_at ${isDeleted} and ${NAMES_RECIPIENT}`,
      )
      .join(' union all '),
    [clientId, address, addressPattern(address)],
  );
  const { emails, emailCount } = await readEmails(database, clientId, address);
  if (oppositions.length + searches.length + emailCount === 0) return null;
  const [opposition = { unsubscribedAt: null, erasedAt: null, liftedAt: null }] = oppositions;
  return { ...opposition, searches, emails, emailCount };
}

interface EmailRow extends Omit<RecipientEmail, 'attempts'> {
  readonly firstItem: Uuid;
  readonly emailCount: number;
}

/** Items of an e-mail share its attempts. Served by mail_items_notified. */
async function readEmails(
  database: Queryable,
  clientId: Uuid,
  address: string,
): Promise<Pick<Holding, 'emails' | 'emailCount'>> {
  const { rows } = await database.query<EmailRow>(
    `select mail_id as id, state, count(*)::integer as "itemCount", min(created_at) as "createdAt",
       max(finished_at) as "finishedAt", (array_agg(id order by id))[1] as "firstItem",
       count(*) over ()::integer as "emailCount"
     from mail_items where endpoint_key = mail_key_of($1, $2)
     group by mail_id, state order by "createdAt" desc limit $3`,
    [clientId, address, EMAILS_MAX],
  );
  const attemptsOf = await readAttempts(
    database,
    rows.map(({ firstItem }) => firstItem),
  );
  const emails = rows.map(({ firstItem, emailCount: _count, ...email }) => ({
    ...email,
    attempts: attemptsOf(firstItem),
  }));
  return { emails, emailCount: rows[0]?.emailCount ?? 0 };
}
