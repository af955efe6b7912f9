/**
 * An e-mail in words: subject, plain text and HTML that say the same (decisions, section 12). Everything that comes from
 * an advert or a client is cleaned first and escaped where it stands; nothing is fetched to write it.
 */

import { type EventKind, RENT } from '../domain/codes.ts';
import type { MailLanguage } from '../domain/mail.ts';
import type { MailItemContent, MailReason } from '../domain/mail-item.ts';
import type { MailContents, MailEntry } from './mail-sections.ts';
import { cleanText, escapeHtml, MAIL_WORDS, type MailWords } from './mail-words.ts';

export interface MailText {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

const SUBJECT_LENGTH_MAX = 150;

export function mailText(contents: MailContents, unsubscribeUrl: string, language: MailLanguage): MailText {
  const words = MAIL_WORDS[language];
  const sections = contents.sections.map(({ title, entries }) => ({
    heading: words.search(cleanText(title)),
    entries: entries.map((entry) => linesOf(entry, words)),
  }));
  const more = contents.moreCount === 0 ? null : words.more(contents.moreCount);
  const parts = { sections, more, unsubscribeUrl, words };
  return { subject: subjectOf(contents, words), text: plainText(parts), html: htmlText(parts, language) };
}

interface EntryLines {
  readonly title: string;
  readonly price: string | null;
  readonly facts: readonly string[];
  readonly reasons: readonly string[];
  readonly link: string | null;
  readonly picture: string | null;
}

interface MailParts {
  readonly sections: readonly { readonly heading: string; readonly entries: readonly EntryLines[] }[];
  readonly more: string | null;
  readonly unsubscribeUrl: string;
  readonly words: MailWords;
}

function subjectOf({ sections, moreCount }: MailContents, words: MailWords): string {
  const count = sections.reduce((total, { entries }) => total + entries.length, moreCount);
  const [section, ...others] = sections;
  const search = cleanText(section?.title ?? '');
  const [entry] = section?.entries ?? [];
  let subject = words.subjectOfSearch(count, search);
  if (others.length > 0 || section === undefined) subject = words.subjectOfMany(count);
  else if (count === 1 && entry !== undefined) {
    const { title, price } = linesOf(entry, words);
    subject = words.subjectOfOne(price === null ? title : `${title}, ${price}`, search);
  }
  return subject.length <= SUBJECT_LENGTH_MAX ? subject : `${cleanText(subject.slice(0, SUBJECT_LENGTH_MAX - 1))}…`;
}

function linesOf({ content, reasons }: MailEntry, words: MailWords): EntryLines {
  const { title, picture, link } = content;
  return {
    title: cleanText(title ?? '') || words.untitled,
    price: priceOf(content, words),
    facts: factsOf(content, words),
    reasons: [...new Set(reasons.map((reason) => reasonOf(reason, words)))],
    link,
    picture,
  };
}

function priceOf({ price, priceBefore, transactionType }: MailItemContent, words: MailWords): string | null {
  if (price === null) return null;
  const euros = (value: number) => eurosOf(value, words) + (transactionType === RENT ? words.perMonth : '');
  return priceBefore === null ? euros(price) : `${euros(price)} (${words.was(euros(priceBefore))})`;
}

function factsOf({ surface, landSurface, room, city, zipcode }: MailItemContent, words: MailWords): readonly string[] {
  const squareMetres = (value: number) => `${new Intl.NumberFormat(words.locale).format(value)} m²`;
  const place = cleanText([city, zipcode === null || city === null ? zipcode : `(${zipcode})`].join(' '));
  return [
    surface === null ? '' : squareMetres(surface),
    room === null ? '' : words.rooms(room),
    landSurface === null ? '' : words.land(squareMetres(landSurface)),
    place,
  ].filter((fact) => fact !== '');
}

function reasonOf({ type, kind, oldValue, newValue }: MailReason, words: MailWords): string {
  if (type === 'match') return kind === 'property.ad.create' ? words.newMatch : words.changedMatch;
  const values = kind === 'ad.update.expired' ? [] : [oldValue, newValue];
  const [before, after] = values.map((value) => (value === null ? '–' : valueOf(value, kind, words)));
  return before === undefined || (oldValue ?? newValue) === null
    ? words.events[kind]
    : `${words.events[kind]} : ${before} → ${after}`;
}

function valueOf(value: string, kind: EventKind, words: MailWords): string {
  const number = Number(value);
  if (value.trim() === '' || !Number.isFinite(number)) return cleanText(value);
  if (kind === 'ad.update.price') return eurosOf(number, words);
  const text = new Intl.NumberFormat(words.locale).format(number);
  return kind === 'ad.update.surface' ? `${text} m²` : text;
}

function eurosOf(value: number, { locale }: MailWords): string {
  return new Intl.NumberFormat(locale, { style: 'currency', currency: 'EUR', maximumFractionDigits: 0 }).format(value);
}

function plainText({ sections, more, unsubscribeUrl, words }: MailParts): string {
  const blocks = sections.map(({ heading, entries }) => {
    const lines = entries.map(({ title, price, facts, reasons, link }) =>
      [title, price, facts.join(', '), ...reasons, link].filter((line) => line).join('\n'),
    );
    return [heading, ...lines].join('\n\n');
  });
  const foot = `${words.why}\n${words.unsubscribe} : ${unsubscribeUrl}`;
  return `${[...blocks, ...(more === null ? [] : [more]), '-- ', foot].join('\n\n')}\n`.replace('\n-- \n\n', '\n-- \n');
}

const STYLES = {
  body: 'margin:0;padding:16px;font-family:sans-serif;font-size:15px;line-height:1.45;color:#222',
  page: 'max-width:600px;margin:0 auto',
  heading: 'font-size:17px;margin:24px 0 8px',
  entry: 'padding:12px 0;border-top:1px solid #ddd',
  picture: 'display:block;max-width:100%;max-height:260px;border:0;margin:0 0 8px',
  title: 'font-weight:bold',
  quiet: 'color:#666;font-size:13px',
} as const;

function htmlText({ sections, more, unsubscribeUrl, words }: MailParts, language: MailLanguage): string {
  const body = sections.map(
    ({ heading, entries }) =>
      `<h2 style="${STYLES.heading}">${escapeHtml(heading)}</h2>\n${entries.map((entry) => htmlEntry(entry, words)).join('\n')}`,
  );
  const foot = `${escapeHtml(words.why)}<br><a href="${escapeHtml(unsubscribeUrl)}">${escapeHtml(words.unsubscribe)}</a>`;
  return `<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"></head>
<body style="${STYLES.body}"><div style="${STYLES.page}">
${body.join('\n')}
${more === null ? '' : `<p>${escapeHtml(more)}</p>\n`}<p style="${STYLES.quiet}">${foot}</p>
</div></body>
</html>
`;
}

function htmlEntry({ title, price, facts, reasons, link, picture }: EntryLines, words: MailWords): string {
  const linked = (content: string) => (link === null ? content : `<a href="${escapeHtml(link)}">${content}</a>`);
  const image = picture === null ? null : `<img src="${escapeHtml(picture)}" alt="" style="${STYLES.picture}">`;
  return [
    `<div style="${STYLES.entry}">`,
    image === null ? null : linked(image),
    `<div style="${STYLES.title}">${linked(escapeHtml(title))}</div>`,
    price === null ? null : `<div>${escapeHtml(price)}</div>`,
    facts.length === 0 ? null : `<div>${escapeHtml(facts.join(', '))}</div>`,
    ...reasons.map((reason) => `<div style="${STYLES.quiet}">${escapeHtml(reason)}</div>`),
    link === null ? null : `<div>${linked(escapeHtml(words.show))}</div>`,
    '</div>',
  ]
    .filter((line) => line !== null)
    .join('\n');
}
