/**
 * The layout of an e-mail consists of tables, because Outlook for Windows applies widths and padding only to them.
 * `test/mail-letter.test.ts` checks that Gmail, Outlook for Windows, Apple Mail and Yahoo remove nothing that matters.
 * Text and background follow the light or dark mode; a coloured element has its own background, legible in both.
 */

import type { MailLanguage } from '../../engine/domain/mail.ts';
import { escapeHtml } from '../../rest/content.ts';
import type { MailContact, MailSearch } from './mail-contents.ts';
import type { MailWords } from './mail-words.ts';

export interface Badge {
  readonly kind: 'match' | 'cut' | 'rise' | 'back';
  readonly text: string;
}

/** `250 000 € → 239 000 € (−4,4 %), 3 855 €/m²`, split into its parts. */
export interface PriceLine {
  readonly before: string | null;
  readonly now: string;
  /** Null if one of the prices is unknown, if the former one is 0, or if the change rounds to zero. */
  readonly change: { readonly percent: string; readonly isCut: boolean } | null;
  readonly perMeter: string;
}

export interface EntryLines {
  readonly badges: readonly Badge[];
  readonly title: string;
  /** The type of the property, whether it is for sale or to rent, and the town. */
  readonly kind: string;
  readonly price: PriceLine | null;
  /** The prices of its other adverts. */
  readonly others: string;
  readonly facts: readonly string[];
  readonly reasons: readonly string[];
  readonly link: string | null;
  readonly contact: MailContact | null;
  readonly picture: string | null;
}

export interface MailParts {
  /** The news in one line. */
  readonly headline: string;
  /** The text that mail programs show after the subject. */
  readonly preheader: string;
  readonly searches: readonly MailSearch[];
  /** Shown after the searches. */
  readonly remarks: readonly string[];
  readonly entries: readonly EntryLines[];
  /** Shown after the entries. */
  readonly notes: readonly string[];
  /** The number of properties that are not shown, in words, and the text of the link to them. */
  readonly more: { readonly text: string; readonly show: string } | null;
  readonly why: string;
  readonly link: { readonly text: string; readonly url: string };
  readonly words: MailWords;
}

const TABLE = 'role="presentation" cellpadding="0" cellspacing="0"';
const FONT = 'font-family:Arial,sans-serif;font-size:15px;line-height:22px;word-wrap:break-word';
/** Inherits the colour of the text: a link colour of our own would not be legible in every dark mode. */
const LINK = 'style="color:inherit"';
const SMALL = 'font-size:13px;line-height:18px';
const BUTTON = '#0d5c68';
const BADGES: Readonly<Record<Badge['kind'], string>> = {
  match: BUTTON,
  cut: '#0b6e3a',
  rise: '#a3340b',
  back: '#5a4a9c',
};
/** The width inside a card's border, which a picture may fill. */
const PICTURE_WIDTH = 598;

export function htmlText(subject: string, parts: MailParts, language: MailLanguage): string {
  const { headline, preheader, searches, remarks, entries, notes, more, why, words } = parts;
  const { text, url } = parts.link;
  const linked = (shown: string): string => `<a href="${escapeHtml(url)}" ${LINK}>${escapeHtml(shown)}</a>`;
  return `<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><title>${escapeHtml(subject)}</title><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark"></head>
<body>
<div style="display:none;mso-hide:all">${escapeHtml(preheader)}</div>
<div role="main">
<table ${TABLE} width="600" align="center" style="width:100%;max-width:600px;table-layout:fixed">
<tr><td style="padding:8px 0 20px;${FONT}">
<h1 style="margin:0;font-size:22px;line-height:28px">${escapeHtml(headline)}</h1>
${searches.map(htmlSearch).join('')}${remarks.map((remark) => `${paragraph(escapeHtml(remark))}\n`).join('')}</td></tr>
${entries.map((entry) => htmlEntry(entry, words)).join('\n')}
<tr><td style="${FONT}">
${notes.map((note) => `${paragraph(escapeHtml(note))}\n`).join('')}${more === null ? '' : `${paragraph(`${escapeHtml(more.text)} ${linked(more.show)}`)}\n`}<p style="margin:12px 0;${SMALL}">${escapeHtml(why)}<br>${linked(text)}</p>
</td></tr>
</table>
</div>
</body>
</html>
`;
}

function paragraph(html: string): string {
  return `<p style="margin:12px 0 0">${html}</p>`;
}

export function htmlSearch({ name, criteria }: MailSearch): string {
  const requested = criteria === null ? '' : `<br>${escapeHtml(criteria)}`;
  return `${paragraph(`<strong>${escapeHtml(name)}</strong>${requested}`)}\n`;
}

export function htmlEntry(lines: EntryLines, words: MailWords): string {
  const { badges, title, kind, price, others, facts, reasons, link, contact, picture } = lines;
  return [
    `<tr><td style="padding:0 0 20px"><table ${TABLE} width="100%" style="border:1px solid #999;border-collapse:separate;border-radius:12px;table-layout:fixed">`,
    picture === null ? null : htmlPicture(picture, words.picture(title), link),
    `<tr><td style="padding:14px 18px 18px;${FONT}">`,
    badges.length === 0 ? null : `<div>${badges.map(htmlBadge).join(' ')}</div>`,
    `<h2 style="margin:4px 0 0;font-size:18px;line-height:24px">${escapeHtml(title)}</h2>`,
    `<div>${escapeHtml(kind)}</div>`,
    price === null ? null : `<div style="margin:6px 0;font-size:20px;line-height:28px">${htmlPrice(price)}</div>`,
    others === '' ? null : `<div>${escapeHtml(others)}</div>`,
    facts.length === 0 ? null : `<div>${escapeHtml(facts.join(' · '))}</div>`,
    ...reasons.map(htmlReason),
    link === null ? null : htmlButton(link, words.show),
    contact === null ? null : paragraph(contactHtml(contact, words, LINK)),
    '</td></tr></table></td></tr>',
  ]
    .filter((line) => line !== null)
    .join('\n');
}

/** Sets no height: the shape of the picture is unknown, and a wrong height would distort it. */
function htmlPicture(picture: string, text: string, link: string | null): string {
  const image = `<img src="${escapeHtml(picture)}" alt="${escapeHtml(text)}" width="${PICTURE_WIDTH}" style="display:block;max-width:100%;border-radius:11px 11px 0 0">`;
  return `<tr><td style="${FONT}">${link === null ? image : `<a href="${escapeHtml(link)}" ${LINK}>${image}</a>`}</td></tr>`;
}

/** Uses non-breaking spaces as padding, because Outlook applies CSS padding only in table cells. */
function htmlBadge({ kind, text }: Badge): string {
  const unbroken = escapeHtml(text).replaceAll(' ', '&nbsp;');
  return `<span style="background-color:${BADGES[kind]};color:#ffffff;border-radius:8px;font-weight:bold;${SMALL}">&nbsp;&nbsp;${unbroken}&nbsp;&nbsp;</span>`;
}

export function htmlReason(reason: string): string {
  return `<div style="margin:6px 0 0;${SMALL}">${escapeHtml(reason)}</div>`;
}

function htmlPrice({ before, now, perMeter }: PriceLine): string {
  return [
    before === null ? '' : `<span style="text-decoration:line-through">${escapeHtml(before)}</span> → `,
    `<strong>${escapeHtml(now)}</strong>`,
    perMeter === '' ? '' : ` <span style="${SMALL}">${escapeHtml(perMeter)}</span>`,
  ].join('');
}

/** The link fills the cell in mail programs that support `display`. */
function htmlButton(link: string, text: string): string {
  return `<table ${TABLE} style="margin:14px 0 0"><tr><td width="200" align="center" style="background-color:${BUTTON};border-radius:8px;${FONT};line-height:44px"><a href="${escapeHtml(link)}" style="display:block;color:#ffffff;font-weight:bold;text-decoration:none">${escapeHtml(text)}</a></td></tr></table>`;
}

/** One number, at most 15 digits (ITU-T E.164): two numbers in the same text are one wrong number as a link. */
const PHONE = /^(?=(?:\D*\d){6,15}\D*$)\+?[\d ().\-/]{6,30}$/;
/** Excludes characters that would begin a parameter of the link. */
const EMAIL = /^[^\s@?&=%#/"'<>]+@[^\s@?&=%#/"'<>]+$/;

/** `attributes`: HTML attributes of its links. */
export function contactHtml(contact: MailContact, words: MailWords, attributes = ''): string {
  const { name, phone, email, reference } = contact;
  const number = phone.replace('(0)', '').replace(/[^\d+]/g, '');
  const lines = [
    name === '' ? '' : `<strong>${escapeHtml(name)}</strong>`,
    PHONE.test(phone) ? `<a href="tel:${number}" ${attributes}>${escapeHtml(phone)}</a>` : escapeHtml(phone),
    EMAIL.test(email)
      ? `<a href="mailto:${escapeHtml(email)}" ${attributes}>${escapeHtml(email)}</a>`
      : escapeHtml(email),
    reference === '' ? '' : escapeHtml(words.reference(reference)),
  ];
  return lines.filter((line) => line !== '').join('<br>');
}
