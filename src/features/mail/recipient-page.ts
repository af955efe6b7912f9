/**
 * The recipient's page, in HTML without script. It shows the sender of the alerts, the searches, and the properties of
 * the e-mail with the link. It has forms to stop one search or all, to receive e-mails less often, and to undo a
 * choice. It does not show the recipient's address, because anyone with the link can open it.
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { MAIL_FREQUENCIES, type MailFrequency, type MailLanguage, slowerOf } from '../../engine/domain/mail.ts';
import { escapeHtml } from '../../rest/content.ts';
import type { LetterHomes } from './letter-homes.ts';
import type { LinkedRecipient } from './mail-recipients.ts';
import { cleanText } from './mail-words.ts';
import { PAGE_WORDS, type PageWords } from './page-words.ts';

const STYLE = readFileSync(new URL('recipient-page.css', import.meta.url), 'utf8');
/** For `style-src`. */
export const STYLE_HASH = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;

interface ShownSearch {
  readonly id: string;
  readonly name: string;
  /** One line for each criterion. */
  readonly criteria: readonly string[];
  readonly frequency: MailFrequency;
  readonly isStopped: boolean;
}

export interface RecipientPage {
  readonly recipient: LinkedRecipient;
  /** The result of a POST. */
  readonly notice: 'done' | 'impossible' | null;
  readonly searches: readonly ShownSearch[];
  readonly hasMoreSearches: boolean;
  readonly homes: LetterHomes;
}

/** `page`: null for an unknown token. */
export function pageOf(page: RecipientPage | null, language: MailLanguage): string {
  const words = PAGE_WORDS[language];
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(words.title)}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(words.title)}</h1>
${page === null ? paragraph(words.unknown) : contentsOf(page, words)}
</main>
</body>
</html>
`;
}

function contentsOf(page: RecipientPage, words: PageWords): string {
  const { recipient, notice } = page;
  const { sender, isErased } = recipient;
  return [
    sender === null ? '' : paragraph(words.from(cleanText(sender))),
    notice === null ? '' : `<p class="card" role="status">${escapeHtml(words[notice])}</p>`,
    `<div class="card">${isErased ? paragraph(words.erased) : ''}${emailsOf(page, words)}</div>`,
    ...(isErased ? [] : [searchesOf(page, words), homesOf(page.homes, words)]),
  ].join('\n');
}

/** The choices about all e-mails of the sender. The address `?` removes this page's query when its form is sent. */
function emailsOf({ recipient, searches }: RecipientPage, words: PageWords): string {
  const { isUnsubscribed, frequencyChosen } = recipient;
  if (isUnsubscribed) return paragraph(words.unsubscribed) + form('?again', words.takeBack);
  const stopAll = form('?', words.stopAll);
  const rankOf = (frequency: MailFrequency): number => MAIL_FREQUENCIES.indexOf(frequency);
  const ranks = searches.filter(({ isStopped }) => !isStopped).map(({ frequency }) => rankOf(frequency));
  const fastest = MAIL_FREQUENCIES[Math.min(...ranks)];
  if (fastest === undefined) return stopAll;
  const present = slowerOf(fastest, frequencyChosen);
  const slower = (['daily', 'weekly'] as const).filter((frequency) => rankOf(frequency) > rankOf(present));
  return [
    paragraph(words.frequency[present]),
    ...slower.map((frequency) => form(`?frequency=${frequency}`, words.choose[frequency])),
    frequencyChosen === null ? '' : form('?frequency&again', words.asBefore),
    stopAll,
  ].join('');
}

function searchesOf({ recipient, searches, hasMoreSearches }: RecipientPage, words: PageWords): string {
  const items = searches.map(({ id, name, criteria, isStopped }) => {
    const choice = isStopped ? form(`?search=${id}&again`, words.resume) : form(`?search=${id}`, words.stop);
    return `<li class="card"><h3>${escapeHtml(name)}</h3>
<ul>${criteria.map((line) => `<li>${escapeHtml(line)}</li>`).join('')}</ul>
${isStopped ? paragraph(words.stopped) : ''}${recipient.isUnsubscribed ? '' : choice}</li>`;
  });
  return items.length === 0 ? '' : listOf(words.searches, [...items, ...(hasMoreSearches ? ['<li>…</li>'] : [])]);
}

function homesOf({ homes, count, page, pageCount }: LetterHomes, words: PageWords): string {
  if (count === 0) return paragraph(words.noHomes);
  const items = homes.map(({ title, lines, link, contact, isExpired }) => {
    const name = escapeHtml(title);
    return `<li class="card"><h3>${link === null ? name : `<a href="${escapeHtml(link)}" rel="noreferrer">${name}</a>`}</h3>
${[...(isExpired ? [words.offline] : []), ...lines].map(paragraph).join('')}${contact === '' ? '' : `<p>${contact}</p>`}</li>`;
  });
  const pages = Array.from({ length: pageCount }, (_, before) => {
    const current = before + 1 === page ? ' aria-current="page"' : '';
    return `<a href="?page=${before + 1}#homes"${current}>Page ${before + 1}</a>`;
  });
  return `<div id="homes">${listOf(words.homes(count), items)}</div>
${pageCount === 1 ? '' : `<nav aria-label="Pages">${pages.join('\n')}</nav>`}`;
}

function listOf(heading: string, items: readonly string[]): string {
  return `<h2>${escapeHtml(heading)}</h2>\n<ul>\n${items.join('\n')}\n</ul>`;
}

function paragraph(text: string): string {
  return `<p>${escapeHtml(text)}</p>`;
}

function form(query: string, text: string): string {
  return `<form method="post" action="${escapeHtml(query)}"><button>${escapeHtml(text)}</button></form>`;
}
