/**
 * The text of an e-mail: subject, plain text and HTML (mail-html.ts) with the same content (decisions, section 12). All
 * text of adverts and clients is cleaned first and escaped where it is inserted. Writing an e-mail makes no requests.
 */

import { type EventKind, RENT } from '../../engine/domain/codes.ts';
import type { MailLanguage } from '../../engine/domain/mail.ts';
import { cut } from '../../engine/domain/text.ts';
import { escapeHtml } from '../../rest/content.ts';
import type { MailAdvert, MailCause, MailEntry, MailFact, MailProperty, MailSearch } from './mail-contents.ts';
import {
  type Badge,
  type EntryLines,
  htmlEntry,
  htmlReason,
  htmlSearch,
  htmlText,
  type MailParts,
  type PriceLine,
} from './mail-html.ts';
import { NEWS_KINDS, type NewsKind } from './mail-order.ts';
import { cleanText, MAIL_WORDS, type MailWords } from './mail-words.ts';

export interface MailText {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

const SUBJECT_LENGTH_MAX = 150;
/** Bytes of UTF-8. Mail programs cut off HTML above 102 KiB, and with it the link to unsubscribe. */
export const HTML_BYTES_MAX = 90 * 1_024;
/** Limit for the reasons of one entry. Its other content takes less than half of an e-mail. */
const REASONS_BYTES_MAX = 40 * 1_024;
const REASON_LENGTH_MAX = 1_000;
const OTHERS_MAX = 3;
/** Maximum number of searches that an e-mail names before its properties. */
const SEARCHES_MAX = 5;
const PREHEADER_MAX = 3;

export interface MailContents {
  /** All searches that found one of the properties. */
  readonly searches: readonly MailSearch[];
  /** True if answers go to a client. */
  readonly canReply: boolean;
  /** Properties that expired, or that no search finds any more, are only named at the end. */
  readonly entries: readonly MailEntry[];
  /** The number of properties that are not shown, by kind of news. The recipient's page lists them. */
  readonly more: ReadonlyMap<NewsKind, number>;
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
  const count = totalOf(contents.more);
  const parts: MailParts = {
    headline: cut(headlineOf(contents, words), SUBJECT_LENGTH_MAX),
    preheader: cut(preheaderOf(live, words), SUBJECT_LENGTH_MAX),
    searches: contents.searches.slice(0, SEARCHES_MAX),
    remarks: [
      ...(contents.searches.length > SEARCHES_MAX ? [words.moreSearches(contents.searches.length - SEARCHES_MAX)] : []),
      ...(contents.canReply && live.length + count > 0 ? [words.reply] : []),
    ],
    entries: live.map((entry) => linesOf(entry, words)),
    notes: [
      ...(ended.length === 0
        ? []
        : [`${words.noMatch}${words.colon}${ended.map((entry) => endedText(entry, words)).join(words.semicolon)}`]),
      ...(titles.length === 0 ? [] : [words.expired(titles.join(words.semicolon))]),
    ],
    more: count === 0 ? null : { text: words.more(count), show: words.showAll },
    why: [words.why, words.from(cleanText(foot.sender))].join(' '),
    link: { text: words.unsubscribe, url: foot.unsubscribeUrl },
    words,
  };
  return { subject, text: plainText(parts), html: htmlText(subject, parts, language) };
}

const totalOf = (counts: ReadonlyMap<NewsKind, number>): number =>
  [...counts.values()].reduce((sum, one) => sum + one, 0);

function byExpiry({ entries }: Pick<MailContents, 'entries'>) {
  return {
    live: entries.filter((entry) => !entry.property.expired && !isEnded(entry)),
    expired: entries.filter(({ property }) => property.expired),
    ended: entries.filter(isEnded),
  };
}

/** True if the only news is that the property no longer satisfies any search. */
function isEnded({ property, causes }: MailEntry): boolean {
  return !property.expired && causes.every(({ facts }) => facts.every(({ why }) => why !== null));
}

function endedText({ property, causes }: MailEntry, words: MailWords): string {
  const reasons = new Set(causes.flatMap(({ facts }) => facts.map(({ why }) => cleanText(why ?? ''))));
  return cut(`${titleOf(property, words)} (${[...reasons].join(' ')})`, REASON_LENGTH_MAX);
}

/** Bytes of HTML left for entries if the e-mail names the longest searches. One entry always fits. */
export function roomFor(searches: readonly MailSearch[], foot: MailFoot, language: MailLanguage): number {
  const bytesOf = (search: MailSearch): number => Buffer.byteLength(htmlSearch(search));
  const longestFirst = [...searches].sort((a, b) => bytesOf(b) - bytesOf(a));
  const empty = {
    searches: longestFirst,
    canReply: true,
    entries: [],
    more: new Map([['match', Number.MAX_SAFE_INTEGER] as const]),
  };
  const { expired, noMatch, colon } = MAIL_WORDS[language];
  // Subject, headline and the texts that follow them.
  const longest = 3 * SUBJECT_LENGTH_MAX * LONGEST_CHARACTER + `${expired('')}${noMatch}${colon}<p></p>`.length * 2;
  return HTML_BYTES_MAX - Buffer.byteLength(mailText(empty, foot, language).html) - longest;
}

/** `&quot;`, as `escapeHtml` writes it, in bytes of UTF-8. */
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

/** The news, with the town or the search if there is only one. */
function headlineOf(contents: MailContents, words: MailWords): string {
  const { entries, more, searches } = contents;
  const { live, expired, ended } = byExpiry(contents);
  const [entry, ...others] = entries;
  if (entry !== undefined && totalOf(more) === 0 && live.length === 0) {
    const title = titleOf(entry.property, words);
    if (expired.length === entries.length) {
      return others.length === 0 ? words.expired(title) : words.expiredCount(entries.length);
    }
    if (ended.length === 1 && others.length === 0) return `${words.noMatch}${words.colon}${title}`;
  }
  const counts = new Map(more);
  for (const each of entries) counts.set(newsOf(each), (counts.get(newsOf(each)) ?? 0) + 1);
  const news = NEWS_KINDS.flatMap((kind) => (counts.has(kind) ? [words.news[kind](counts.get(kind) as number)] : []));
  const towns = new Set(live.map(({ property }) => cleanText(property.city?.name ?? '')));
  const [town = ''] = towns;
  const where =
    towns.size === 1 && town !== '' && more.size === 0 ? town : searches.length === 1 ? searches[0]?.name : '';
  const what = new Intl.ListFormat(words.locale).format(news);
  return where ? `${what} – ${where}` : what;
}

function newsOf({ property, causes }: MailEntry): NewsKind {
  if (property.expired) return 'gone';
  const facts = causes.flatMap((cause) => cause.facts);
  if (facts.some(({ type }) => type === 'match')) return 'match';
  if (property.price !== null && property.price < (property.priceBefore ?? 0)) return 'cut';
  return facts.some(({ isBack }) => isBack) ? 'back' : 'change';
}

/** For one live property: its title, price and town; otherwise the headline. */
function subjectOf(contents: MailContents, words: MailWords): string {
  const { live } = byExpiry(contents);
  const [entry] = live;
  if (entry === undefined || contents.entries.length + totalOf(contents.more) > 1) return headlineOf(contents, words);
  const [title, price] = [titleOf(entry.property, words), priceOf(entry.property, words)];
  const what = price === null ? title : `${title}, ${priceText({ ...price, perMeter: '' })}`;
  const town = cleanText(entry.property.city?.name ?? '');
  return town === '' || title.includes(town) ? what : `${what} – ${town}`;
}

/** The first properties if the subject counts properties; the description if the subject names one property. */
function preheaderOf(live: readonly MailEntry[], words: MailWords): string {
  const [one] = live;
  if (live.length === 1 && one !== undefined) {
    const badges = badgesOf(one.causes, priceOf(one.property, words), words);
    return [...badges.map(({ text }) => text), ...factsOf(one.property, words)].join(' · ');
  }
  const shown = live.slice(0, PREHEADER_MAX).map(({ property }) => {
    const price = priceOf(property, words);
    return price === null ? titleOf(property, words) : `${titleOf(property, words)}, ${price.now}`;
  });
  return shown.join(' · ');
}

export function linesOf({ property, others, causes }: MailEntry, words: MailWords): EntryLines {
  const price = priceOf(property, words);
  const { link, picture, contact } = property;
  return {
    badges: badgesOf(causes, price, words),
    title: titleOf(property, words),
    kind: [kindOf(property, words), placeOf(property)].filter((part) => part !== '').join(', '),
    price,
    others: othersOf(others, words),
    facts: factsOf(property, words),
    reasons: reasonsOf(causes, words),
    link,
    contact,
    picture,
  };
}

function badgesOf(causes: readonly MailCause[], price: PriceLine | null, words: MailWords): readonly Badge[] {
  const facts = causes.flatMap((cause) => cause.facts);
  const badges: Badge[] = [];
  if (facts.some(({ type }) => type === 'match')) badges.push({ kind: 'match', text: words.badges.match });
  if (price?.change) {
    const kind = price.change.isCut ? 'cut' : 'rise';
    badges.push({ kind, text: words.badges[kind](price.change.percent) });
  }
  if (facts.some(({ isBack }) => isBack)) badges.push({ kind: 'back', text: words.badges.back });
  return badges;
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

/** One advert for each price. */
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

/** Facts that several searches share become one sentence; returns as many lines as fit. */
function reasonsOf(causes: readonly MailCause[], words: MailWords): readonly string[] {
  const titles = new Map<string, Set<string>>();
  for (const { searchName, facts, misses, marketPercent, nearby, alternative } of causes) {
    const factTexts = facts.map((fact) => factText(fact, misses.length > 0, words));
    const left = misses.length === 0 ? [] : [`${words.noMatch}${words.colon}${misses.join(' ')}`];
    const market = marketPercent === null ? [] : [words.market(Math.round(marketPercent))];
    const by = alternative === null ? [] : [alternative.replace(/\.$/, '')];
    const text = [...new Set([...factTexts, ...market, ...nearby, ...by, ...left])].join(words.semicolon);
    titles.set(text, (titles.get(text) ?? new Set()).add(cleanText(searchName)));
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
  const percent = FORMATS[words.language].percent.format(ratio).replace('-', '−');
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

export function priceText({ before, now, change, perMeter }: PriceLine): string {
  const old = before === null ? '' : `${before} → `;
  const percent = change === null ? '' : ` (${change.percent})`;
  return `${old}${now}${percent}${perMeter === '' ? '' : `, ${perMeter}`}`;
}

function factsOf(property: MailProperty, words: MailWords): readonly string[] {
  const { surface, landSurface, room, bedroom, energyClass, publisher } = property;
  return [
    surface === null ? '' : squareMetres(surface, words),
    room === null ? '' : words.rooms(room),
    // A studio has no bedroom.
    bedroom === null || bedroom === 0 ? '' : words.bedrooms(bedroom),
    landSurface === null ? '' : words.land(squareMetres(landSurface, words)),
    energyClass === null ? '' : words.energy(cleanText(energyClass)),
    cleanText(publisher ?? ''),
  ].filter((fact) => fact !== '');
}

function squareMetres(value: number, { language }: MailWords): string {
  return `${FORMATS[language].number.format(value)}\u00a0m²`;
}

/** Formats the values of a change. A change of the entry's own price is shown with that price instead. */
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

/** Shows cents if there are any: 749,50 is not 750. */
function eurosOf(value: number, { language }: MailWords): string {
  return FORMATS[language].euros.format(value);
}

/** Creating a format takes longer than writing a property. */
const FORMATS = { fr: formatsOf(MAIL_WORDS.fr), en: formatsOf(MAIL_WORDS.en) };

function formatsOf({ locale }: MailWords) {
  const euros = { style: 'currency', currency: 'EUR', trailingZeroDisplay: 'stripIfInteger' } as const;
  const percent = { style: 'percent', maximumFractionDigits: 1, signDisplay: 'exceptZero' } as const;
  return {
    euros: new Intl.NumberFormat(locale, euros),
    percent: new Intl.NumberFormat(locale, percent),
    number: new Intl.NumberFormat(locale),
  };
}

function plainText(parts: MailParts): string {
  const { headline, searches, remarks, entries, notes, more, why, words } = parts;
  const { text, url } = parts.link;
  const named = searches.map(({ name, criteria }) => [name, ...(criteria === null ? [] : [criteria])].join('\n'));
  const blocks = entries.map(({ badges, title, kind, price, others, facts, reasons, link, contact }) =>
    [
      badges.map((badge) => badge.text).join(' · '),
      ...[title, kind, price === null ? '' : priceText(price), others, facts.join(' · '), ...reasons, link],
      ...(contact === null ? [] : [contact.name, contact.phone, contact.email, words.reference(contact.reference)]),
    ]
      .filter((line) => line)
      .join('\n'),
  );
  const counted = more === null ? [] : [`${more.text} ${more.show}${words.colon}${url}`];
  const foot = `-- \n${why}\n${text}${words.colon}${url}`;
  return `${[headline, ...named, ...remarks, ...blocks, ...notes, ...counted, foot].join('\n\n')}\n`;
}
