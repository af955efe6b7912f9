/**
 * French advert texts from phrase parts. Each selling point brings its feature, its words in the title and a sentence,
 * so that a search for "vue mer" or "ascenseur" finds the adverts that have it, and some that say they do not.
 */

import { RENT, SALE } from '../../engine/domain/codes.ts';
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
  /** Empty when it is no feature. */
  readonly feature: string;
  readonly inTitle: string;
  readonly sentences: readonly string[];
  readonly fits: (subject: TextSubject) => boolean;
}

const isFlat = ({ propertyType }: TextSubject) => propertyType === 0;
const isHouse = ({ propertyType }: TextSubject) => propertyType === 1;
const isHome = (subject: TextSubject) => isFlat(subject) || isHouse(subject);

const FITS: Readonly<Record<string, SellingPoint['fits']>> = {
  flat: isFlat,
  house: isHouse,
  home: isHome,
  'home by the sea': (subject) => isHome(subject) && subject.isCoastal,
  'home for sale': (subject) => isHome(subject) && subject.transactionType === SALE,
  any: () => true,
};

/** Feature, words in the title, sentences, how often, and of what. */
const SELLING_POINTS = `
vue mer|vue mer|Superbe vue mer panoramique depuis le séjour.|Vue mer dégagée et plage à pied.|5|home by the sea
terrasse|avec terrasse|Belle terrasse exposée plein sud.|Une terrasse de 20 m² prolonge la pièce de vie.|6|home
balcon|avec balcon|Balcon sans vis-à-vis.|Un balcon filant dessert le salon et la chambre.|5|flat
jardin|avec jardin|Jardin clos et arboré.|Le jardin, à l'abri des regards, reçoit le soleil toute la journée.|6|house
piscine|piscine|Piscine chauffée de 8 x 4 m.|Résidence sécurisée avec piscine.|2|home
cave|et cave|Une cave complète ce bien.|Cave saine en sous-sol.|4|flat
garage|et garage|Garage fermé.|Grand garage avec atelier.|3|home
|rénové|Entièrement rénové par un architecte d'intérieur.|Électricité et plomberie refaites à neuf.|5|home
|à rénover|Travaux à prévoir, fort potentiel.|À rénover entièrement, idéal investisseur.|2|home
cheminée|de caractère|Parquet, moulures, cheminée.|Poutres apparentes et cœur d'îlot au calme.|3|home
double vitrage|lumineux|Traversant et lumineux, double vitrage.|Très bonne luminosité du matin au soir.|5|home
|viager occupé|Vente en viager occupé, bouquet et rente.|Viager : rente mensuelle indexée.|0.4|home for sale
|sans vis-à-vis|Au calme, sans vis-à-vis.|Pas de vue mer, mais un emplacement de premier ordre.|2|home
digicode|sécurisé|Accès sécurisé par digicode.|Site clos, vidéosurveillance.|2|any
|emplacement idéal|À deux pas des commerces et des transports.|Accès autoroute en cinq minutes.|3|any`
  .trim()
  .split('\n')
  .map((line): readonly [SellingPoint, weight: number] => {
    const [feature = '', inTitle = '', first = '', second = '', weight, of = ''] = line.split('|');
    return [{ feature, inTitle, sentences: [first, second], fits: FITS[of] as SellingPoint['fits'] }, Number(weight)];
  });

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
  const opening = random.pick(subject.transactionType === RENT ? OPENINGS_RENT : OPENINGS_SALE);
  const sentences = [
    `${opening} : ${noun.charAt(0).toLowerCase()}${noun.slice(1)} à ${subject.place}.`,
    ...points.map((point) => random.pick(point.sentences)),
    ...amenities(subject),
    random.pick(CLOSINGS),
  ];
  const features = points.map(({ feature }) => feature).filter((feature) => feature !== '');
  if (subject.hasElevator === true) features.push('ascenseur');
  return {
    title: random.chance(0.06) ? title.toUpperCase() : title,
    description: sentences.join(random.chance(0.2) ? '\n' : ' '),
    features,
  };
}

function chooseSellingPoints(subject: TextSubject, random: Random): readonly SellingPoint[] {
  const fitting = SELLING_POINTS.filter(([point]) => point.fits(subject));
  const chosen = new Set<SellingPoint>();
  for (let left = random.integer(1, 4); left > 0; left--) chosen.add(random.weighted(fitting));
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
