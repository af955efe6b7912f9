/**
 * Sentences that refuse a request, in both languages: English unless `Accept-Language` prefers French (decisions,
 * section 7). A sentence about a member or a parameter follows its name.
 */

import type { Context } from 'koa';
import type { Language, Unit } from '../engine/domain/criterion-words.ts';
import { both, count, type Sentence } from '../values.ts';

export type { Sentence };

/** Text that is the same in both languages, or of a library that has only one. */
export const verbatim = (text: string): Sentence => both(text, text);

export const joinSentences = (sentences: readonly Sentence[], separator: string): Sentence =>
  both(sentences.map(({ en }) => en).join(separator), sentences.map(({ fr }) => fr).join(separator.replace(';', ' ;')));

/** `budgetMin: must be an integer`, `budgetMin : doit être un nombre entier`; without a name only the sentence. */
export const ofMember = (name: string, { en, fr }: Sentence): Sentence =>
  name === '' ? both(en, fr) : both(`${name}: ${en}`, `${name} : ${fr}`);

/** `radius must be …`, `radius doit …` */
export const ofParameter = (name: string, { en, fr }: Sentence): Sentence => both(`${name} ${en}`, `${name} ${fr}`);

/** Sentences about a member of a body, or a parameter. `values.ts` has the faults of single values. */
export const FAULTS = {
  required: both('is required', 'est obligatoire'),
  blankTitle: both('must not be blank', 'ne doit pas être vide'),
  array: both('must be an array', 'doit être une liste'),
  positiveInteger: both('must be an integer of 1 or more', 'doit être un nombre entier supérieur ou égal à 1'),
  bytesAsJson: (most: number) =>
    both(`must have at most ${most} bytes as JSON`, `doit avoir au plus ${count(most)} octets en JSON`),
  bytes: (most: number) =>
    both(`must have at most ${most} bytes in UTF-8`, `doit avoir au plus ${count(most)} octets en UTF-8`),
  parts: (most: number) =>
    both(
      `must have at most ${most} objects, lists and members in all`,
      `doit avoir au plus ${count(most)} objets, listes et champs en tout`,
    ),
  aboveMaximum: (most: number, unit: Unit) => {
    const [en, fr] = unit === 'year' ? [most, most] : [most.toLocaleString('en'), count(most)];
    return both(`must not be above the maximum, which is ${en}`, `ne doit pas dépasser le maximum, qui est de ${fr}`);
  },
  unsetCriterion: both('is a criterion that is not set here', 'est un critère qui n’est pas fixé ici'),
  includedToo: (list: string) => both(`is in ${list} too`, `est aussi dans ${list}`),
  publisherName: both('must have a letter or a digit', 'doit avoir une lettre ou un chiffre'),
  point: both(
    'must be an object with facility, and within or beyond',
    'doit être un objet avec facility, et within ou beyond',
  ),
  pointAttributes: both(
    'must be an object with schoolType or operatorType',
    'doit être un objet avec schoolType ou operatorType',
  ),
  oneDistance: both('must have either within or beyond', 'doit avoir soit within, soit beyond'),
  attributesOf: (facilities: string) =>
    both(`are known only for ${facilities}`, `ne sont connus que pour ${facilities}`),
  combinations: (most: number) =>
    both(
      `would make more than ${most} combinations of facility and attributes in your searches`,
      `dépasserait ${most} combinaisons de facility et attributes dans vos recherches`,
    ),
  impliedBy: (name: string) =>
    both(`is part of ${name}, which includedFeatures names`, `est compris dans ${name}, que demande includedFeatures`),
  circle: both('lat, lon and radius must be set together', 'lat, lon et radius doivent être fixés ensemble'),
  alternative: both('must be an object of criteria', 'doit être un objet de critères'),
  emptyAlternative: both('must set at least one criterion', 'doit fixer au moins un critère'),
  searchOnly: both(
    'is allowed on the search only, not in an alternative',
    'ne se fixe que sur la recherche, pas dans une alternative',
  ),
  setOnSearch: both('is set on the search too: remove one of them', 'est aussi fixé sur la recherche : retirez l’un'),
  placesOfAlternative: (most: number) => both(`must name at most ${most} places`, `doit nommer au plus ${most} lieux`),
  consent: both('must be an object with source and at, or null', 'doit être un objet avec source et at, ou null'),
  threshold: both(
    'must be an object with percent, amount, direction and since, and at least one of the first three',
    'doit être un objet avec percent, amount, direction et since, et au moins l’un des trois premiers',
  ),
  thresholds: (fields: readonly string[]) =>
    both(
      `must be null, or an object with a threshold for ${fields.join(' or ')}`,
      `doit être null, ou un objet avec un seuil pour ${fields.join(' ou ')}`,
    ),
  unknown: (what: Sentence) => both(`is not ${what.en}`, `n’est pas ${what.fr}`),
  unknownNear: (what: Sentence, nearest: string) =>
    both(`is not ${what.en}; the nearest one is ${nearest}`, `n’est pas ${what.fr} ; le plus proche est ${nearest}`),
  nothing: (collection: string) =>
    both(
      `does not exist; GET ${collection} lists the existing ones`,
      `n’existe pas ; GET ${collection} donne la liste`,
    ),
  noCommune: both(
    'is not the code of a commune; GET /cities lists them',
    'n’est le code d’aucune commune ; GET /cities donne la liste',
  ),
  noZipcode: both(
    'is not the zip code of a commune; GET /cities lists them',
    'n’est le code postal d’aucune commune ; GET /cities donne la liste',
  ),
  zipcode: both('must be five digits', 'doit avoir cinq chiffres'),
  insee: both('must be an INSEE code, such as 83137', 'doit être un code INSEE, tel que 83137'),
  idOrIri: (collection: string) =>
    both(`must be an id, or an IRI such as /${collection}/1`, `doit être un id, ou une IRI telle que /${collection}/1`),
  uuids: both('must be UUIDs', 'doit être une liste d’UUID'),
  uuidsMost: (most: number) => both(`must be at most ${most} UUIDs`, `doit être une liste de ${most} UUID au plus`),
  twice: both('was sent more than once', 'a été envoyé plusieurs fois'),
  withinKept: (days: number) =>
    both(
      `must be within the ${days} days for which deliveries are kept`,
      `doit être dans les ${days} jours où les envois sont conservés`,
    ),
  afterUntil: both('must not be after until', 'ne doit pas être après until'),
  usedEndpoint: both('must be an endpoint with deliveries', 'doit être une adresse qui a des envois'),
  absoluteUrl: both('must be an absolute URL', 'doit être une URL absolue, telle que https://exemple.fr/webhook'),
  https: both('must be an https URL', 'doit commencer par https://'),
  httpsOrHttp: both('must be an https or http URL', 'doit commencer par https:// ou http://'),
  credentials: both('must not contain credentials', 'ne doit pas contenir d’identifiants'),
  ports: (ports: string) =>
    both(`must have one of the ports ${ports}`, `doit avoir l’un de ces ports : ${ports.replaceAll(' to ', ' à ')}`),
  privateNetwork: both('must not point to a private network', 'ne doit pas mener à un réseau privé'),
  shapeForm: both(
    'must be nested arrays of positions, or a GeoJSON Polygon or MultiPolygon',
    'doit être des listes imbriquées de points, ou un Polygon ou MultiPolygon de GeoJSON',
  ),
  positions: (most: number) => both(`must have at most ${most} positions`, `doit avoir au plus ${count(most)} points`),
  polygon: both('a polygon must be an array of rings', 'un polygone doit être une liste d’anneaux'),
  ring: both('a ring must be an array of positions', 'un anneau doit être une liste de points'),
  closedRing: both(
    'a ring must be closed: at least four positions, the last equal to the first',
    'un anneau doit être fermé : quatre points au moins, le dernier égal au premier',
  ),
  position: both(
    'a position must be [longitude, latitude] in degrees',
    'un point doit être [longitude, latitude] en degrés',
  ),
  objectBody: both('the body must be a JSON object', 'le corps doit être un objet JSON'),
  anotherBody: both('was already sent with another body', 'a déjà été envoyé avec un autre corps'),
} as const;

/** The kind of member in the message about an unknown member of a body. */
export const KINDS_OF_MEMBER = {
  search: both('a member of a search', 'un membre d’une recherche'),
  recovery: both('a member of a recovery', 'un membre d’un rattrapage'),
  endpoint: both('a member of an endpoint', 'un membre d’une adresse'),
  visit: both('a member of a visit', 'un membre d’une visite'),
  mark: both('a member of a mark', 'un membre d’une marque'),
  secret: both('a member of a new secret', 'un membre d’un secret de webhook'),
} as const;

/** The kind of member in the message about an unknown member of a nested object. */
export const OF_OBJECT = both('a member of this object', 'un membre de cet objet');

/** The choices in the message about a text that is none of them. */
export const ONE_OF = (choices: string): Sentence => both(`one of ${choices}`, `l’un de ${choices}`);

export const THINGS = {
  search: both('This search', 'Cette recherche'),
  match: both('This match', 'Cette correspondance'),
  delivery: both('This delivery', 'Cet envoi'),
  property: both('This property', 'Ce bien'),
  recovery: both('This recovery', 'Ce rattrapage'),
  endpoint: both('This endpoint', 'Cette adresse'),
  webhookSecret: both('This webhook secret', 'Ce secret'),
  recipient: both('This recipient', 'Ce destinataire'),
  user: both('This user', 'Cet utilisateur'),
  city: both('This city', 'Cette ville'),
  department: both('This department', 'Ce département'),
  siteCategory: both('This site category', 'Cette catégorie de site'),
  feature: both('This feature', 'Cet équipement'),
  consoleFile: both('This file of the console', 'Ce fichier de la console'),
  context: both('This context', 'Ce contexte'),
  page: both('This page', 'Cette page'),
} as const;

export type Thing = (typeof THINGS)[keyof typeof THINGS];

export const LIMITED = {
  queries: both('previews, lists of properties and of explanations', 'aperçus, listes de biens et d’explications'),
  publicQueries: both('pages of one recipient', 'pages d’un destinataire'),
  singleQueries: both('explanations and completions', 'explications et recherches de lieux'),
  webhookTests: both('webhook tests', 'essais de webhook'),
  feedPolls: both('requests that wait for the feed', 'requêtes en attente du flux'),
  lists: both('lists over all searches', 'listes de toutes les recherches'),
  requests: both('requests', 'requêtes'),
  largePages: both('large pages', 'grandes pages'),
  connections: both('connections', 'connexions'),
  bodyBytes: both('bytes of request bodies', 'octets de corps de requêtes'),
} as const;

const LIMITS = {
  searches: [both('search', 'recherche'), both('searches', 'recherches')],
  polygonCorners: [
    both('corner of a polygon', 'sommet de polygone'),
    both('corners of polygons', 'sommets de polygones'),
  ],
  excludedWords: [both('excluded word', 'mot exclu'), both('excluded words', 'mots exclus')],
  matchesPerAdvert: [
    both('match per advert', 'correspondance par annonce'),
    both('matches per advert', 'correspondances par annonce'),
  ],
} as const;

/** Sentences about a request as a whole. */
export const REFUSALS = {
  notFound: ({ en, fr }: Thing) => both(`${en} was not found.`, `${fr} est introuvable.`),
  noPath: both('This path does not exist. See /docs.', 'Ce chemin n’existe pas. Voir /docs.'),
  notHeld: both(
    'This property is unknown: it was never received, or it expired too long ago.',
    'Ce bien est inconnu : il n’a jamais été reçu, ou a expiré depuis trop longtemps.',
  ),
  methods: (allowed: string) => both(`This resource accepts ${allowed}.`, `Cette ressource accepte ${allowed}.`),
  starting: both('The service is starting. Try again in a moment.', 'Le service démarre. Réessayez dans un instant.'),
  storeAway: both(
    'The service cannot reach its data. Try again in a moment.',
    'Le service n’a pas accès à ses données. Réessayez dans un instant.',
  ),
  storeFull: both(
    'The disk of the service is full, and nothing can be saved. Its operator must free space. Try again later.',
    'Le disque du service est plein, et rien ne peut être enregistré. Son exploitant doit libérer de l’espace. Réessayez plus tard.',
  ),
  bug: both('Internal error. Tell your operator the request id.', 'Erreur interne. Donnez son id à votre exploitant.'),
  clientGone: both('The client has disconnected.', 'Le client s’est déconnecté.'),
  noKey: both('Send your API key in the header X-API-KEY.', 'Envoyez votre clé d’API dans l’en-tête X-API-KEY.'),
  unknownKey: both('This API key is unknown or revoked. Use another.', 'Clé d’API inconnue ou révoquée. Remplacez-la.'),
  connections: both('You have too many connections. Close some.', 'Vous avez trop de connexions. Fermez-en.'),
  rate: (perSecond: number, isWriting: boolean) =>
    both(
      `A key may send at most ${perSecond} ${isWriting ? 'write' : 'read'} requests per second. Try again in a moment.`,
      `Une clé peut envoyer au plus ${count(perSecond)} requêtes ${isWriting ? 'd’écriture' : 'de lecture'} par seconde. Réessayez dans un instant.`,
    ),
  testRate: (perSecond: number) =>
    both(`Run at most ${perSecond} tests a second. Retry.`, `Au plus ${perSecond} essais par seconde. Réessayez.`),
  tooManyAtOnce: ({ en, fr }: Sentence, most: number) =>
    both(
      `Too many requests at once (${en}: at most ${most} per client). Try again in a moment.`,
      `Trop de requêtes à la fois (${fr} : ${most} au plus par client). Réessayez dans un instant.`,
    ),
  busyWith: ({ en, fr }: Sentence, most: number, seconds: number) =>
    both(
      `The service is busy: ${en} have reached their maximum of ${most}. Try again in ${seconds} s.`,
      `Le service est occupé : ${fr}, ${most} au plus. Réessayez dans ${seconds} s.`,
    ),
  busy: (seconds: number) =>
    both(`The service is busy. Try again in ${seconds} s.`, `Le service est occupé. Réessayez dans ${seconds} s.`),
  tooLong: both(
    'The query takes too long. Make it narrower, or try again later.',
    'La requête prend trop de temps. Restreignez-la, ou réessayez plus tard.',
  ),
  questionFailed: both(
    'The query failed because its worker stopped. The worker is restarting. Try again.',
    'La requête a échoué, car son processus s’est arrêté. Il redémarre. Réessayez.',
  ),
  largePage: both(
    'This page is large, and too many large pages are in progress. Request fewer items.',
    'Cette page est grande, et trop de grandes pages sont en cours. Demandez moins d’éléments.',
  ),
  listed: (most: number) =>
    both(
      `Only the first ${most} items are listed. Reverse the order, or name a search.`,
      `Seuls les ${count(most)} premiers éléments sont listés. Inversez l’ordre, ou indiquez une recherche.`,
    ),
  unknownParameter: (name: string, known: string) =>
    both(`unknown parameter ${name}; known parameters: ${known}`, `paramètre inconnu ${name} ; connus : ${known}`),
  oneOrder: both(
    'The list can have only one order. Send only one of the parameters order[…].',
    'La liste ne peut avoir qu’un ordre. Envoyez un seul des paramètres order[…].',
  ),
  oneWay: both(
    'Name the property with exactly one of property, advert and url.',
    'Indiquez le bien par exactement un des paramètres property, advert et url.',
  ),
  onePlace: both(
    'Name the place with exactly one of city and department.',
    'Indiquez le lieu par exactement un des paramètres city et department.',
  ),
  fewPrices: (fewest: number) =>
    both(
      `Fewer than ${fewest} prices are known for this type of property in this place.`,
      `Moins de ${fewest} prix sont connus pour ce type de bien dans ce lieu.`,
    ),
  noCursor: both(
    'after is no cursor of this feed, client and filter. Send the `next` of an answer, or omit after.',
    'after n’est pas un curseur de ce flux, client et filtre. Envoyez le `next` d’une réponse, ou omettez after.',
  ),
  beginAgain: ({ en, fr }: Sentence) =>
    both(
      `${en}. Send the \`oldest\` value of this answer as \`after\`, or omit \`after\`.`,
      `${fr}. Envoyez comme \`after\` la valeur \`oldest\` de cette réponse, ou omettez \`after\`.`,
    ),
  cursorRestored: both(
    'after is from before the service was restored',
    'after date d’avant la restauration du service',
  ),
  cursorOld: both('after is older than the items kept', 'after est plus ancien que les éléments conservés'),
  bodyNeeded: both('A JSON body is required.', 'Un corps JSON est obligatoire.'),
  sendOneOf: (types: string) => both(`Send one of ${types}.`, `Envoyez l’un de ces types : ${types}.`),
  sendUtf8: both('The body is not UTF-8. Send it in UTF-8.', 'Le corps n’est pas en UTF-8. Envoyez-le en UTF-8.'),
  encoding: both('Content-Encoding must be gzip, deflate or br.', 'Content-Encoding doit être gzip, deflate ou br.'),
  notEncoded: both(
    'The body does not match its Content-Encoding.',
    'Le corps ne correspond pas à son Content-Encoding.',
  ),
  bodySize: (most: number) =>
    both(`The body exceeds ${most} bytes. Send a smaller one.`, `Le corps dépasse ${count(most)} octets. Réduisez-le.`),
  body: ({ en, fr }: Sentence) => both(`the body ${en}`, `le corps ${fr}`),
  bodyDepth: (most: number) =>
    both(`Nest the body at most ${most} levels deep.`, `Imbriquez le corps sur ${most} niveaux au plus.`),
  notJson: (message: string) =>
    both(`The body is not valid JSON: ${message}`, `Le corps n’est pas du JSON valide : ${message}`),
  servedAs: (types: string) => both(`Accept must allow ${types}.`, `Accept doit permettre ${types}.`),
  changedSince: both(
    'The resource has changed since the version that If-Match names. Read it again.',
    'La ressource a changé depuis la version qu’indique If-Match. Relisez-la.',
  ),
  asItIs: both('If-None-Match names the current version.', 'If-None-Match indique la version actuelle.'),
  idempotencyKeyLength: (most: number) =>
    both(`Idempotency-Key must have 1 to ${most} characters.`, `Idempotency-Key doit avoir de 1 à ${most} caractères.`),
  idempotencyUnderWay: both(
    'A request with this Idempotency-Key is in progress. Try again in a moment.',
    'Une requête avec cette Idempotency-Key est en cours. Réessayez dans un instant.',
  ),
  idempotencyGone: both(
    'The resource that the first request with this Idempotency-Key created no longer exists. Use another key.',
    'La ressource créée par la première requête avec cette Idempotency-Key n’existe plus. Utilisez une autre clé.',
  ),
  thisIdempotencyKey: ({ en, fr }: Sentence) => both(`this Idempotency-Key ${en}`, `cette Idempotency-Key ${fr}`),
  andMore: (more: number) => both(`and ${more} more`, `et ${count(more)} de plus`),
  endpoint: ({ en, fr }: Sentence) => both(`The endpoint ${en}.`, `L’adresse ${fr}.`),
  eventType: (kinds: string) =>
    both(`eventType is required: one of ${kinds}.`, `eventType est obligatoire, l’un de : ${kinds}.`),
  eventTypes: both('eventType and type differ. Send only one.', 'eventType et type diffèrent. N’en envoyez qu’un.'),
  notResent: ({ en, fr }: Sentence) => both(`Nothing is sent again: ${en}.`, `Rien n’est renvoyé : ${fr}.`),
  recoveryOpen: both(
    'Another recovery is in progress. Wait until it ends, or stop it.',
    'Un autre rattrapage est en cours. Attendez sa fin, ou arrêtez-le.',
  ),
  secrets: (most: number) =>
    both(
      `You already have ${most} secrets. Delete one, or wait until one expires.`,
      `Vous avez déjà ${most} secrets. Supprimez-en un, ou attendez que l’un d’eux expire.`,
    ),
  pauses: (most: number) =>
    both(
      `You have already paused ${most} endpoints. Resume one first.`,
      `Vous avez déjà mis ${count(most)} adresses en pause. Reprenez-en une d’abord.`,
    ),
  marks: (most: number) =>
    both(
      `You have already marked ${most} properties of this search. Clear a mark first.`,
      `Vous avez déjà marqué ${count(most)} biens de cette recherche. Retirez d’abord une marque.`,
    ),
  pausedByOperator: both(
    'An operator has paused this endpoint, and only an operator can resume it.',
    'Un opérateur a mis cette adresse en pause, et seul un opérateur peut la reprendre.',
  ),
  beyond: (limit: keyof typeof LIMITS, maximum: number, used: number, added: number) => {
    const [one, several] = LIMITS[limit];
    const what = maximum === 1 ? one : several;
    const isEstimated = limit === 'matchesPerAdvert';
    return both(
      `You may have ${maximum} ${what.en} in total, and have ${used}${isEstimated ? ` by estimate; this would add ${added}` : ''}. Remove some, or ask your operator for more.`,
      `Vous pouvez avoir ${count(maximum)} ${what.fr} en tout, et en avez ${count(used)}${isEstimated ? ` selon une estimation ; cette requête en ajouterait ${count(added)}` : ''}. Retirez-en, ou demandez plus à votre exploitant.`,
    );
  },
} as const;

export type { Language };

/** The language that `Accept-Language` prefers, else `fallback`. Sets `Content-Language` and `Vary`. */
export function languageOf(ctx: Context, fallback: Language): Language {
  ctx.vary('Accept-Language');
  const accepted = ctx.req.headers['accept-language'];
  const ordered = fallback === 'fr' ? ['fr', 'en'] : ['en', 'fr'];
  const language = accepted === undefined || accepted === '*' ? fallback : ctx.acceptsLanguages(...ordered);
  const chosen = language === 'fr' || language === 'en' ? language : fallback;
  ctx.set('Content-Language', chosen);
  return chosen;
}
