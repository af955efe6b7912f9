/**
 * What the service refuses, in French: it says why in English alone, in sentences of a fixed shape. The first of these that
 * a sentence has the shape of tells it; one that has none is shown as it came.
 */

/** What is told: a sentence with the parts of the shape in it, `$1`, or made of them. */
type Rule = readonly [shape: RegExp, told: string | ((...parts: readonly string[]) => string)];

const MEMBERS: readonly Rule[] = [
  [/^must not be blank$|^is required$/, 'est à remplir'],
  [/^must have at most (\d+) characters$/, 'a au plus $1 caractères'],
  [/^must have at most (\d+) items$/, 'a au plus $1 éléments'],
  [/^must have at most (\d+) bytes as JSON$/, 'a au plus $1 octets en JSON'],
  [/^must be an integer$/, 'doit être un nombre entier'],
  [/^must be 0 or more$/, 'ne peut pas être négatif'],
  [/^must be at most (\d+)$/, (_, most = '') => `doit être au plus ${shown(most)}`],
  [/from -90 to 90$/, 'doit être un nombre entre −90 et 90'],
  [/from -180 to 180$/, 'doit être un nombre entre −180 et 180'],
  [/above 0 and at most (\d+)$/, 'doit être un nombre au-dessus de 0, et $1 au plus'],
  [
    /^must not be above \w+, which is (\d+)$/,
    (_, most = '') => `ne doit pas dépasser le maximum, qui est de ${shown(most)}`,
  ],
  [/^lat, lon and radius come together$/, 'la latitude, la longitude et le rayon vont ensemble'],
  [/^must be (?:an absolute|a) URL$/, 'doit être une adresse complète, telle que https://exemple.fr/webhook'],
  [/^must be an https URL$/, 'doit commencer par https://'],
  [/^must be an https or http URL$/, 'doit commencer par https:// ou http://'],
  [/^must not contain credentials$/, 'ne doit pas contenir de mot de passe'],
  [
    /^must have one of the ports (.*)$/,
    (_, ports = '') => `doit avoir l’un de ces ports : ${ports.replaceAll(' to ', ' à ')}`,
  ],
  [/^must not point into a private network$/, 'ne doit pas mener à un réseau privé'],
  [/^must be an e-mail address$/, 'doit être une adresse e-mail'],
  [/^must be five digits$/, 'doit avoir cinq chiffres'],
  [/^must be an INSEE code, such as (\d+)$/, 'doit être un code INSEE, tel que $1'],
  [/^is the code of no commune$/, 'n’est le code d’aucune commune'],
  [/^is the zip code of no commune$/, 'n’est le code postal d’aucune commune'],
  [/^refers to nothing$/, 'n’existe pas ou plus'],
  [/^word must have a letter or a digit$/, 'un mot doit avoir une lettre ou un chiffre'],
  [/^word must have at most (\d+) characters$/, 'un mot a au plus $1 caractères'],
  [/^at most (\d+) groups and (\d+) entries$/, 'au plus $1 possibilités et $2 mots'],
  [/^contains U\+0000/, 'contient un caractère qui n’en est pas un'],
  [/^a ring must be closed/, 'un polygone doit être fermé : quatre points au moins, le dernier égal au premier'],
  [/^a position must be/, 'un point est une longitude et une latitude, en degrés'],
];

const ANSWERS: readonly Rule[] = [
  [
    /^no such property is held/,
    'Ce bien n’est pas connu : il n’a jamais été reçu, ou il a expiré depuis trop longtemps.',
  ],
  [/^this (\w[\w ]*) was not found$/, (_, what = '') => `${FOUND[what] ?? 'Cela'} n’existe pas, ou plus.`],
  [/^it is not sent again: its search does not want/, 'Rien n’est renvoyé : la recherche n’en veut plus.'],
  [
    /^it is not sent again: its search has no endpoint/,
    'Rien n’est renvoyé : la recherche n’a plus d’adresse pour cela.',
  ],
  [
    /^it is not sent again: it was recorded with contacts/,
    'Rien n’est renvoyé : il y a des contacts, que la recherche ne transmet plus.',
  ],
  [/^it is not sent again: it went by e-mail/, 'Rien n’est renvoyé : seuls les webhooks le sont.'],
  [/^it is not sent again: it was attempted too many/, 'Rien n’est renvoyé : il y a eu trop de tentatives.'],
  [/^you have a recovery that is not finished/, 'Un rattrapage n’est pas terminé : attendez sa fin, ou arrêtez-le.'],
  [
    /^you have (\d+) secrets that are alive/,
    'Vous avez déjà $1 secrets : supprimez-en un, ou attendez que l’un d’eux expire.',
  ],
  [
    /^you may have (\d+) search(?:es)? in all, and have (\d+)$/,
    'Vous avez $2 recherches, et ne pouvez en avoir que $1.',
  ],
  [
    /^you may have (\d+) corners? .* and have (\d+)$/,
    'Vos polygones ont $2 sommets, et ne peuvent en avoir que $1 en tout.',
  ],
  [
    /^you may have (\d+) excluded words? .* and have (\d+)$/,
    'Vous excluez $2 mots, et ne pouvez en exclure que $1 en tout.',
  ],
  [
    /^since: must be within the (\d+) days/,
    'Les envois ne sont conservés que $1 jours : choisissez une date plus récente.',
  ],
  [/^since: must not be after until$/, 'Cette date n’est pas encore passée.'],
  [
    /^too many .* at once|^the service is busy|^at most \d+ requests a second/,
    'Trop de demandes à la fois : réessayez dans un instant.',
  ],
  [/^this question takes too long/, 'La question demande trop de temps : précisez-la, ou réessayez plus tard.'],
  [/^the store is not reachable/, 'Le service n’atteint pas ses données : réessayez dans un instant.'],
  [/^an error of the service/, 'Le service a fait une erreur, qu’il a notée.'],
];

const FOUND: Readonly<Record<string, string>> = {
  search: 'Cette recherche',
  match: 'Cette correspondance',
  delivery: 'Cet envoi',
  property: 'Ce bien',
  recovery: 'Ce rattrapage',
  'webhook secret': 'Ce secret',
};

function shown(digits: string): string {
  return Number(digits).toLocaleString('fr');
}

/** Of a member: `doit être un nombre entier`. Of an answer as a whole: a sentence. */
export function refusalInFrench(message: string): string {
  const ofEndpoint = /^endpoint (.*)$/s.exec(message)?.[1];
  if (ofEndpoint !== undefined) return `L’adresse ${refusalInFrench(ofEndpoint)}.`;
  for (const [shape, told] of [...MEMBERS, ...ANSWERS]) {
    const parts = shape.exec(message);
    if (parts === null) continue;
    return typeof told === 'string' ? told.replaceAll(/\$(\d)/g, (_, at) => parts[Number(at)] ?? '') : told(...parts);
  }
  return message;
}
