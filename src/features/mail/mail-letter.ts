/**
 * Writes an e-mail from the present documents, the property that changed last first, until its HTML is full: the others
 * leave it before it is sent, and go into the next one. What a daily or weekly one has postponed twice is only counted.
 */

import MailComposer from 'nodemailer/lib/mail-composer';
import type { ResolvePlace } from '../../engine/domain/city.ts';
import { createdAtOf, type SearchNumber, type Uuid } from '../../engine/domain/ids.ts';
import type { MailLanguage } from '../../engine/domain/mail.ts';
import type { SearchMembers } from '../../engine/domain/search.ts';
import type { Database } from '../../engine/store/database.ts';
import { readMembers } from '../../engine/store/pairs.ts';
import { readHeldProperties } from '../../engine/store/properties.ts';
import { type ClaimedItem, type ClaimedMail, uncountMail } from './mail-claims.ts';
import { itemsByProperty, type MailEntry, mailEntry, type Notified, news } from './mail-contents.ts';
import { keepMail, type Leaves, readNotified } from './mail-outcomes.ts';
import { entryBytes, type MailFoot, type MailText, mailText, roomFor } from './mail-text.ts';

/** Database work that is retried until it succeeds. */
export type Retrying = <T>(work: () => Promise<T>) => Promise<T>;

export interface LetterDependencies {
  readonly database: Database;
  readonly from: Mailbox;
  /** The prefix of links, without a slash at its end. */
  readonly publicUrl: string;
  readonly language: MailLanguage;
  readonly resolvePlace: ResolvePlace;
  /** Until what found no room is due. */
  readonly gatherMs: number;
  /** Deliveries before it are no longer kept; null: all are. */
  readonly keptSince: () => Date | null;
}

export interface WrittenLetter {
  readonly bytes: Buffer;
  readonly itemCount: number;
}

/**
 * The bytes of an earlier attempt, if there was one with these items: a recipient must not receive an e-mail twice with
 * different content. Null when nothing remains to be said.
 */
export async function writeLetter(
  mail: ClaimedMail,
  dependencies: LetterDependencies,
  retrying: Retrying,
): Promise<WrittenLetter | null> {
  if (mail.letter !== null) return { bytes: mail.letter, itemCount: mail.items.length };
  const { database, from, publicUrl, language, gatherMs } = dependencies;
  const unsubscribeUrl = `${publicUrl}/unsubscribe/${mail.token}`;
  const foot = { unsubscribeUrl, sender: from.name || from.address };
  const searches = await retrying(() =>
    readMembers(database, [...new Set(mail.items.map(({ searchNumber }) => searchNumber))]),
  );
  const { entries, shown, notified, leaving, rest } = await fill(mail, foot, searches, dependencies, retrying);
  const counted = rest.filter((items) => items.every((item) => isLastTime(item, searches)));
  const items = [...shown, ...counted.flat()].sort((a, b) => (a.id < b.id ? -1 : 1));
  let bytes: Buffer | null = null;
  if (items.length > 0) {
    const named = items.flatMap(({ searchNumber }) => searches.get(searchNumber) ?? []);
    const searchTitles = new Set(named.map(({ title }) => title));
    const replyTo = [...new Set(named.flatMap(({ notificationReplyTo }) => notificationReplyTo ?? []))];
    const text = mailText({ entries, moreCount: counted.length, searchTitles }, foot, language);
    bytes = await messageBytes({
      id: mail.id,
      from,
      to: mail.address,
      replyTo: replyTo.slice(0, REPLY_TO_MAX),
      text,
      unsubscribeUrl,
    });
  }
  for (const { id } of rest.filter((each) => !counted.includes(each)).flat()) leaving.set(id, 'postponed');
  const written = { mailId: mail.id, bytes, items: items.map(({ id }) => id), notified, leaving };
  if (bytes === null) {
    await retrying(() => uncountMail(database, mail, (client) => keepMail(client, written, gatherMs)));
    return null;
  }
  await retrying(() => keepMail(database, written, gatherMs));
  return { bytes, itemCount: items.length };
}

/** Of the searches of one e-mail, each with an address of its own. */
const REPLY_TO_MAX = 5;
/** E-mails of a morning that postpone a property; the next one only counts it. */
const POSTPONED_MAX = 2;

function isLastTime(
  { searchNumber, postponedCount }: ClaimedItem,
  searches: ReadonlyMap<SearchNumber, SearchMembers>,
): boolean {
  return postponedCount >= POSTPONED_MAX && searches.get(searchNumber)?.notificationFrequency !== 'instant';
}

/** Properties read at once: each may be large. */
const PAGE = 50;

/** The entries that find room, with their items; `rest`: the items of each property that found none. */
async function fill(
  mail: ClaimedMail,
  foot: MailFoot,
  searches: ReadonlyMap<SearchNumber, SearchMembers>,
  { database, language, resolvePlace, keptSince }: LetterDependencies,
  retrying: Retrying,
) {
  const properties = [...itemsByProperty(mail.items)];
  const entries: MailEntry[] = [];
  const shown: ClaimedItem[] = [];
  const notified = new Map<Uuid, Notified>();
  const leaving = new Map<Uuid, Leaves>();
  let rest: readonly (readonly ClaimedItem[])[] = [];
  let room = roomFor(foot, language);
  const isOld = ({ matchId }: ClaimedItem): boolean => createdAtOf(matchId) < (keptSince() ?? new Date(0));
  for (let start = 0; start < properties.length; start += PAGE) {
    const page = properties.slice(start, start + PAGE);
    const uuids = page.map(([uuid]) => uuid);
    const [found, notifiedBefore] = await retrying(() =>
      Promise.all([readHeldProperties(database, uuids), readNotified(database, mail, uuids)]),
    );
    const states = new Map(found.map((held) => [held.state.uuid, held]));
    for (const [index, [uuid, items]] of page.entries()) {
      const held = states.get(uuid);
      const before = notifiedBefore.get(uuid) ?? null;
      const isAnnounced = before !== null || items.some(isOld);
      const sources = { resolvePlace, notified: before, isAnnounced, searches, language };
      const entry = held === undefined ? null : mailEntry(items, { held, ...sources });
      if (entry === null) {
        const leaves = news(items).length === 0 ? 'settled' : 'obsolete';
        for (const { id } of items) leaving.set(id, leaves);
        continue;
      }
      room -= entryBytes(entry, language);
      if (room < 0 && entries.length > 0) {
        rest = properties.slice(start + index).map(([, each]) => each);
        return { entries, shown, notified, leaving, rest };
      }
      entries.push(entry);
      shown.push(...items);
      notified.set((items.at(-1) as ClaimedItem).id, entry.notified);
    }
  }
  return { entries, shown, notified, leaving, rest };
}

export interface Mailbox {
  /** Empty when there is none. */
  readonly name: string;
  readonly address: string;
}

export interface MailMessage {
  readonly id: Uuid;
  readonly from: Mailbox;
  /** The recipient's address. */
  readonly to: string;
  /** Where answers go; none: to the sender. */
  readonly replyTo?: readonly string[];
  readonly text: Pick<MailText, 'subject' | 'text'> & Partial<MailText>;
  /** Null: it is no recipient of a search. */
  readonly unsubscribeUrl: string | null;
}

/**
 * An e-mail as it is sent (RFC 5322): the same Message-ID and date on every attempt, one-click unsubscription.
 * Resolves with its bytes.
 */
export function messageBytes({ id, from, to, replyTo = [], text, unsubscribeUrl }: MailMessage): Promise<Buffer> {
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1);
  return new MailComposer({
    // The library writes into it.
    from: { ...from },
    to: { name: '', address: to },
    replyTo: replyTo.map((address) => ({ name: '', address })),
    subject: text.subject,
    text: text.text,
    ...(text.html === undefined ? {} : { html: text.html }),
    messageId: `<${id}@${domain}>`,
    date: createdAtOf(id),
    headers: {
      ...(unsubscribeUrl === null ? {} : unsubscribeHeaders(unsubscribeUrl)),
      'Auto-Submitted': 'auto-generated',
    },
    newline: 'win',
    disableFileAccess: true,
    disableUrlAccess: true,
  })
    .compile()
    .build();
}

/** RFC 8058, section 3.1: one click needs https. Without it mail programs show the page. */
function unsubscribeHeaders(url: string): Readonly<Record<string, string>> {
  const oneClick = url.startsWith('https:') ? { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' } : {};
  return { 'List-Unsubscribe': `<${url}>`, ...oneClick };
}
