/**
 * Writes an e-mail from the current documents. It shows at most twenty properties, or fewer if its HTML would be too
 * long. It states the number of the others, which are listed on the recipient's page and count as delivered.
 */

import MailComposer from 'nodemailer/lib/mail-composer';
import type { ResolvePlace } from '../../engine/domain/city.ts';
import { createdAtOf, type SearchNumber, type Uuid } from '../../engine/domain/ids.ts';
import type { MailLanguage } from '../../engine/domain/mail.ts';
import { type MarketPrices, NO_MARKETS } from '../../engine/domain/market-prices.ts';
import type { Database } from '../../engine/store/database.ts';
import { readMembers } from '../../engine/store/pairs.ts';
import { readGone, readStoredProperties } from '../../engine/store/properties.ts';
import { siteCategoryNames } from '../../engine/store/site-categories.ts';
import { type ClaimedItem, type ClaimedMail, uncountMail } from './mail-claims.ts';
import { type MailEntry, type MailSources, mailEntry, type Notified, news } from './mail-contents.ts';
import { inOrder, type NewsKind } from './mail-order.ts';
import { keepMail, type Leaves, readNotified } from './mail-outcomes.ts';
import { entryBytes, type MailText, mailText, roomFor } from './mail-text.ts';
import { comparesMarkets } from './present-fit.ts';
import { type CityNames, namedSearch } from './search-words.ts';

/** Runs work in the database, and repeats it after an outage. Rejects if the service drains first, or for a bug. */
export type Retrying = <T>(work: () => Promise<T>) => Promise<T>;

export interface LetterDependencies {
  readonly database: Database;
  readonly from: Mailbox;
  /** The prefix of links, without a trailing slash. */
  readonly publicUrl: string;
  readonly language: MailLanguage;
  readonly resolvePlace: ResolvePlace;
  readonly cityNames: CityNames;
  readonly markets: () => Promise<MarketPrices>;
  /** Deliveries from before this time are no longer kept; null if all are kept. */
  readonly keptSince: () => Date | null;
}

/**
 * Resolves with the bytes of an earlier attempt if they are still valid, so that a repeated e-mail has the same
 * content. Null if there is no news left.
 */
export async function writeLetter(
  mail: ClaimedMail,
  dependencies: LetterDependencies,
  retrying: Retrying,
): Promise<Readonly<{ bytes: Buffer; itemCount: number }> | null> {
  if (mail.letter !== null) return { bytes: mail.letter, itemCount: mail.items.length };
  const { database, from, publicUrl, language, cityNames } = dependencies;
  const unsubscribeUrl = `${publicUrl}/unsubscribe/${mail.token}`;
  const foot = { unsubscribeUrl, sender: from.name || from.address };
  const searches = await retrying(() =>
    readMembers(database, [...new Set(mail.items.map(({ searchNumber }) => searchNumber))]),
  );
  const names = new Map([...searches].map(([number, members]) => [number, namedSearch(members, cityNames, language)]));
  const room = roomFor([...names.values()], foot, language);
  const isComparing = [...searches.values()].some(comparesMarkets);
  const markets = isComparing ? await retrying(dependencies.markets) : NO_MARKETS;
  const hasAlternatives = [...searches.values()].some(({ alternatives }) => alternatives.length > 0);
  const siteCategoryName = hasAlternatives ? await retrying(() => siteCategoryNames(database)) : () => null;
  const filled = await fill(mail, room, { searches, names, markets, siteCategoryName }, dependencies, retrying);
  const { entries, shown, rest, contactSearches, notified, leaving } = filled;
  const items = [...shown, ...rest.flatMap(({ items: counted }) => counted)].sort((a, b) => (a.id < b.id ? -1 : 1));
  let bytes: Buffer | null = null;
  if (items.length > 0) {
    const numbers = [...new Set(items.map(({ searchNumber }) => searchNumber))];
    const replyTo = new Set(numbers.flatMap((number) => searches.get(number)?.notificationReplyTo ?? []));
    const byName = new Map(numbers.flatMap((number) => names.get(number) ?? []).map((each) => [each.name, each]));
    const frame = { searches: [...byName.values()], canReply: replyTo.size > 0 };
    const more = new Map<NewsKind, number>();
    for (const { kind } of rest) more.set(kind, (more.get(kind) ?? 0) + 1);
    const text = mailText({ ...frame, entries, more }, foot, language);
    bytes = await messageBytes({
      id: mail.id,
      from,
      to: mail.address,
      replyTo: [...replyTo].slice(0, REPLY_TO_MAX),
      text,
      unsubscribeUrl,
    });
  }
  const written = { mailId: mail.id, bytes, items: items.map(({ id }) => id), contactSearches, notified, leaving };
  if (bytes === null) {
    await retrying(() => uncountMail(database, mail, (client) => keepMail(client, written)));
    return null;
  }
  await retrying(() => keepMail(database, written));
  return { bytes, itemCount: items.length };
}

/** Maximum number of addresses for answers in an e-mail: each of its searches may have another one. */
const REPLY_TO_MAX = 5;
/** Maximum number of properties that an e-mail shows. */
const SHOWN_MAX = 20;

/** The entries for which there is space, with their items; `rest`: the other properties with news. */
async function fill(
  mail: ClaimedMail,
  roomBytes: number,
  named: Pick<MailSources, 'searches' | 'names' | 'markets' | 'siteCategoryName'>,
  dependencies: LetterDependencies,
  retrying: Retrying,
) {
  const { database, language, resolvePlace, keptSince } = dependencies;
  const isOld = ({ matchId }: ClaimedItem): boolean => createdAtOf(matchId) < (keptSince() ?? new Date(0));
  const entries: MailEntry[] = [];
  const shown: ClaimedItem[] = [];
  const notified = new Map<Uuid, Notified>();
  const leaving = new Map<Uuid, Leaves>();
  const contactSearches = new Set<SearchNumber>();
  const leave = (items: readonly ClaimedItem[], why: Leaves): void => {
    for (const { id } of items) leaving.set(id, why);
  };
  let rest = inOrder(mail.items);
  let room = roomBytes;
  while (rest.length > 0 && entries.length < SHOWN_MAX && room > 0) {
    const page = rest.slice(0, SHOWN_MAX);
    const states = await readStates(mail, page, dependencies, retrying);
    let taken = 0;
    for (const { uuid, items } of page) {
      const { stored, before = null } = states.get(uuid) ?? {};
      const isAnnounced = before !== null || items.some(isOld);
      const sources = { resolvePlace, notified: before, isAnnounced, ...named, language };
      const entry = stored === undefined ? null : mailEntry(items, { stored, ...sources });
      if (entry === null) leave(items, news(items).length === 0 ? 'settled' : 'obsolete');
      else {
        room -= entryBytes(entry, language);
        if (entries.length === SHOWN_MAX || (room < 0 && entries.length > 0)) break;
        entries.push(entry);
        shown.push(...items);
        notified.set((items.at(-1) as ClaimedItem).id, entry.notified);
        if (entry.property.contact !== null) for (const { searchNumber } of items) contactSearches.add(searchNumber);
      }
      taken += 1;
    }
    rest = rest.slice(taken);
  }
  const gone = new Set(
    await retrying(() =>
      readGone(
        database,
        rest.map(({ uuid }) => uuid),
      ),
    ),
  );
  const announced = await retrying(() => readNotified(database, mail, [...gone]));
  const counted = rest.flatMap((each) => {
    const { uuid, items } = each;
    const isUnannounced = gone.has(uuid) && !announced.has(uuid) && !items.some(isOld);
    const why = news(items).length === 0 ? 'settled' : isUnannounced ? 'obsolete' : null;
    if (why !== null) leave(items, why);
    return why !== null ? [] : [gone.has(uuid) ? { ...each, kind: 'gone' as const } : each];
  });
  return { entries, shown, rest: counted, contactSearches: [...contactSearches], notified, leaving };
}

/** The stored properties of a page, each with its adverts as the recipient was last notified of them. */
async function readStates(
  mail: ClaimedMail,
  page: readonly { readonly uuid: Uuid }[],
  { database }: LetterDependencies,
  retrying: Retrying,
) {
  const uuids = page.map(({ uuid }) => uuid);
  const [found, notified] = await retrying(() =>
    Promise.all([readStoredProperties(database, uuids), readNotified(database, mail, uuids)]),
  );
  return new Map(
    found.map((stored) => [stored.state.uuid, { stored, before: notified.get(stored.state.uuid) ?? null }]),
  );
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
  /** Addresses for answers; without them, answers go to the sender. */
  readonly replyTo?: readonly string[];
  readonly text: Pick<MailText, 'subject' | 'text'> & Partial<MailText>;
  /** Null if the addressee is not the recipient of a search. */
  readonly unsubscribeUrl: string | null;
}

/**
 * Resolves with the bytes of an e-mail (RFC 5322). Its Message-ID and date depend only on `id` and the sender. With
 * `unsubscribeUrl`, mail programs offer to unsubscribe.
 */
export function messageBytes({ id, from, to, replyTo = [], text, unsubscribeUrl }: MailMessage): Promise<Buffer> {
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1);
  return new MailComposer({
    // The library modifies the object.
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

/** RFC 8058, section 3.1: one click requires https. Without the header, mail programs open the page. */
function unsubscribeHeaders(url: string): Readonly<Record<string, string>> {
  const oneClick = url.startsWith('https:') ? { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' } : {};
  return { 'List-Unsubscribe': `<${url}>`, ...oneClick };
}
