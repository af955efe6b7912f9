/**
 * An e-mail in words: subject, plain text and HTML with the same content (decisions, section 12). All text of adverts
 * and clients is cleaned first and escaped where it is inserted; writing an e-mail makes no requests.
 */

import { type EventKind, RENT } from '../../engine/domain/codes.ts';
import type { MailLanguage } from '../../engine/domain/mail.ts';
import { escapeHtml } from '../../rest/content.ts';
import type { MailAdvert, MailCause, MailEntry, MailFact, MailProperty } from './mail-contents.ts';
import { cut } from './mail-items.ts';
import { cleanText, MAIL_WORDS, type MailWords } from './mail-words.ts';

export interface MailText {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

const SUBJECT_LENGTH_MAX = 150;
/** Mail programs cut off an e-mail of more than 102 KiB of HTML, and with it the link to unsubscribe. UTF-8. */
export const HTML_BYTES_MAX = 90 * 1_024;
/** What an entry says beside its reasons takes less than half of an e-mail. */
const REASONS_BYTES_MAX = 40 * 1_024;
const REASON_LENGTH_MAX = 1_000;
const OTHERS_MAX = 3;

export interface MailContents {
  /** Expired ones are named at the end. */
  readonly entries: readonly MailEntry[];
  /** Properties that are not shown and will not be. */
  readonly moreCount: number;
  /** All searches that led to one of the properties. */
  readonly searchTitles: ReadonlySet<string>;
}

export interface MailFoot {
  readonly unsubscribeUrl: string;
  /** Name or address. */
  readonly sender: string;
}

export function mailText(contents: MailContents, foot: MailFoot, language: MailLanguage): MailText {
  const words = MAIL_WORDS[language];
  const { live, expired, ended } = byExpiry(contents);
  const titles = expired.map(({ property }) => titleOf(property, words));
  const subject = cut(subjectOf(contents, words), SUBJECT_LENGTH_MAX);
  const parts = {
    entries: live.map((entry) => linesOf(entry, words)),
    notes: [
      ...(ended.length === 0
        ? []
        : [`${words.noMatch}${words.colon}${ended.map((entry) => endedText(entry, words)).join(words.semicolon)}`]),
      ...(titles.length === 0 ? [] : [words.expired(titles.join(words.semicolon))]),
      ...(contents.moreCount === 0 ? [] : [words.more(contents.moreCount)]),
    ],
    why: [words.why, words.from(cleanText(foot.sender))].join(' '),
    link: { text: words.unsubscribe, url: foot.unsubscribeUrl },
    words,
  };
  return { subject, text: plainText(parts), html: htmlText(subject, parts, language) };
}

function byExpiry({ entries }: Pick<MailContents, 'entries'>) {
  return {
    live: entries.filter((entry) => !entry.property.expired && !isEnded(entry)),
    expired: entries.filter(({ property }) => property.expired),
    ended: entries.filter(isEnded),
  };
}

/** Nothing is said of it but that it satisfies no search any more. */
function isEnded({ property, causes }: MailEntry): boolean {
  return !property.expired && causes.every(({ facts }) => facts.every(({ why }) => why !== null));
}

function endedText({ property, causes }: MailEntry, words: MailWords): string {
  const reasons = new Set(causes.flatMap(({ facts }) => facts.map(({ why }) => cleanText(why ?? ''))));
  return cut(`${titleOf(property, words)} (${[...reasons].join(' ')})`, REASON_LENGTH_MAX);
}

/** Bytes of HTML that the entries of an e-mail may take, at least `entryBytes` of any one. */
export function roomFor(foot: MailFoot, language: MailLanguage): number {
  const empty = { entries: [], moreCount: Number.MAX_SAFE_INTEGER, searchTitles: new Set<string>() };
  const { expired, noMatch, colon } = MAIL_WORDS[language];
  const longest = SUBJECT_LENGTH_MAX * LONGEST_CHARACTER + `${expired('')}${noMatch}${colon}<p></p>`.length;
  return HTML_BYTES_MAX - Buffer.byteLength(mailText(empty, foot, language).html) - longest;
}

/** In bytes of UTF-8, as `escapeHtml` writes it: `&quot;`. */
const LONGEST_CHARACTER = 6;

/** Bytes of HTML that an entry takes. */
export function entryBytes(entry: MailEntry, language: MailLanguage): number {
  const words = MAIL_WORDS[language];
  const inLine = entry.property.expired
    ? titleOf(entry.property, words)
    : isEnded(entry)
      ? endedText(entry, words)
      : null;
  const html = inLine === null ? `${htmlEntry(linesOf(entry, words), words)}\n` : escapeHtml(inLine + words.semicolon);
  return Buffer.byteLength(html);
}

interface EntryLines {
  readonly title: string;
  /** What the property is and where. */
  readonly kind: string;
  readonly price: PriceLine | null;
  /** The prices of its other adverts. */
  readonly others: string;
  readonly facts: readonly string[];
  readonly reasons: readonly string[];
  readonly link: string | null;
  readonly picture: string | null;
}

/** `250 000 € → 239 000 € (−4,4 %), 3 855 €/m²`, in its parts. */
interface PriceLine {
  readonly before: string | null;
  readonly now: string;
  /** Null where the former value is unknown, there was none, or the change rounds to nothing. */
  readonly change: { readonly percent: string; readonly isCut: boolean } | null;
  readonly perMeter: string;
}

interface MailParts {
  readonly entries: readonly EntryLines[];
  /** Behind the entries. */
  readonly notes: readonly string[];
  readonly why: string;
  readonly link: { readonly text: string; readonly url: string };
  readonly words: MailWords;
}

function subjectOf(contents: MailContents, words: MailWords): string {
  const { entries, moreCount, searchTitles } = contents;
  const { expired } = byExpiry(contents);
  const count = entries.length + moreCount;
  const titles = new Set([...searchTitles].map(cleanText));
  const [search = ''] = titles;
  const [entry] = entries;
  if (entry !== undefined && count === expired.length) {
    return count === 1 ? words.expired(titleOf(entry.property, words)) : words.subjectOfExpired(count);
  }
  if (count === 1 && entry !== undefined && isEnded(entry)) {
    return `${words.noMatch}${words.colon}${titleOf(entry.property, words)}`;
  }
  if (count === 1 && entry !== undefined) {
    const [title, price] = [titleOf(entry.property, words), priceOf(entry.property, words)];
    const what = price === null ? title : `${title}, ${priceText({ ...price, perMeter: '' })}`;
    return titles.size === 1 ? words.subjectOfOne(what, search) : what;
  }
  return titles.size === 1 ? words.subjectOfSearch(count, search) : words.subjectOfMany(count);
}

function linesOf({ property, others, causes }: MailEntry, words: MailWords): EntryLines {
  return {
    title: titleOf(property, words),
    kind: [kindOf(property, words), placeOf(property)].filter((part) => part !== '').join(', '),
    price: priceOf(property, words),
    others: othersOf(others, words),
    facts: factsOf(property, words),
    reasons: reasonsOf(causes, words),
    link: property.link,
    picture: property.picture,
  };
}

function titleOf(property: MailProperty, words: MailWords): string {
  const { title, propertyType, room, surface, city } = property;
  const stated = cleanText(title ?? '');
  if (stated !== '') return stated;
  const what = [words.propertyTypes[propertyType ?? -1] ?? words.property, room === null ? '' : words.rooms(room)];
  const facts = [
    what.join(' ').trim(),
    surface === null ? '' : squareMetres(surface, words),
    cleanText(city?.name ?? ''),
  ];
  const known = facts.filter((fact) => fact !== '');
  return known.length === 1 && known[0] === words.property ? words.untitled : known.join(', ');
}

/** One advert with each price. */
function othersOf(others: readonly MailAdvert[], words: MailWords): string {
  const offers = new Map(
    others.map(({ price, publisher }) => [price, `${eurosOf(Number(price), words)}${whereOf(publisher, words)}`]),
  );
  return offers.size === 0 ? '' : words.also([...offers.values()].slice(0, OTHERS_MAX));
}

function whereOf(publisher: string | null, words: MailWords): string {
  const name = cleanText(publisher ?? '');
  return name === '' ? '' : words.at(name);
}

/** One sentence for what several searches are notified of alike, in as many lines as find room. */
function reasonsOf(causes: readonly MailCause[], words: MailWords): readonly string[] {
  const titles = new Map<string, Set<string>>();
  for (const { searchTitle, facts, misses } of causes) {
    const said = facts.map((fact) => factText(fact, misses.length > 0, words));
    const left = misses.length === 0 ? [] : [`${words.noMatch}${words.colon}${misses.join(' ')}`];
    const text = [...new Set([...said, ...left])].join(words.semicolon);
    titles.set(text, (titles.get(text) ?? new Set()).add(cleanText(searchTitle)));
  }
  let room = REASONS_BYTES_MAX;
  return [...titles].flatMap(([text, found]) => {
    const line = cut(`${words.searches([...found])}${words.colon}${text}`, REASON_LENGTH_MAX);
    room -= Buffer.byteLength(htmlReason(line));
    return room < 0 ? [] : [line];
  });
}

function kindOf({ propertyType, transactionType }: MailProperty, words: MailWords): string {
  const type = words.propertyTypes[propertyType ?? -1] ?? words.property;
  return transactionType === null ? type : `${type} ${transactionType === RENT ? words.toRent : words.toSell}`;
}

function placeOf({ city }: MailProperty): string {
  return cleanText(`${city?.name ?? ''} ${city?.zipcode ? `(${city.zipcode})` : ''}`);
}

function priceOf(property: MailProperty, words: MailWords): PriceLine | null {
  const { price, priceBefore, pricePerMeter, transactionType, hasCharges } = property;
  if (price === null && priceBefore === null) return null;
  const before = priceBefore === null ? null : eurosOf(priceBefore, words);
  if (price === null) return { before, now: words.unknownPrice, change: null, perMeter: '' };
  const ratio = priceBefore === null || priceBefore === 0 ? 0 : price / priceBefore - 1;
  const signed = { style: 'percent', maximumFractionDigits: 1, signDisplay: 'exceptZero' } as const;
  const percent = new Intl.NumberFormat(words.locale, signed).format(ratio).replace('-', '−');
  return {
    before,
    now: `${eurosOf(price, words)}${transactionType === RENT ? words.perMonth(hasCharges) : ''}`,
    change: /[1-9]/.test(percent) ? { percent, isCut: ratio < 0 } : null,
    perMeter:
      pricePerMeter === null
        ? ''
        : `${eurosOf(pricePerMeter < 100 ? pricePerMeter : Math.round(pricePerMeter), words)}/m²`,
  };
}

function priceText({ before, now, change, perMeter }: PriceLine): string {
  const old = before === null ? '' : `${before} → `;
  const percent = change === null ? '' : ` (${change.percent})`;
  return `${old}${now}${percent}${perMeter === '' ? '' : `, ${perMeter}`}`;
}

function factsOf(property: MailProperty, words: MailWords): readonly string[] {
  const { surface, landSurface, room, bedroom, energyClass, publisher } = property;
  return [
    surface === null ? '' : squareMetres(surface, words),
    room === null ? '' : words.rooms(room),
    // A studio has none.
    bedroom === null || bedroom === 0 ? '' : words.bedrooms(bedroom),
    landSurface === null ? '' : words.land(squareMetres(landSurface, words)),
    energyClass === null ? '' : words.energy(cleanText(energyClass)),
    cleanText(publisher ?? ''),
  ].filter((fact) => fact !== '');
}

function squareMetres(value: number, { locale }: MailWords): string {
  return `${new Intl.NumberFormat(locale).format(value)}\u00a0m²`;
}

/** How the values of a change are shown; those of the entry's own price stand beside it. */
const SHOWN_VALUES: Partial<Readonly<Record<EventKind, (value: number, words: MailWords) => string>>> = {
  'ad.update.price': eurosOf,
  'ad.update.surface': squareMetres,
  'ad.update.pictures': String,
};

/** `hasLeft`: the property has ceased to satisfy the search. */
function factText(fact: MailFact, hasLeft: boolean, words: MailWords): string {
  const { type, kind, before, now, isBack, why, advert } = fact;
  if (why !== null) return `${words.noMatch}${words.colon}${why}`;
  if (type === 'match') {
    if (kind === 'property.ad.create') return hasLeft ? words.newAdvert : words.newMatch;
    return hasLeft ? words.formerMatch : words.changedMatch;
  }
  const what = isBack ? words.back(before ?? 0) : words.events[kind];
  const { price = null, publisher = null } = advert ?? {};
  const where = whereOf(publisher, words);
  if (kind === 'ad.update.expired') {
    return price === null && where === '' ? what : words.gone(price === null ? '' : eurosOf(price, words), where);
  }
  const show = kind === 'ad.update.price' && advert === null ? undefined : SHOWN_VALUES[kind];
  if (show === undefined || isBack || before === now) return what + where;
  const [old, present] = [before, now].map((value) => (value === null ? '–' : show(value, words)));
  return `${what}${where} (${old} → ${present})`;
}

/** With cents where it has some: 749,50 is not 750. */
function eurosOf(value: number, { locale }: MailWords): string {
  const options = { style: 'currency', currency: 'EUR', trailingZeroDisplay: 'stripIfInteger' } as const;
  return new Intl.NumberFormat(locale, options).format(value);
}

function plainText({ entries, notes, why, link: { text, url }, words }: MailParts): string {
  const blocks = entries.map(({ title, kind, price, others, facts, reasons, link }) =>
    [title, kind, price === null ? '' : priceText(price), others, facts.join(' · '), ...reasons, link]
      .filter((line) => line)
      .join('\n'),
  );
  const foot = `-- \n${why}\n${text}${words.colon}${url}`;
  return `${[...blocks, ...notes, foot].join('\n\n')}\n`;
}

/** Text and background follow the light or dark mode; a coloured element has its own background, legible in both. */
const STYLES = {
  body: 'margin:0;padding:16px;font-family:sans-serif;font-size:15px;line-height:1.45',
  page: 'max-width:600px;margin:0 auto;overflow-wrap:anywhere',
  card: 'margin:0 0 16px;border:1px solid #999;border-radius:12px;overflow:hidden',
  picture: 'display:block;width:100%;height:auto;max-height:300px;object-fit:cover;border:0',
  lines: 'padding:14px 18px 18px',
  title: 'margin:0;font-size:17px;font-weight:bold',
  price: 'margin:8px 0;font-size:20px;font-weight:bold',
  before: 'font-weight:normal;text-decoration:line-through;opacity:0.75',
  cut: 'padding:1px 9px;border-radius:12px;background:#0b6e3a;color:#fff;font-size:14px;white-space:nowrap',
  rise: 'padding:1px 9px;border-radius:12px;background:#a3340b;color:#fff;font-size:14px;white-space:nowrap',
  perMeter: 'font-size:14px;font-weight:normal;opacity:0.75;white-space:nowrap',
  quiet: 'margin-top:6px;font-size:13px;opacity:0.75',
  show: 'display:inline-block;margin-top:12px;padding:8px 16px;border-radius:8px;background:#0d5c68;color:#fff;text-decoration:none',
} as const;

function htmlText(subject: string, parts: MailParts, language: MailLanguage): string {
  const { entries, notes, why, words } = parts;
  const { text, url } = parts.link;
  const link = `<a href="${escapeHtml(url)}" style="color:inherit">${escapeHtml(text)}</a>`;
  return `<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><title>${escapeHtml(subject)}</title><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"></head>
<body style="${STYLES.body}"><main style="${STYLES.page}">
${entries.map((entry) => htmlEntry(entry, words)).join('\n')}
${notes.map((note) => `<p>${escapeHtml(note)}</p>\n`).join('')}<p style="${STYLES.quiet}">${escapeHtml(why)}<br>${link}</p>
</main></body>
</html>
`;
}

function htmlEntry(lines: EntryLines, words: MailWords): string {
  const { title, kind, price, others, facts, reasons, link, picture } = lines;
  return [
    `<div style="${STYLES.card}">`,
    picture === null ? null : `<img src="${escapeHtml(picture)}" alt="" style="${STYLES.picture}">`,
    `<div style="${STYLES.lines}">`,
    `<h1 style="${STYLES.title}">${escapeHtml(title)}</h1>`,
    `<div>${escapeHtml(kind)}</div>`,
    price === null ? null : `<div style="${STYLES.price}">${htmlPrice(price)}</div>`,
    others === '' ? null : `<div>${escapeHtml(others)}</div>`,
    facts.length === 0 ? null : `<div>${escapeHtml(facts.join(' · '))}</div>`,
    ...reasons.map(htmlReason),
    link === null ? null : `<a href="${escapeHtml(link)}" style="${STYLES.show}">${escapeHtml(words.show)}</a>`,
    '</div></div>',
  ]
    .filter((line) => line !== null)
    .join('\n');
}

function htmlReason(reason: string): string {
  return `<div style="${STYLES.quiet}">${escapeHtml(reason)}</div>`;
}

function htmlPrice({ before, now, change, perMeter }: PriceLine): string {
  return [
    before === null ? '' : `<span style="${STYLES.before}">${escapeHtml(before)}</span> → `,
    escapeHtml(now),
    change === null
      ? ''
      : ` <span style="${change.isCut ? STYLES.cut : STYLES.rise}">${escapeHtml(change.percent)}</span>`,
    perMeter === '' ? '' : ` <span style="${STYLES.perMeter}">${escapeHtml(perMeter)}</span>`,
  ].join('');
}
