/**
 * French advert texts from phrase parts. Each selling point brings its feature, its words in the title and a sentence,
 * so that a search for "vue mer" or "ascenseur" finds the adverts that have it, and some that say they do not.
 */

import type { Random } from './seeded-random.ts';

/** What the text is about. */
export interface TextSubject {
  readonly transactionType: number;
  readonly propertyType: number;
  readonly surface: number | null;
  readonly landSurface: number | null;
  readonly room: number | null;
  readonly place: string;
  readonly isCoastal: boolean;
  readonly hasElevator: boolean | null;
  readonly isFurnished: boolean | null;
}

export interface AdvertText {
  readonly title: string;
  readonly description: string;
  readonly features: readonly string[];
}

interface SellingPoint {
  readonly feature: string | null;
  readonly inTitle: string;
  readonly sentences: readonly string[];
  readonly weight: number;
  readonly fits: (subject: TextSubject) => boolean;
}

const isHome = ({ propertyType }: TextSubject) => propertyType <= 1;
const isFlat = ({ propertyType }: TextSubject) => propertyType === 0;
const isHouse = ({ propertyType }: TextSubject) => propertyType === 1;

const SELLING_POINTS: readonly SellingPoint[] = [
  {
    feature: 'vue mer',
    inTitle: 'vue mer',
    sentences: ['Superbe vue mer panoramique depuis le séjour.', 'Vue mer dégagée et plage à pied.'],
    weight: 5,
    fits: (subject) => isHome(subject) && subject.isCoastal,
  },
  {
    feature: 'terrasse',
    inTitle: 'avec terrasse',
    sentences: ['Belle terrasse exposée plein sud.', 'Une terrasse de 20 m² prolonge la pièce de vie.'],
    weight: 6,
    fits: isHome,
  },
  {
    feature: 'balcon',
    inTitle: 'avec balcon',
    sentences: ['Balcon sans vis-à-vis.', 'Un balcon filant dessert le salon et la chambre.'],
    weight: 5,
    fits: isFlat,
  },
  {
    feature: 'jardin',
    inTitle: 'avec jardin',
    sentences: ['Jardin clos et arboré.', "Le jardin, à l'abri des regards, reçoit le soleil toute la journée."],
    weight: 6,
    fits: isHouse,
  },
  {
    feature: 'piscine',
    inTitle: 'piscine',
    sentences: ['Piscine chauffée de 8 x 4 m.', 'Résidence sécurisée avec piscine.'],
    weight: 2,
    fits: isHome,
  },
  {
    feature: 'cave',
    inTitle: 'et cave',
    sentences: ['Une cave complète ce bien.', 'Cave saine en sous-sol.'],
    weight: 4,
    fits: isFlat,
  },
  {
    feature: 'garage',
    inTitle: 'et garage',
    sentences: ['Garage fermé.', 'Grand garage avec atelier.'],
    weight: 3,
    fits: isHome,
  },
  {
    feature: null,
    inTitle: 'rénové',
    sentences: [
      "Entièrement rénové avec goût par un architecte d'intérieur.",
      'Électricité et plomberie refaites à neuf.',
    ],
    weight: 5,
    fits: isHome,
  },
  {
    feature: null,
    inTitle: 'à rénover',
    sentences: ['Travaux à prévoir, fort potentiel.', 'À rénover entièrement, idéal investisseur.'],
    weight: 2,
    fits: isHome,
  },
  {
    feature: 'cheminée',
    inTitle: 'de caractère',
    sentences: ["Cachet de l'ancien : parquet, moulures, cheminée.", "Poutres apparentes et cœur d'îlot au calme."],
    weight: 3,
    fits: isHome,
  },
  {
    feature: 'double vitrage',
    inTitle: 'lumineux',
    sentences: ['Traversant et lumineux, double vitrage.', 'Très bonne luminosité du matin au soir.'],
    weight: 5,
    fits: isHome,
  },
  {
    feature: null,
    inTitle: 'viager occupé',
    sentences: ['Vente en viager occupé, bouquet et rente.', 'Viager : rente mensuelle indexée.'],
    weight: 0.4,
    fits: (subject) => isHome(subject) && subject.transactionType === 0,
  },
  {
    feature: null,
    inTitle: 'sans vis-à-vis',
    sentences: ['Au calme, sans vis-à-vis.', 'Pas de vue mer, mais un emplacement de premier ordre.'],
    weight: 2,
    fits: isHome,
  },
  {
    feature: 'digicode',
    inTitle: 'sécurisé',
    sentences: ['Accès sécurisé par digicode.', 'Site clos, vidéosurveillance.'],
    weight: 2,
    fits: () => true,
  },
  {
    feature: null,
    inTitle: 'emplacement idéal',
    sentences: ['À deux pas des commerces et des transports.', 'Accès autoroute en cinq minutes.'],
    weight: 3,
    fits: () => true,
  },
];

const OPENINGS_SALE = ['À vendre', 'Exclusivité', 'Nouveauté', 'Rare à la vente', 'Coup de cœur assuré'] as const;
const OPENINGS_RENT = ['À louer', 'Disponible de suite', 'En location', 'Libre au 1er du mois'] as const;
const CLOSINGS = [
  'Visite sur rendez-vous.',
  'Contactez-nous pour organiser une visite.',
  'Les informations sur les risques auxquels ce bien est exposé sont disponibles sur le site Géorisques.',
  "Dossier complet à l'agence.",
] as const;
const NOUNS = ['Appartement', 'Maison', 'Immeuble', 'Parking', 'Bureaux', 'Terrain', 'Local commercial'] as const;

export function writeAdvertText(subject: TextSubject, random: Random): AdvertText {
  const points = chooseSellingPoints(subject, random);
  const noun = nounPhrase(subject, random);
  const quality = points[0] === undefined ? null : agreed(points[0].inTitle, subject);
  const title = [noun, quality, random.chance(0.5) ? `- ${subject.place}` : null].filter(Boolean).join(' ');
  const opening = random.pick(subject.transactionType === 1 ? OPENINGS_RENT : OPENINGS_SALE);
  const sentences = [
    `${opening} : ${noun.charAt(0).toLowerCase()}${noun.slice(1)} à ${subject.place}.`,
    ...points.map((point) => random.pick(point.sentences)),
    ...amenities(subject),
    random.pick(CLOSINGS),
  ];
  const features = points.flatMap(({ feature }) => (feature === null ? [] : [feature]));
  if (subject.hasElevator === true) features.push('ascenseur');
  return {
    title: random.chance(0.06) ? title.toUpperCase() : title,
    description: sentences.join(random.chance(0.2) ? '\n' : ' '),
    features,
  };
}

function chooseSellingPoints(subject: TextSubject, random: Random): readonly SellingPoint[] {
  const weighted = SELLING_POINTS.filter((point) => point.fits(subject)).map((point) => [point, point.weight] as const);
  const chosen = new Set<SellingPoint>();
  for (let left = random.integer(1, 4); left > 0; left--) chosen.add(random.weighted(weighted));
  return [...chosen];
}

function nounPhrase({ propertyType, room, surface, landSurface }: TextSubject, random: Random): string {
  const extent = surface ?? landSurface;
  const size = extent === null ? '' : ` ${String(extent).replace('.', ',')} m²`;
  if (propertyType === 0 && room === 1) return `Studio${size}`;
  if (propertyType === 0 && room !== null && random.chance(0.4)) return `T${room}${size}`;
  const rooms = room === null ? '' : ` ${room} pièces`;
  return `${NOUNS[propertyType] ?? 'Bien'}${rooms}${size}`;
}

const FEMININE: Readonly<Record<string, string>> = {
  rénové: 'rénovée',
  lumineux: 'lumineuse',
  sécurisé: 'sécurisée',
};

function agreed(quality: string, subject: TextSubject): string {
  return isHouse(subject) ? (FEMININE[quality] ?? quality) : quality;
}

function amenities({ hasElevator, isFurnished }: TextSubject): readonly string[] {
  const sentences: string[] = [];
  if (hasElevator === true) sentences.push('Immeuble avec ascenseur.');
  if (hasElevator === false) sentences.push('Immeuble sans ascenseur.');
  if (isFurnished === true) sentences.push('Loué meublé, cuisine équipée.');
  return sentences;
}
