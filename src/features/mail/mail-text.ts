/**
 * An e-mail in words: subject, plain text and HTML that say the same (decisions, section 12). Everything that comes from
 * an advert or a client is cleaned first and escaped where it stands; nothing is fetched to write it.
 */

import { type EventKind, RENT } from '../../engine/domain/codes.ts';
import type { MailLanguage } from '../../engine/domain/mail.ts';
import { escapeHtml } from '../../rest/content.ts';
import type { MailProperty, MailReason } from './mail-item.ts';
import type { MailContents, MailEntry } from './mail-sections.ts';
import { cleanText, MAIL_WORDS, type MailWords } from './mail-words.ts';

export interface MailText {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

const SUBJECT_LENGTH_MAX = 150;

export interface MailFoot {
  readonly unsubscribeUrl: string;
  /** Name or address. */
  readonly sender: string;
}

export function mailText(contents: MailContents, foot: MailFoot, language: MailLanguage): MailText {
  const words = MAIL_WORDS[language];
  const expired = contents.expired.map((property) => titleOf(property, words));
  const parts = {
    entries: contents.entries.map((entry) => linesOf(entry, words)),
    notes: [
      ...(expired.length === 0 ? [] : [words.expired(expired.join(words.semicolon))]),
      ...(contents.moreCount === 0 ? [] : [words.more(contents.moreCount)]),
    ],
    why: [words.why, words.from(cleanText(foot.sender))].join(' '),
    link: { text: words.unsubscribe, url: foot.unsubscribeUrl },
    words,
  };
  return { subject: subjectOf(contents, words), text: plainText(parts), html: htmlText(parts, language) };
}

/** Asks whether an unsubscription still holds; the page to unsubscribe is where to answer. */
export function confirmationText(searchTitle: string, foot: MailFoot, language: MailLanguage): MailText {
  const words = MAIL_WORDS[language];
  const { subject, question, silence, answer } = words.confirmation;
  const [search, sender] = [cleanText(searchTitle), cleanText(foot.sender)];
  const parts = {
    entries: [],
    notes: [question(sender, search), silence],
    why: words.from(sender),
    link: { text: answer, url: foot.unsubscribeUrl },
    words,
  };
  return { subject: shortened(subject(search)), text: plainText(parts), html: htmlText(parts, language) };
}

interface EntryLines {
  readonly title: string;
  /** What it is and where. */
  readonly kind: string;
  readonly price: string | null;
  readonly facts: readonly string[];
  readonly reasons: readonly string[];
  readonly link: string | null;
  readonly picture: string | null;
}

interface MailParts {
  readonly entries: readonly EntryLines[];
  /** Behind the entries. */
  readonly notes: readonly string[];
  readonly why: string;
  readonly link: { readonly text: string; readonly url: string };
  readonly words: MailWords;
}

function subjectOf({ entries, expired, moreCount }: MailContents, words: MailWords): string {
  const count = entries.length + expired.length + moreCount;
  const titles = new Set(entries.flatMap(({ causes }) => causes.map(({ searchTitle }) => cleanText(searchTitle))));
  const [search = ''] = titles;
  const [entry] = entries;
  const [gone] = expired;
  if (count === expired.length && gone !== undefined)
    return shortened(count === 1 ? words.expired(titleOf(gone, words)) : words.subjectOfExpired(count));
  let subject = titles.size === 1 ? words.subjectOfSearch(count, search) : words.subjectOfMany(count);
  if (count === 1 && entry !== undefined) {
    const { title, price } = linesOf(entry, words);
    const what = price === null ? title : `${title}, ${price}`;
    subject = titles.size === 1 ? words.subjectOfOne(what, search) : what;
  }
  return shortened(subject);
}

function shortened(subject: string): string {
  return subject.length <= SUBJECT_LENGTH_MAX ? subject : `${cleanText(subject.slice(0, SUBJECT_LENGTH_MAX - 1))}…`;
}

function linesOf({ property, causes }: MailEntry, words: MailWords): EntryLines {
  return {
    title: titleOf(property, words),
    kind: [kindOf(property, words), placeOf(property)].filter((part) => part !== '').join(', '),
    price: priceOf(property, words),
    facts: factsOf(property, words),
    reasons: causes.map(({ searchTitle, reasons }) => {
      const told = [...new Set(reasons.map((reason) => reasonOf(reason, words)))];
      return `${words.search(cleanText(searchTitle))}${words.colon}${told.join(words.semicolon)}`;
    }),
    link: property.link,
    picture: property.picture,
  };
}

function titleOf({ title }: MailProperty, words: MailWords): string {
  return cleanText(title ?? '') || words.untitled;
}

function kindOf({ propertyType, transactionType }: MailProperty, words: MailWords): string {
  const type = words.propertyTypes[propertyType ?? -1] ?? words.property;
  return transactionType === null ? type : `${type} ${transactionType === RENT ? words.toRent : words.toSell}`;
}

function placeOf({ city, zipcode }: MailProperty): string {
  return cleanText([city, zipcode === null || city === null ? zipcode : `(${zipcode})`].join(' '));
}

function priceOf(
  { price, priceBefore, pricePerMeter, transactionType }: MailProperty,
  words: MailWords,
): string | null {
  if (price === null) return null;
  const monthly = transactionType === RENT ? words.perMonth : '';
  const perMeter = pricePerMeter === null ? '' : `, ${eurosOf(pricePerMeter, words)}/m²`;
  if (priceBefore === null) return `${eurosOf(price, words)}${monthly}${perMeter}`;
  const signed = { style: 'percent', maximumFractionDigits: 1, signDisplay: 'exceptZero' } as const;
  const percent =
    priceBefore === 0 ? '' : `, ${new Intl.NumberFormat(words.locale, signed).format(price / priceBefore - 1)}`;
  return `${eurosOf(price, words)}${monthly} (${words.was(eurosOf(priceBefore, words))}${percent})${perMeter}`;
}

function factsOf(property: MailProperty, words: MailWords): readonly string[] {
  const { surface, landSurface, room, bedroom, energyClass, publisher } = property;
  const squareMetres = (value: number) => `${new Intl.NumberFormat(words.locale).format(value)}\u00a0m²`;
  return [
    surface === null ? '' : squareMetres(surface),
    room === null ? '' : words.rooms(room),
    bedroom === null ? '' : words.bedrooms(bedroom),
    landSurface === null ? '' : words.land(squareMetres(landSurface)),
    energyClass === null ? '' : words.energy(cleanText(energyClass)),
    cleanText(publisher ?? ''),
  ].filter((fact) => fact !== '');
}

/** A price stands as it is now, beside what the recipient last heard; here is only that it has changed. */
function reasonOf({ type, kind, oldValue, newValue }: MailReason, words: MailWords): string {
  if (type === 'match') return kind === 'property.ad.create' ? words.newMatch : words.changedMatch;
  const hasValues = kind === 'ad.update.surface' || kind === 'ad.update.pictures';
  if (!hasValues || (oldValue ?? newValue) === null) return words.events[kind];
  const [before, after] = [oldValue, newValue].map((value) => (value === null ? '–' : valueOf(value, kind, words)));
  return `${words.events[kind]} (${before} → ${after})`;
}

function valueOf(value: string, kind: EventKind, words: MailWords): string {
  const number = Number(value);
  if (value.trim() === '' || !Number.isFinite(number)) return cleanText(value);
  const text = new Intl.NumberFormat(words.locale).format(number);
  return kind === 'ad.update.surface' ? `${text}\u00a0m²` : text;
}

function eurosOf(value: number, { locale }: MailWords): string {
  return new Intl.NumberFormat(locale, { style: 'currency', currency: 'EUR', maximumFractionDigits: 0 }).format(value);
}

function plainText({ entries, notes, why, link: { text, url }, words }: MailParts): string {
  const blocks = entries.map(({ title, kind, price, facts, reasons, link }) =>
    [title, kind, price, facts.join(', '), ...reasons, link].filter((line) => line).join('\n'),
  );
  const foot = `-- \n${why}\n${text}${words.colon}${url}`;
  return `${[...blocks, ...notes, foot].join('\n\n')}\n`;
}

/** No colours of text and ground: readers choose dark ones. */
const STYLES = {
  body: 'margin:0;padding:16px;font-family:sans-serif;font-size:15px;line-height:1.45',
  page: 'max-width:600px;margin:0 auto;overflow-wrap:anywhere',
  entry: 'padding:12px 0;border-top:1px solid #999',
  picture: 'display:block;max-width:100%;max-height:260px;border:0;margin:0 0 8px',
  title: 'font-weight:bold',
  price: 'font-weight:bold;font-size:17px',
  quiet: 'opacity:0.75;font-size:13px',
} as const;

function htmlText({ entries, notes, why, link: { text, url }, words }: MailParts, language: MailLanguage): string {
  const link = `<a href="${escapeHtml(url)}">${escapeHtml(text)}</a>`;
  return `<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"></head>
<body style="${STYLES.body}"><div style="${STYLES.page}">
${entries.map((entry) => htmlEntry(entry, words)).join('\n')}
${notes.map((note) => `<p>${escapeHtml(note)}</p>\n`).join('')}<p style="${STYLES.quiet}">${escapeHtml(why)}<br>${link}</p>
</div></body>
</html>
`;
}

function htmlEntry({ title, kind, price, facts, reasons, link, picture }: EntryLines, words: MailWords): string {
  const linked = (content: string) => (link === null ? content : `<a href="${escapeHtml(link)}">${content}</a>`);
  const image = picture === null ? null : `<img src="${escapeHtml(picture)}" alt="" style="${STYLES.picture}">`;
  return [
    `<div style="${STYLES.entry}">`,
    image === null ? null : linked(image),
    `<div style="${STYLES.title}">${linked(escapeHtml(title))}</div>`,
    `<div>${escapeHtml(kind)}</div>`,
    price === null ? null : `<div style="${STYLES.price}">${escapeHtml(price)}</div>`,
    facts.length === 0 ? null : `<div>${escapeHtml(facts.join(', '))}</div>`,
    ...reasons.map((reason) => `<div style="${STYLES.quiet}">${escapeHtml(reason)}</div>`),
    link === null ? null : `<div>${linked(escapeHtml(words.show))}</div>`,
    '</div>',
  ]
    .filter((line) => line !== null)
    .join('\n');
}
