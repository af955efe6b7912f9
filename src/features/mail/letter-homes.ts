/** The properties (homes) of an e-mail for the recipient's page, as they are now: the sent e-mail is not stored. */

import type { ResolvePlace } from '../../engine/domain/city.ts';
import { createdAtOf } from '../../engine/domain/ids.ts';
import type { MailLanguage } from '../../engine/domain/mail.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { readMembers } from '../../engine/store/pairs.ts';
import { readStoredProperties } from '../../engine/store/properties.ts';
import { isMarked } from '../../engine/store/search-marks.ts';
import { homeEntry, type MailEntry, type MailItem } from './mail-contents.ts';
import { contactHtml } from './mail-html.ts';
import { inOrder } from './mail-order.ts';
import type { LinkedRecipient } from './mail-recipients.ts';
import { linesOf, priceText } from './mail-text.ts';
import { MAIL_WORDS } from './mail-words.ts';

const HOMES_PER_PAGE = 50;
/** Properties read at once: each may be large. */
const READ_AT_ONCE = 10;
const SHOWN_MS = 30 * 86_400_000;

interface LetterHome {
  readonly title: string;
  readonly lines: readonly string[];
  readonly link: string | null;
  /** HTML; empty if the property has a link or no contact, or if a search hides contacts. */
  readonly contact: string;
  readonly isExpired: boolean;
}

export interface LetterHomes {
  /** The homes of this page, in the order of the e-mail. */
  readonly homes: readonly LetterHome[];
  /** The number of homes in the e-mail that the client has not hidden; 0 after 30 days, or if its items are removed. */
  readonly count: number;
  /** From 1. */
  readonly page: number;
  readonly pageCount: number;
}

/** Reads the page nearest to `requested`. Served by mail_items_mail and the primary keys of the other tables. */
export async function readLetterHomes(
  database: Queryable,
  { key, mailId }: LinkedRecipient,
  requested: number,
  { language, now, resolvePlace }: { language: MailLanguage; now: Date; resolvePlace: ResolvePlace },
): Promise<LetterHomes> {
  const isShown = now.getTime() - createdAtOf(mailId).getTime() < SHOWN_MS;
  const { rows } = await database.query<Omit<MailItem, 'reason'> & { reason: string }>(
    `select id, search_number as "searchNumber", property_uuid as "propertyUuid", reason from mail_items
     where mail_id = $1 and endpoint_key = $2 and $3 and not ${isMarked('mail_items', 'hidden')}`,
    [mailId, key, isShown],
  );
  const properties = inOrder(rows.map((row) => ({ ...row, reason: JSON.parse(row.reason) as MailItem['reason'] })));
  const pageCount = Math.max(1, Math.ceil(properties.length / HOMES_PER_PAGE));
  const page = Math.min(Math.max(Math.trunc(requested) || 1, 1), pageCount);
  const shown = properties.slice((page - 1) * HOMES_PER_PAGE, page * HOMES_PER_PAGE);
  const itemsOf = new Map(shown.map(({ uuid, items }) => [uuid, items]));
  const numbers = shown.flatMap(({ items }) => items.map(({ searchNumber }) => searchNumber));
  const searches = await readMembers(database, [...new Set(numbers)]);
  const homes: LetterHome[] = [];
  for (let start = 0; start < shown.length; start += READ_AT_ONCE) {
    const uuids = shown.slice(start, start + READ_AT_ONCE).map(({ uuid }) => uuid);
    for (const stored of await readStoredProperties(database, uuids)) {
      const entry = homeEntry(itemsOf.get(stored.state.uuid) ?? [], { stored, resolvePlace, searches });
      homes.push(homeOf(entry, language));
    }
  }
  return { homes, count: properties.length, page, pageCount };
}

function homeOf(entry: MailEntry, language: MailLanguage): LetterHome {
  const words = MAIL_WORDS[language];
  const { title, kind, price, others, facts, link, contact } = linesOf(entry, words);
  const lines = [kind, price === null ? '' : priceText(price), others, facts.join(' · ')].filter((line) => line !== '');
  const { expired } = entry.property;
  return { title, lines, link, contact: contact === null ? '' : contactHtml(contact, words), isExpired: expired };
}
