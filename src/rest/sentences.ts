/**
 * Every sentence that refuses a request, in both languages: English unless `Accept-Language` prefers French (decisions,
 * section 7). A sentence about a member or a parameter follows its name.
 */

import type { Context } from 'koa';
import type { Language, Unit } from '../engine/domain/criterion-words.ts';
import { count, type Sentence, said } from '../values.ts';

export type { Sentence };

/** Text that is the same in every language, or comes from a library with one language. */
export const verbatim = (text: string): Sentence => said(text, text);

export const joined = (sentences: readonly Sentence[], separator: string): Sentence =>
  said(sentences.map(({ en }) => en).join(separator), sentences.map(({ fr }) => fr).join(separator));

/** `budgetMin: must be an integer`, `budgetMin : doit être un nombre entier`; without a name only the sentence. */
export const ofMember = (name: string, { en, fr }: Sentence): Sentence =>
  name === '' ? said(en, fr) : said(`${name}: ${en}`, `${name} : ${fr}`);

/** `radius must be …`, `radius doit …` */
export const ofParameter = (name: string, { en, fr }: Sentence): Sentence => said(`${name} ${en}`, `${name} ${fr}`);

/** About a member of a body, or a parameter. `values.ts` has the faults of single values. */
export const FAULTS = {
  required: said('is required', 'est à remplir'),
  blankTitle: said('must not be blank', 'Donnez un titre'),
  array: said('must be an array', 'doit être une liste'),
  positiveInteger: said('must be an integer of 1 or more', 'doit être un nombre entier, de 1 au moins'),
  bytesAsJson: (most: number) =>
    said(`must have at most ${most} bytes as JSON`, `a au plus ${count(most)} octets en JSON`),
  parts: (most: number) =>
    said(
      `must have at most ${most} objects, lists and members in all`,
      `a au plus ${count(most)} objets, listes et membres en tout`,
    ),
  aboveMaximum: (most: number, unit: Unit) => {
    const [en, fr] = unit === 'year' ? [most, most] : [most.toLocaleString('en'), count(most)];
    return said(`must not be above the maximum, which is ${en}`, `ne doit pas dépasser le maximum, qui est de ${fr}`);
  },
  unsetCriterion: said('is a criterion that the search does not set', 'est un critère que la recherche n’a pas'),
  includedToo: said('is in includedFeatures too', 'est aussi dans includedFeatures'),
  impliedBy: (name: string) =>
    said(`is part of ${name}, which includedFeatures names`, `est compris dans ${name}, que demande includedFeatures`),
  circle: said('lat, lon and radius come together', 'la latitude, la longitude et le rayon vont ensemble'),
  consent: said('must be an object of source and at, or null', 'doit être un objet avec source et at, ou null'),
  threshold: said(
    'must be an object of percent, amount, direction and since, with one of the first three',
    'doit être un objet avec percent, amount, direction et since, dont l’un des trois premiers',
  ),
  thresholds: (fields: readonly string[]) =>
    said(
      `must be null, or an object of a threshold for ${fields.join(' or ')}`,
      `doit être null, ou un objet avec un seuil pour ${fields.join(' ou ')}`,
    ),
  unknown: (what: Sentence) => said(`is no ${what.en}`, `n’est pas ${what.fr}`),
  unknownNear: (what: Sentence, nearest: string) =>
    said(`is no ${what.en}; the nearest one is ${nearest}`, `n’est pas ${what.fr} ; le plus proche est ${nearest}`),
  nothing: (collection: string) =>
    said(
      `refers to nothing; GET ${collection} lists what there is`,
      `n’existe pas ou plus ; GET ${collection} donne ce qui existe`,
    ),
  noCommune: said(
    'is the code of no commune; GET /cities lists them',
    'n’est le code d’aucune commune ; GET /cities les donne',
  ),
  noZipcode: said(
    'is the zip code of no commune; GET /cities lists them',
    'n’est le code postal d’aucune commune ; GET /cities les donne',
  ),
  zipcode: said('must be five digits', 'doit avoir cinq chiffres'),
  insee: said('must be an INSEE code, such as 83137', 'doit être un code INSEE, tel que 83137'),
  uuids: said('must be UUIDs', 'doit être une suite d’UUID'),
  uuidsMost: (most: number) => said(`must be at most ${most} UUIDs`, `a au plus ${most} UUID`),
  twice: said('was sent more than once', 'a été envoyé plusieurs fois'),
  withinKept: (days: number) =>
    said(
      `must be within the ${days} days that deliveries are kept`,
      `doit être dans les ${days} jours où les envois sont conservés`,
    ),
  afterUntil: said('must not be after until', 'ne doit pas suivre la fin de la période'),
  usedEndpoint: said(
    'must be an endpoint that something was sent to',
    'doit être une adresse à laquelle quelque chose a été envoyé',
  ),
  absoluteUrl: said('must be an absolute URL', 'doit être une adresse complète, telle que https://exemple.fr/webhook'),
  https: said('must be an https URL', 'doit commencer par https://'),
  httpsOrHttp: said('must be an https or http URL', 'doit commencer par https:// ou http://'),
  credentials: said('must not contain credentials', 'ne doit pas contenir de mot de passe'),
  ports: (ports: string) =>
    said(`must have one of the ports ${ports}`, `doit avoir l’un de ces ports : ${ports.replaceAll(' to ', ' à ')}`),
  privateNetwork: said('must not point into a private network', 'ne doit pas mener à un réseau privé'),
  shapeForm: said(
    'must be nested arrays of positions, or GeoJSON Polygon or MultiPolygon',
    'doit être des listes de points, ou un Polygon ou MultiPolygon de GeoJSON',
  ),
  positions: (most: number) => said(`must have at most ${most} positions`, `a au plus ${count(most)} points`),
  polygon: said('a polygon must be an array of rings', 'un polygone doit être une liste d’anneaux'),
  ring: said('a ring must be an array of positions', 'un anneau doit être une liste de points'),
  closedRing: said(
    'a ring must be closed: at least four positions, the last equal to the first',
    'un polygone doit être fermé : quatre points au moins, le dernier égal au premier',
  ),
  position: said(
    'a position must be [longitude, latitude] in degrees',
    'un point est une longitude et une latitude, en degrés',
  ),
  objectBody: said('the body must be a JSON object', 'le corps doit être un objet JSON'),
  anotherBody: said('was sent with another body before', 'a été envoyé auparavant avec un autre corps'),
} as const;

/** The resource in the message about an unknown member. */
export const KINDS_OF_MEMBER = {
  search: said('member of a search', 'un membre d’une recherche'),
  recovery: said('member of a recovery', 'un membre d’un rattrapage'),
  endpoint: said('member of an endpoint', 'un membre d’une adresse'),
  secret: said('member of a new secret', 'un membre d’un secret de webhook'),
} as const;

/** The kind of member in the message about an unknown member of a nested object. */
export const OF_OBJECT = said('member of this object', 'un membre de cet objet');

/** The kind of thing that was not found. */
export const THINGS = {
  search: said('this search', 'Cette recherche'),
  match: said('this match', 'Cette correspondance'),
  delivery: said('this delivery', 'Cet envoi'),
  property: said('this property', 'Ce bien'),
  recovery: said('this recovery', 'Ce rattrapage'),
  endpoint: said('this endpoint', 'Cette adresse'),
  webhookSecret: said('this webhook secret', 'Ce secret'),
  recipient: said('this recipient', 'Ce destinataire'),
  user: said('this user', 'Cet utilisateur'),
  city: said('this city', 'Cette ville'),
  department: said('this department', 'Ce département'),
  siteCategory: said('this site category', 'Cette catégorie de site'),
  feature: said('this feature', 'Cet équipement'),
  consoleFile: said('this file of the console', 'Ce fichier de la console'),
  context: said('this context', 'Ce contexte'),
  page: said('this page', 'Cette page'),
} as const;

export type Thing = (typeof THINGS)[keyof typeof THINGS];

/** The kind of thing that is limited. */
export const LIMITED = {
  queries: said('previews, lists of properties and of explanations', 'aperçus, listes de biens et d’explications'),
  singleQueries: said('explanations and completions', 'explications et recherches de lieux'),
  webhookTests: said('webhook tests', 'essais de webhook'),
  feedPolls: said('waiting polls of the feed', 'attentes du flux'),
  lists: said('lists over all searches', 'listes de toutes les recherches'),
  requests: said('requests', 'demandes'),
  largePages: said('large pages', 'grandes pages'),
  connections: said('connections', 'connexions'),
  bodyBytes: said('bytes of request bodies', 'octets de corps de requêtes'),
} as const;

const LIMITS = {
  searches: [said('search', 'recherche'), said('searches', 'recherches')],
  polygonCorners: [
    said('corner of a polygon', 'sommet de polygone'),
    said('corners of polygons', 'sommets de polygones'),
  ],
  excludedWords: [said('excluded word', 'mot exclu'), said('excluded words', 'mots exclus')],
  matchesPerAdvert: [
    said('match per advert', 'correspondance par annonce'),
    said('matches per advert', 'correspondances par annonce'),
  ],
} as const;

/** About a request as a whole. */
export const REFUSALS = {
  notFound: ({ en, fr }: Thing) => said(`${en} was not found`, `${fr} n’existe pas, ou plus.`),
  noPath: said('there is nothing at this path', 'Il n’y a rien à cette adresse.'),
  noSearch: said('there is no such search', 'Cette recherche n’existe pas, ou plus.'),
  notHeld: said(
    'no such property is held: it was never taken in, or has been forgotten since it expired',
    'Ce bien n’est pas connu : il n’a jamais été reçu, ou il a expiré depuis trop longtemps.',
  ),
  methods: (allowed: string) => said(`this resource knows ${allowed}`, `Cette ressource connaît ${allowed}.`),
  starting: said('the service is starting, try again', 'Le service démarre : réessayez dans un instant.'),
  storeAway: said(
    'the store is not reachable, try again',
    'Le service n’atteint pas ses données : réessayez dans un instant.',
  ),
  storeFull: said(
    'the disk of the service is full and nothing can be saved: its operator has to make room; try again later',
    'Le disque du service est plein et rien ne peut être enregistré : son exploitant doit faire de la place ; réessayez plus tard.',
  ),
  bug: said('an error of the service, logged under the request id', 'Le service a fait une erreur, qu’il a notée.'),
  clientGone: said('the client has gone', 'Le client est parti.'),
  clientLeft: said('the client left before the answer', 'Le client est parti avant la réponse.'),
  noKey: said('send your API key in the header X-API-KEY', 'Envoyez votre clé d’API dans l’en-tête X-API-KEY.'),
  unknownKey: said('this API key is unknown or revoked', 'Cette clé d’API est inconnue ou révoquée.'),
  connections: said('too many connections of this client', 'Ce client a trop de connexions.'),
  rate: (perSecond: number, isWriting: boolean) =>
    said(
      `at most ${perSecond} ${isWriting ? 'writing ' : ''}requests a second`,
      `Au plus ${count(perSecond)} ${isWriting ? 'écritures' : 'demandes'} par seconde : réessayez dans un instant.`,
    ),
  testRate: (perSecond: number) =>
    said(`at most ${perSecond} webhook tests a second`, `Au plus ${perSecond} essais de webhook par seconde.`),
  tooManyAtOnce: ({ en, fr }: Sentence, most: number) =>
    said(
      `too many ${en} at once: ${most} of a client may be under way`,
      `Trop de demandes à la fois (${fr} : ${most} au plus) : réessayez dans un instant.`,
    ),
  busyWith: ({ en, fr }: Sentence, most: number, seconds: number) =>
    said(
      `the service is busy: ${most} ${en} are under way, try again in ${seconds} s`,
      `Le service est occupé (${fr} : ${most} en cours) : réessayez dans ${seconds} s.`,
    ),
  busy: (seconds: number) =>
    said(`the service is busy: try again in ${seconds} s`, `Le service est occupé : réessayez dans ${seconds} s.`),
  tooLong: said(
    'this question takes too long: ask for less',
    'La question demande trop de temps : précisez-la, ou réessayez plus tard.',
  ),
  questionFailed: said(
    'what answers this question has failed and is started again: ask again',
    'Ce qui répond à cette question a échoué et redémarre : demandez à nouveau.',
  ),
  largePage: said(
    'this page is large, and as many as may be are under way: ask for fewer items',
    'Cette page est grande, et il y en a assez en cours : demandez moins d’éléments.',
  ),
  listed: (most: number) =>
    said(
      `only the first ${most} are listed: order the other way, or name a search`,
      `Seuls les ${count(most)} premiers sont listés : inversez l’ordre, ou nommez une recherche.`,
    ),
  unknownParameter: (name: string, known: string) =>
    said(`unknown parameter ${name}, known are ${known}`, `paramètre inconnu ${name}, sont connus ${known}`),
  oneOrder: said(
    'the list has one order: send one of the parameters order[…]',
    'La liste a un seul ordre : envoyez un seul des paramètres order[…].',
  ),
  oneWay: said(
    'name the property by one of property, advert and url',
    'Nommez le bien par un seul de property, advert et url.',
  ),
  noCursor: said(
    'after is no cursor of this feed, or of another client or filter',
    'after n’est pas un curseur de ce flux, ou est celui d’un autre client ou filtre.',
  ),
  beginAgain: ({ en, fr }: Sentence) =>
    said(`${en}: begin again after oldest, or without a cursor`, `${fr} : recommencez après oldest, ou sans curseur.`),
  cursorRestored: said(
    'after is from before the service was restored',
    'after date d’avant la restauration du service',
  ),
  cursorOld: said('after is older than what is kept', 'after est plus ancien que ce qui est conservé'),
  bodyNeeded: said('a JSON body is needed', 'Il faut un corps JSON.'),
  sendOneOf: (types: string) => said(`send one of ${types}`, `Envoyez l’un de : ${types}.`),
  sendUtf8: said('send UTF-8', 'Envoyez de l’UTF-8.'),
  notUtf8: said('the body is not UTF-8', 'Le corps n’est pas de l’UTF-8.'),
  encoding: said('this Content-Encoding is not supported', 'Ce Content-Encoding n’est pas accepté.'),
  notEncoded: said('the body is not in its Content-Encoding', 'Le corps n’est pas dans son Content-Encoding.'),
  bodySize: (most: number) => said(`the body is larger than ${most} bytes`, `Le corps dépasse ${count(most)} octets.`),
  body: ({ en, fr }: Sentence) => said(`the body ${en}`, `le corps ${fr}`),
  bodyDepth: (most: number) =>
    said(`the body is nested more than ${most} levels deep`, `Le corps a plus de ${most} niveaux.`),
  notJson: (message: string) =>
    said(`the body is not valid JSON: ${message}`, `Le corps n’est pas du JSON valable : ${message}`),
  servedAs: (types: string) => said(`this resource is served as ${types}`, `Cette ressource est servie en ${types}.`),
  changedSince: said(
    'the resource is not the one that If-Match names: read it again',
    'La ressource n’est plus celle que nomme If-Match : relisez-la.',
  ),
  asItIs: said('If-None-Match names the resource as it is', 'If-None-Match nomme la ressource telle qu’elle est.'),
  idempotencyKeyLength: (most: number) =>
    said(`Idempotency-Key must have 1 to ${most} characters`, `Idempotency-Key a de 1 à ${most} caractères.`),
  idempotencyUnderWay: said(
    'a request with this Idempotency-Key is under way',
    'Une demande avec cette Idempotency-Key est en cours.',
  ),
  idempotencyGone: said(
    'what the first request with this Idempotency-Key made has gone',
    'Ce que la première demande avec cette Idempotency-Key a créé n’existe plus.',
  ),
  thisIdempotencyKey: ({ en, fr }: Sentence) => said(`this Idempotency-Key ${en}`, `cette Idempotency-Key ${fr}`),
  andMore: (more: number) => said(`and ${more} more`, `et ${count(more)} de plus`),
  endpoint: ({ en, fr }: Sentence) => said(`endpoint ${en}`, `L’adresse ${fr}.`),
  deliversNot: said('this process does not deliver', 'Ce processus n’envoie rien.'),
  eventType: (kinds: string) =>
    said(`eventType is required: one of ${kinds}`, `Il faut eventType, l’un de : ${kinds}.`),
  eventTypes: said('eventType and type contradict each other', 'eventType et type se contredisent.'),
  notResent: ({ en, fr }: Sentence) => said(`it is not sent again: ${en}`, `Rien n’est renvoyé : ${fr}.`),
  recoveryOpen: said(
    'you have a recovery that is not finished: wait for its end, or stop it',
    'Un rattrapage n’est pas terminé : attendez sa fin, ou arrêtez-le.',
  ),
  secrets: (most: number) =>
    said(
      `you have ${most} secrets that are alive: delete one, or let one expire`,
      `Vous avez déjà ${most} secrets : supprimez-en un, ou attendez que l’un d’eux expire.`,
    ),
  pauses: (most: number) =>
    said(
      `you have paused ${most} endpoints: resume one first`,
      `Vous avez déjà mis ${count(most)} adresses en pause : reprenez-en une d’abord.`,
    ),
  pausedByOperator: said(
    'an operator has paused this endpoint, and only an operator ends that',
    'Un opérateur a mis cette adresse en pause, et lui seul peut y mettre fin.',
  ),
  beyond: (limit: keyof typeof LIMITS, maximum: number, used: number, added: number) => {
    const [one, several] = LIMITS[limit];
    const what = maximum === 1 ? one : several;
    const isEstimated = limit === 'matchesPerAdvert';
    return said(
      `you may have ${maximum} ${what.en} in all, and ${isEstimated ? `by estimate have ${used}; this would add ${added}` : `have ${used}`}`,
      `Vous pouvez avoir ${count(maximum)} ${what.fr} en tout, et en avez ${count(used)}${isEstimated ? ` par estimation ; ceci en ajouterait ${count(added)}` : ''}.`,
    );
  },
} as const;

export type { Language };

/** The preferred language of the client's user; `fallback` without a preference. */
export function languageOf(ctx: Context, fallback: Language): Language {
  ctx.vary('Accept-Language');
  const accepted = ctx.req.headers['accept-language'];
  const ordered = fallback === 'fr' ? ['fr', 'en'] : ['en', 'fr'];
  const language = accepted === undefined || accepted === '*' ? fallback : ctx.acceptsLanguages(...ordered);
  const chosen = language === 'fr' || language === 'en' ? language : fallback;
  ctx.set('Content-Language', chosen);
  return chosen;
}
