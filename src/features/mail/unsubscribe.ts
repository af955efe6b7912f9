/**
 * `/unsubscribe/{token}`: the target of the link in an e-mail (decisions, section 12). A GET asks and changes nothing,
 * because mail servers follow links; a POST unsubscribes, from the page or in one click (RFC 8058). No key: the token
 * is the proof. The page shows the criteria of the searches, and no address: anyone with the link sees it.
 */

import type Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import helmet from 'koa-helmet';
import { RENT } from '../../engine/domain/codes.ts';
import { listOf } from '../../engine/domain/criterion-kinds.ts';
import { plainCriteria, type RowOf, rangeAsked } from '../../engine/domain/criterion-table.ts';
import { type InLanguages, type Language, shownQuantity } from '../../engine/domain/criterion-words.ts';
import { type ExpressionEntry, parseExpressions } from '../../engine/domain/expressions.ts';
import { featureLabels } from '../../engine/domain/feature-criteria.ts';
import type { SearchMembers } from '../../engine/domain/search.ts';
import { mayBeUnknown } from '../../engine/domain/unknown-criteria.ts';
import { gatherReads } from '../../engine/store/gathered-reads.ts';
import { siteCategoryNames } from '../../engine/store/site-categories.ts';
import { answerBytes, escapeHtml } from '../../rest/content.ts';
import type { ApiDependencies } from '../../rest/dependencies.ts';
import { readLinkedSearches, readSubscriptions, resubscribe, unsubscribe } from './mail-recipients.ts';
import { cleanText, MAIL_WORDS } from './mail-words.ts';

/** 128 bits in base64url. Links of earlier e-mails have twelve digits before it. */
const LINK = /^(?:[0-9a-f]{12}\.)?([A-Za-z0-9_-]{22})$/;

const SEARCHES_MAX = 20;

/** A POST to the link itself unsubscribes, whatever its body. */
const TAKES_BACK = '?again';

export function unsubscribeRoutes(
  router: Router,
  { database, publicDatabase = database, reference, settings, keepChoice = async () => undefined }: ApiDependencies,
): void {
  const find = gatherReads((tokens) => readSubscriptions(publicDatabase, tokens));
  const { mailLanguage: language } = settings;
  const words = MAIL_WORDS[language]?.page;

  const show = (ctx: Context, status: 200 | 404, body: string): void => {
    answerBytes(ctx, 'text/html; charset=utf-8', pageOf(words.title, body, language), status, null);
    ctx.set('Cache-Control', 'no-store');
    ctx.set('X-Robots-Tag', 'noindex');
  };

  /** A list of the searches, each with its criteria in words. */
  const searchesOf = async (token: string): Promise<string> => {
    const searches = await readLinkedSearches(publicDatabase, token, SEARCHES_MAX + 1);
    const names = {
      city: (insee: string) => reference.city(insee)?.name ?? null,
      department: (code: string) => reference.department(code)?.name ?? null,
      siteCategory: await siteCategoryNames(publicDatabase),
    };
    const items = searches.slice(0, SEARCHES_MAX).map((members) => {
      const lines = searchWords(members, names, language).map((line) => `<br>${escapeHtml(line)}`);
      return `<li><strong>${escapeHtml(cleanText(members.title))}</strong>${lines.join('')}</li>`;
    });
    return `<ul>\n${[...items, ...(searches.length > SEARCHES_MAX ? ['<li>…</li>'] : [])].join('\n')}\n</ul>\n`;
  };

  router.get('/unsubscribe/:token', secureForm, async (ctx) => {
    const token = tokenOf(ctx);
    const known = token === null ? null : await find(token);
    if (token === null || known === null) return show(ctx, 404, paragraph(words.unknown));
    const asked =
      known === 'unsubscribed' ? form(TAKES_BACK, words.done, words.takeBack) : form('', words.question, words.confirm);
    show(ctx, 200, `${asked}\n${await searchesOf(token)}`);
  });

  router.post('/unsubscribe/:token', secureForm, async (ctx) => {
    const token = tokenOf(ctx);
    // Guessed tokens take no connection of the clients'.
    const isKnown = token !== null && (await find(token)) !== null;
    if (ctx.search === TAKES_BACK) {
      const isAgain = isKnown && (await resubscribe(database, token, keepChoice));
      show(ctx, isAgain ? 200 : 404, paragraph(isAgain ? words.again : words.unknown));
      return;
    }
    const isDone = isKnown && (await unsubscribe(database, token, keepChoice));
    show(ctx, isDone ? 200 : 404, isDone ? form(TAKES_BACK, words.done, words.takeBack) : paragraph(words.unknown));
  });
}

function tokenOf(ctx: Context): string | null {
  return LINK.exec(String(ctx.params.token))?.[1] ?? null;
}

/** The form leads back to its origin, and the page loads nothing. */
const secureForm: Middleware = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      baseUri: ["'none'"],
      formAction: ["'self'"],
      frameAncestors: ["'none'"],
    },
  },
});

function paragraph(text: string): string {
  return `<p>${escapeHtml(text)}</p>`;
}

/** `action`: relative, empty for the page itself. */
function form(action: string, question: string, confirm: string): string {
  return `${paragraph(question)}
<form method="post"${action === '' ? '' : ` action="${action}"`}><button type="submit">${escapeHtml(confirm)}</button></form>`;
}

function pageOf(title: string, body: string, language: string): string {
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
</head>
<body>
<h1>${escapeHtml(title)}</h1>
${body}
</body>
</html>
`;
}

/** Null: the code is no longer in use. */
interface PlaceNames {
  readonly city: (insee: string) => string | null;
  readonly department: (code: string) => string | null;
  readonly siteCategory: (id: number) => string | null;
}

/** The criteria of a search in words for the recipient of its e-mails, who has no key to read it with. */
const FRENCH = {
  labels: {
    energy: 'Classe énergie',
    greenHouseGas: 'Classe gaz à effet de serre',
    includedFeatures: 'Avec',
    excludedFeatures: 'Sans',
    areas: 'Lieu',
    excludedCities: 'Sauf à',
    publisherTypes: 'Annonceur',
    includedSiteCategories: 'Sites',
    excludedSiteCategories: 'Sauf les sites',
    expressions: "Texte de l'annonce",
  },
  publisherTypes: ['particulier', 'professionnel'],
  anything: 'Tous les biens',
  or: 'ou',
  without: 'sans',
  orUnknown: '(ou non précisé)',
  exactly: 'exactement',
  quote: (text: string) => `« ${text} »`,
  from: (min: string) => `à partir de ${min}`,
  upTo: (max: string) => `jusqu'à ${max}`,
  between: (min: string, max: string) => `de ${min} à ${max}`,
  around: (km: string, place: string) => `à ${km.replace('.', ',')} km autour de ${place}`,
  drawn: (count: number) => (count === 1 ? 'une zone dessinée' : `${count} zones dessinées`),
  more: (count: number) => (count === 1 ? '1 autre' : `${count} autres`),
};

type SearchWords = typeof FRENCH;
type Label = keyof SearchWords['labels'];

const ENGLISH: SearchWords = {
  labels: {
    energy: 'Energy class',
    greenHouseGas: 'Greenhouse gas class',
    includedFeatures: 'With',
    excludedFeatures: 'Without',
    areas: 'Place',
    excludedCities: 'Not in',
    publisherTypes: 'Publisher',
    includedSiteCategories: 'Sites',
    excludedSiteCategories: 'Not on sites',
    expressions: 'Text of the advert',
  },
  publisherTypes: ['individual', 'professional'],
  anything: 'Any property',
  or: 'or',
  without: 'without',
  orUnknown: '(or not stated)',
  exactly: 'exactly',
  quote: (text) => `“${text}”`,
  from: (min) => `from ${min}`,
  upTo: (max) => `up to ${max}`,
  between: (min, max) => `${min} to ${max}`,
  around: (km, place) => `within ${km} km of ${place}`,
  drawn: (count) => (count === 1 ? 'a drawn area' : `${count} drawn areas`),
  more: (count) => (count === 1 ? '1 more' : `${count} more`),
};

const WORDS: InLanguages<SearchWords> = { fr: FRENCH, en: ENGLISH };

/** Maximum items of a list: a search may name every commune. */
const LISTED_MAX = 20;

/** A line for each criterion that is set. */
function searchWords(members: SearchMembers, names: PlaceNames, language: Language): readonly string[] {
  const words = WORDS[language];
  const { colon } = MAIL_WORDS[language];
  const accepted = members.orMissing.filter(mayBeUnknown);
  const accepting = (line: string, ...criteria: readonly string[]): string =>
    line !== '' && criteria.some((name) => accepted.includes(name)) ? `${line} ${words.orUnknown}` : line;
  const labelled = (label: Label, text: string): string =>
    text === '' ? '' : accepting(`${words.labels[label]}${colon}${text}`, label);
  const list: List = (texts) => listed(texts, 'disjunction', language);
  const categories = (ids: readonly number[]): string => list(ids.map(names.siteCategory));
  const lines = [
    accepting(kindOf(members, list, language), 'transactionType', 'propertyTypes'),
    labelled('areas', areasOf(members, names, words, list)),
    labelled('excludedCities', list(members.excludedCities.map(names.city))),
    ...plainCriteria('range').map((row) => {
      const bounds = boundsOf(row, members, language);
      return bounds === '' ? '' : accepting(`${labelOf(row.words.what[language])}${colon}${bounds}`, row.name);
    }),
    ...plainCriteria('flag').map((row) => {
      const asked = members[row.name];
      return asked === null ? '' : accepting(row.words[language].asked[asked ? 1 : 0], row.name);
    }),
    ...plainCriteria('requirement').map(({ name, reason }) => {
      const fulfilled = reason({ holds: true, expected: true, actual: true }, language);
      return members[name] === true ? accepting(fulfilled.replace(/\.$/, ''), name) : '';
    }),
    ...plainCriteria('letters').map((row) => labelled(row.name, list(listOf(members[row.memberName])))),
    labelled('includedFeatures', featureLabels(members.includedFeatures, language)),
    labelled('excludedFeatures', featureLabels(members.excludedFeatures, language)),
    labelled('publisherTypes', list(listOf(members.publisherTypes).map((type) => words.publisherTypes[type] ?? null))),
    labelled('includedSiteCategories', categories(members.includedSiteCategories)),
    labelled('excludedSiteCategories', categories(members.excludedSiteCategories)),
    labelled('expressions', textsOf(members, words, language)),
  ];
  return lines.filter((line) => line !== '').map(cleanText);
}

/** Without its article: `Le prix` is `Prix`. */
function labelOf(what: string): string {
  const label = what.replace(/^(?:Les? |La |L'|The )/, '');
  return `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
}

type Texts = readonly (string | null)[];
type List = (texts: Texts) => string;

function listed(texts: Texts, type: 'conjunction' | 'disjunction', language: Language): string {
  const known = texts.flatMap((text) => text || []);
  const shown = known.slice(0, LISTED_MAX);
  if (known.length > shown.length) shown.push(WORDS[language].more(known.length - shown.length));
  return new Intl.ListFormat(MAIL_WORDS[language].locale, { type }).format(shown);
}

function kindOf({ propertyTypes, transactionType }: SearchMembers, list: List, language: Language): string {
  const words = MAIL_WORDS[language];
  const types = list(listOf(propertyTypes).map((type) => words.propertyTypes[type] ?? null));
  if (transactionType === null) return types || WORDS[language].anything;
  return `${types || WORDS[language].anything} ${transactionType === RENT ? words.toRent : words.toSell}`;
}

function areasOf(members: SearchMembers, names: PlaceNames, words: SearchWords, list: List): string {
  const { lat, lon, radius, geoShapes } = members;
  return list([
    lat === null || lon === null || radius === null ? null : words.around(radius, `${lat}, ${lon}`),
    geoShapes.length === 0 ? null : words.drawn(geoShapes.length),
    ...members.includedDepartments.map(names.department),
    ...[...new Set([...members.includedCities, ...members.includedInseeCodes])].map(names.city),
    ...members.includedZipcodes,
  ]);
}

function boundsOf(row: RowOf<'range'>, members: SearchMembers, language: Language): string {
  const words = WORDS[language];
  const { min, max } = rangeAsked(row, members);
  const show = (value: number): string => shownQuantity(value, row.words.unit, language);
  if (min === null) return max === null ? '' : words.upTo(show(max));
  return max === null ? words.from(show(min)) : words.between(show(min), show(max));
}

function textsOf({ expressions }: SearchMembers, words: SearchWords, language: Language): string {
  const entryOf = ({ word, includes, strict }: ExpressionEntry): string =>
    [includes ? '' : words.without, strict ? words.exactly : '', words.quote(word)]
      .filter((part) => part !== '')
      .join(' ');
  const groups = parseExpressions(expressions).map((group) => listed(group.map(entryOf), 'conjunction', language));
  return groups.join(`, ${words.or} `);
}
