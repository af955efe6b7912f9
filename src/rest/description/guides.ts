/**
 * The guides at `/docs`, in both languages. Their commands are those of the README, which a test holds against them; codes
 * and limits come from where they are enforced. Text between backticks is code.
 */

import { escapeHtml } from '../content.ts';
import { PROBLEM_TYPES, VIOLATION_CODES } from '../error-codes.ts';
import type { Language, Sentence } from '../sentences.ts';

/** What differs between services. */
export interface GuideFacts {
  readonly readPerSecond: number;
  readonly writePerSecond: number;
  readonly searches: number;
  readonly corners: number;
  readonly excludedWords: number;
  readonly matchesPerAdvert: number;
  /** 0: for ever. */
  readonly keptDays: number;
}

/** A sentence, a command, or lines of a table: a name and what it means. */
type Block = Sentence | { readonly code: string } | { readonly rows: Readonly<Record<string, Sentence>> };

interface Guide {
  readonly id: string;
  readonly title: Sentence;
  readonly blocks: readonly Block[];
}

const say = (en: string, fr: string): Sentence => ({ en, fr });

/** The page's script puts the reader's key and search in the place of `$KEY` and `$SEARCH`. */
const CREATE = `curl -H "X-API-KEY: $KEY" -H 'Content-Type: application/json' http://127.0.0.1:8080/searches -d '{
  "title": "Toulon, under 300 000", "includedCities": ["/cities/83137"], "transactionType": 0, "budgetMax": 300000,
  "notificationEnabled": true, "endpointRecipient": "http://127.0.0.1:9000/matches",
  "eventEndpoint": "http://127.0.0.1:9000/events", "subscribedEvents": ["ad.update.price"] }'`;

const VERIFY = `import { Webhook } from 'standardwebhooks';

const alert = new Webhook(token).verify(rawBody, headers);`;

const GUIDES: readonly Guide[] = [
  {
    id: 'first-search',
    title: say('A first search', 'Une première recherche'),
    blocks: [
      say(
        'Every request carries your key in the header `X-API-KEY`. Only `title` is required; every criterion that is set must hold.',
        'Chaque requête porte votre clé dans l’en-tête `X-API-KEY`. Seul `title` est obligatoire ; tous les critères renseignés doivent être remplis.',
      ),
      { code: CREATE },
      say(
        'Try it first with `POST /searches/preview`: how many properties satisfy it now, and which criterion keeps most of them out. What satisfied it before it was saved is no match.',
        'Essayez-la d’abord avec `POST /searches/preview` : combien de biens y répondent aujourd’hui, et quel critère en écarte le plus. Ce qui y répondait avant l’enregistrement n’est pas une correspondance.',
      ),
      { code: 'curl -H "X-API-KEY: $KEY" http://127.0.0.1:8080/searches/$SEARCH/properties' },
    ],
  },
  {
    id: 'receive',
    title: say('Receive and verify', 'Recevoir et vérifier'),
    blocks: [
      say(
        'A match is sent to `endpointRecipient`, an event to `eventEndpoint`, while `notificationEnabled` is true. Verify the raw body with any Standard Webhooks library before you read it: the secret is the search’s `token`, or one of `POST /webhook-secrets`.',
        'Une correspondance est envoyée à `endpointRecipient`, un événement à `eventEndpoint`, tant que `notificationEnabled` vaut true. Vérifiez le corps brut avec une bibliothèque Standard Webhooks avant de le lire : le secret est le `token` de la recherche, ou l’un de `POST /webhook-secrets`.',
      ),
      { code: VERIFY },
      say(
        'Answer 200 within the time limit and work afterwards: any other status counts as a failure. `GET /webhook-tester` sends you an example, signed like the real ones.',
        'Répondez 200 dans le délai et travaillez ensuite : tout autre code compte comme un échec. `GET /webhook-tester` vous envoie un exemple, signé comme les vrais.',
      ),
    ],
  },
  {
    id: 'retries',
    title: say('Retries and order', 'Nouvelles tentatives et ordre'),
    blocks: [
      say(
        'A retry has the same `webhook-id` and the same bytes: keep the ids that you have seen, and answer 200 to a repetition. There are six attempts, an hour apart.',
        'Une nouvelle tentative a le même `webhook-id` et les mêmes octets : retenez les identifiants reçus, et répondez 200 à une répétition. Il y a six tentatives, à une heure d’intervalle.',
      ),
      say(
        'Keep the highest `Vigie-Sequence` of each match (`match.@id`) and drop what comes with a lower one. Never wait for a number: a cancelled delivery leaves a gap.',
        'Retenez le plus grand `Vigie-Sequence` de chaque correspondance (`match.@id`) et ignorez ce qui arrive avec un plus petit. N’attendez jamais un numéro : un envoi annulé laisse un trou.',
      ),
    ],
  },
  {
    id: 'feed',
    title: say('Feed', 'Flux'),
    blocks: [
      say(
        '`GET /feed` has, in order, byte for byte, everything that webhooks carry. Keep `next` once a page is dealt with, and send it back as `after`; `wait` keeps the request open until there is news.',
        '`GET /feed` contient, dans l’ordre et à l’octet près, tout ce que portent les webhooks. Conservez `next` une fois la page traitée, et renvoyez-le dans `after` ; `wait` garde la requête ouverte jusqu’à la prochaine nouvelle.',
      ),
      { code: 'curl -H "X-API-KEY: $KEY" "http://127.0.0.1:8080/feed?wait=20"' },
      say(
        'A 410 says that the cursor is older than what is kept: begin again after its `oldest`.',
        'Un 410 signifie que le curseur est plus ancien que ce qui est conservé : reprenez après son `oldest`.',
      ),
    ],
  },
  {
    id: 'recover',
    title: say('Recover', 'Rattraper'),
    blocks: [
      say(
        '`POST /deliveries/{id}/resend` sends one again; `POST /recoveries` sends everything that failed since a moment, in the order of each match.',
        '`POST /deliveries/{id}/resend` renvoie un envoi ; `POST /recoveries` renvoie tout ce qui a échoué depuis un moment, dans l’ordre de chaque correspondance.',
      ),
      {
        code: `curl -H "X-API-KEY: $KEY" -H 'Content-Type: application/json' http://127.0.0.1:8080/recoveries -d '{"since": "2026-03-10T00:00:00+01:00"}'`,
      },
      say(
        'What is sent again keeps its id and its bytes: what you had already is a repetition.',
        'Ce qui est renvoyé garde son identifiant et ses octets : ce que vous aviez déjà est une répétition.',
      ),
    ],
  },
  {
    id: 'errors',
    title: say('Errors', 'Erreurs'),
    blocks: [
      say(
        'Every refusal is `application/problem+json` (RFC 9457). `type` and `code` never change; sentences may, and come in English or French as `Accept-Language` prefers. `type` is one of:',
        'Tout refus est en `application/problem+json` (RFC 9457). `type` et `code` ne changent pas ; les phrases peuvent changer, et viennent en français ou en anglais selon `Accept-Language`. `type` est l’un de :',
      ),
      { rows: PROBLEM_TYPES },
      say('`code` of a violation is one of:', '`code` d’une violation est l’un de :'),
      { rows: VIOLATION_CODES },
    ],
  },
];

function limitsOf(facts: GuideFacts): Guide {
  const days = facts.keptDays;
  const rows: Readonly<Record<string, readonly [number, Sentence]>> = {
    searches: [facts.searches, say('searches', 'recherches')],
    corners: [facts.corners, say('corners of polygons in all', 'sommets de polygones en tout')],
    excludedWords: [facts.excludedWords, say('excluded words in all', 'mots exclus en tout')],
    matchesPerAdvert: [
      facts.matchesPerAdvert,
      say('matches per advert, by estimate', 'correspondances par annonce, par estimation'),
    ],
    GET: [facts.readPerSecond, say('requests per second that write nothing', 'requêtes de lecture par seconde')],
    'POST, PUT, PATCH, DELETE': [
      facts.writePerSecond,
      say('requests per second that write', 'requêtes d’écriture par seconde'),
    ],
  };
  return {
    id: 'limits',
    title: say('Limits', 'Limites'),
    blocks: [
      say(
        'Unless your operator gave you others. Beyond what you may have: 403 of type `/docs.jsonld#LimitReached`; beyond the rate: 429 with `Retry-After`. A body has at most 1 MiB.',
        'Sauf accord avec votre exploitant. Au-delà de ce que vous pouvez avoir : 403 de type `/docs.jsonld#LimitReached` ; au-delà du débit : 429 avec `Retry-After`. Un corps a au plus 1 Mio.',
      ),
      {
        rows: Object.fromEntries(
          Object.entries(rows).map(([name, [most, { en, fr }]]) => [
            name,
            say(`${most.toLocaleString('en')} ${en}`, `${most.toLocaleString('fr')} ${fr}`),
          ]),
        ),
      },
      days === 0
        ? say('Deliveries are kept for ever.', 'Les envois sont conservés sans limite.')
        : say(
            `Deliveries and the feed are kept for ${days} days.`,
            `Les envois et le flux sont conservés ${days} jours.`,
          ),
    ],
  };
}

/** For clients; what operators want to know is in config/CHANGELOG.md. */
const CHANGES: Guide = {
  id: 'changelog',
  title: say('What changed for clients', 'Ce qui a changé pour les clients'),
  blocks: [
    say(
      'Answers are open: members are added at any time, and clients ignore what they do not know. Inputs stay closed: an unknown member is refused.',
      'Les réponses sont ouvertes : des champs s’y ajoutent à tout moment, et un client ignore ceux qu’il ne connaît pas. Les entrées restent fermées : un champ inconnu est refusé.',
    ),
    say(
      'Every answer has one media type in the description. Numbers say their format; lists are described as lists, and a single value that was sent is answered as one.',
      'Chaque réponse a un seul type de média dans la description. Les nombres précisent leur format ; les listes sont décrites comme des listes, et une valeur seule envoyée est rendue seule.',
    ),
    say(
      'Cities filter by `insee` and `zipcode`, names by `name`; the older spellings are still accepted.',
      'Les villes se filtrent par `insee` et `zipcode`, les noms par `name` ; les anciennes graphies restent acceptées.',
    ),
    say(
      '`/replays` is `POST /recoveries`, which keeps the order of each match and stays within what you name.',
      '`/replays` est devenu `POST /recoveries`, qui garde l’ordre de chaque correspondance et reste dans ce que vous nommez.',
    ),
    say(
      'Lists that look at the newest 10,000 say `estimated`. Previews tell their `margin`.',
      'Les listes qui n’examinent que les 10 000 plus récents le disent avec `estimated`. Les aperçus donnent leur `margin`.',
    ),
    say(
      'Explanations tell why a match began, as it was recorded, with stable codes (`matchReasons`).',
      'Les explications disent pourquoi une correspondance a commencé, telle qu’elle a été enregistrée, avec des codes stables (`matchReasons`).',
    ),
    say(
      'What was delivered stays delivered (`deliveredAt`), also when it is sent again in vain.',
      'Ce qui a été livré le reste (`deliveredAt`), même si un renvoi échoue.',
    ),
    say(
      'Refusals come in French where `Accept-Language` prefers it. `code` is never `custom`.',
      'Les refus viennent en français si `Accept-Language` le préfère. `code` n’est jamais `custom`.',
    ),
  ],
};

/** HTML of all guides, a section each, and of the list that leads to them. */
export function guidePage(language: Language, facts: GuideFacts): { readonly list: string; readonly guides: string } {
  const all = [...GUIDES, limitsOf(facts), CHANGES];
  const list = all.map(({ id, title }) => `<li><a href="#${id}">${title[language]}</a></li>`).join('\n');
  const guides = all.map(({ id, title, blocks }) => {
    const body = blocks.map((block) => htmlOf(block, language)).join('\n');
    return `<section id="${id}">\n<h2>${title[language]}</h2>\n${body}\n</section>`;
  });
  return { list, guides: guides.join('\n') };
}

function htmlOf(block: Block, language: Language): string {
  if ('code' in block) return `<pre tabindex="0"><code>${escapeHtml(block.code)}</code></pre>`;
  if (!('rows' in block)) return `<p>${inline(block[language])}</p>`;
  const rows = Object.entries(block.rows).map(
    ([name, sentence]) => `<tr><th scope="row"><code>${name}</code></th><td>${inline(sentence[language])}</td></tr>`,
  );
  return `<table>\n${rows.join('\n')}\n</table>`;
}

function inline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}
