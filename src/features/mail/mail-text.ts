/**
 * An e-mail in words: subject, plain text and HTML with the same content (decisions, section 12). All text of adverts
 * and clients is cleaned first and escaped where it is inserted; writing an e-mail makes no requests.
 */

import { type EventKind, RENT } from '../../engine/domain/codes.ts';
import type { MailLanguage } from '../../engine/domain/mail.ts';
import { escapeHtml } from '../../rest/content.ts';
import type { MailContents, MailEntry, MailProperty, MailReason } from './mail-contents.ts';
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
  return inBothForms(subjectOf(contents, words), parts, language);
}

function inBothForms(subject: string, parts: MailParts, language: MailLanguage): MailText {
  return { subject, text: plainText(parts), html: htmlText(subject, parts, language) };
}

interface EntryLines {
  readonly title: string;
  /** What the property is and where. */
  readonly kind: string;
  readonly price: PriceLine | null;
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

function subjectOf({ entries, expired, moreCount, searchTitles }: MailContents, words: MailWords): string {
  const count = entries.length + expired.length + moreCount;
  const titles = new Set([...searchTitles].map(cleanText));
  const [search = ''] = titles;
  const [entry] = entries;
  const [gone] = expired;
  if (count === expired.length && gone !== undefined)
    return shortened(count === 1 ? words.expired(titleOf(gone, words)) : words.subjectOfExpired(count));
  let subject = titles.size === 1 ? words.subjectOfSearch(count, search) : words.subjectOfMany(count);
  if (count === 1 && entry !== undefined) {
    const { title, price } = linesOf(entry, words);
    const what = price === null ? title : `${title}, ${priceText({ ...price, perMeter: '' })}`;
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
      const shown = [...new Set(reasons.map((reason) => reasonOf(reason, words)))];
      return `${words.search(cleanText(searchTitle))}${words.colon}${shown.join(words.semicolon)}`;
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

function priceOf(property: MailProperty, words: MailWords): PriceLine | null {
  const { price, priceBefore, pricePerMeter, transactionType } = property;
  if (price === null && priceBefore === null) return null;
  const before = priceBefore === null ? null : eurosOf(priceBefore, words);
  if (price === null) return { before, now: words.unknownPrice, change: null, perMeter: '' };
  const ratio = priceBefore === null || priceBefore === 0 ? 0 : price / priceBefore - 1;
  const signed = { style: 'percent', maximumFractionDigits: 1, signDisplay: 'exceptZero' } as const;
  const percent = new Intl.NumberFormat(words.locale, signed).format(ratio).replace('-', '−');
  return {
    before,
    now: `${eurosOf(price, words)}${transactionType === RENT ? words.perMonth : ''}`,
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

/** The unit of the values that an event says; null: the e-mail shows none of them. */
const VALUE_UNITS: Readonly<Record<EventKind, string | null>> = {
  'ad.update.price': null,
  'ad.update.surface': 'm²',
  'ad.update.pictures': '',
  'ad.update.expired': null,
  'property.ad.create': null,
  'property.ad.update': null,
};

/** A price is shown as it is now, beside the last notified one; this only reports that it has changed. */
function reasonOf({ type, kind, oldValue, newValue }: MailReason, words: MailWords): string {
  if (type === 'match') return kind === 'property.ad.create' ? words.newMatch : words.changedMatch;
  const unit = VALUE_UNITS[kind];
  if (unit === null || oldValue === newValue) return words.events[kind];
  const [before, after] = [oldValue, newValue].map((value) => (value === null ? '–' : valueOf(value, unit, words)));
  return `${words.events[kind]} (${before} → ${after})`;
}

function valueOf(value: string, unit: string, words: MailWords): string {
  const number = Number(value);
  if (value.trim() === '' || !Number.isFinite(number)) return cleanText(value);
  const text = new Intl.NumberFormat(words.locale).format(number);
  return unit === '' ? text : `${text}\u00a0${unit}`;
}

/** With cents where it has some: 749,50 is not 750. */
function eurosOf(value: number, { locale }: MailWords): string {
  const options = { style: 'currency', currency: 'EUR', trailingZeroDisplay: 'stripIfInteger' } as const;
  return new Intl.NumberFormat(locale, options).format(value);
}

function plainText({ entries, notes, why, link: { text, url }, words }: MailParts): string {
  const blocks = entries.map(({ title, kind, price, facts, reasons, link }) =>
    [title, kind, price === null ? '' : priceText(price), facts.join(' · '), ...reasons, link]
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

function htmlEntry({ title, kind, price, facts, reasons, link, picture }: EntryLines, words: MailWords): string {
  return [
    `<div style="${STYLES.card}">`,
    picture === null ? null : `<img src="${escapeHtml(picture)}" alt="" style="${STYLES.picture}">`,
    `<div style="${STYLES.lines}">`,
    `<h1 style="${STYLES.title}">${escapeHtml(title)}</h1>`,
    `<div>${escapeHtml(kind)}</div>`,
    price === null ? null : `<div style="${STYLES.price}">${htmlPrice(price)}</div>`,
    facts.length === 0 ? null : `<div>${escapeHtml(facts.join(' · '))}</div>`,
    ...reasons.map((reason) => `<div style="${STYLES.quiet}">${escapeHtml(reason)}</div>`),
    link === null ? null : `<a href="${escapeHtml(link)}" style="${STYLES.show}">${escapeHtml(words.show)}</a>`,
    '</div></div>',
  ]
    .filter((line) => line !== null)
    .join('\n');
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
