/**
 * Who publishes sample adverts. Names are invented, addresses end in `.example` (RFC 2606), and telephone numbers come
 * from the ranges that the French regulator keeps for fiction (ARCEP decision 2018-0881).
 */

import type { Contact, Publisher } from '../../domain/advert.ts';
import type { Random } from './seeded-random.ts';

export interface SamplePublisher {
  readonly publisher: Publisher;
  /** Host of its adverts. */
  readonly host: string;
}

const CATEGORIES = [
  ['Agence', 38],
  ['Réseau', 16],
  ['Mandataire', 14],
  ['Portail', 8],
  ['Notaire', 5],
  ['Promoteur', 5],
  ['Particulier', 14],
] as const;
const FIRST = ['Agence', 'Cabinet', 'Immobilière', 'Étude', 'Maison', 'Groupe'] as const;
const SECOND = [
  'du Port',
  'des Halles',
  'Sainte-Anne',
  'de la Gare',
  'des Lices',
  'Mistral',
  'Bellevue',
  'des Tilleuls',
  'du Marché',
  'Voltaire',
  'Jaurès',
  'des Remparts',
  'du Lac',
  'de la Plage',
  'Mirabeau',
  'des Arts',
] as const;
const GIVEN_NAMES = [
  'Camille',
  'Louise',
  'Nadia',
  'Hugo',
  'Inès',
  'Karim',
  'Julien',
  'Sophie',
  'Marc',
  'Élodie',
] as const;
const FAMILY_NAMES = ['Martin', 'Bernard', 'Petit', 'Robert', 'Moreau', 'Garcia', 'Lefèvre', 'Roux', 'Benali'] as const;
const FICTIONAL_PHONES = ['0199 00', '0261 91', '0353 01', '0465 71', '0536 49', '0639 98'] as const;

/** A hundred and twenty publishers; professionals among them have many adverts each. */
export function drawPublishers(random: Random): readonly SamplePublisher[] {
  return Array.from({ length: 120 }, () => {
    const category = random.weighted<string>(CATEGORIES);
    if (category === 'Particulier') {
      return { publisher: { category, name: null, type: 0 }, host: 'particuliers.example' };
    }
    const name = `${random.pick(FIRST)} ${random.pick(SECOND)}`;
    return { publisher: { category, name, type: 1 }, host: `${slug(name)}.example` };
  });
}

export function drawContact({ publisher, host }: SamplePublisher, random: Random): Contact {
  const given = random.pick(GIVEN_NAMES);
  return {
    agency: publisher.name,
    email: `${slug(given)}@${host}`,
    fax: null,
    name: publisher.type === 0 ? given : `${given} ${random.pick(FAMILY_NAMES)}`,
    phone: drawPhone(random),
    reference: publisher.type === 0 ? null : `REF-${random.integer(10_000, 99_999)}`,
  };
}

function drawPhone(random: Random): string {
  const digits = `${random.pick(FICTIONAL_PHONES).replace(' ', '')}${random.integer(1000, 9999)}`;
  return digits.replace(/(\d\d)(?=\d)/g, '$1 ');
}

function slug(name: string): string {
  return name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z]+/g, '-');
}
