/** Titles and descriptions of the demonstration's adverts, in French, as agents and private sellers write them. */

import { LAND, RENT, SALE } from '../../src/engine/domain/codes.ts';
import { BUILDING, FLAT, HOUSE, type Home, OFFICE, PARKING, SHOP, type Trait } from './market-homes.ts';
import type { Random } from './seeded-random.ts';

export interface Texts {
  readonly title: string;
  readonly description: string;
  readonly features: readonly string[];
}

/** `isPrivate`: the owner wrote the text. */
export function writeTexts(home: Home, isPrivate: boolean, random: Random): Texts {
  const isDwelling = home.propertyType === FLAT || home.propertyType === HOUSE;
  const [title, sentences] = isDwelling ? dwellingTexts(home, random) : otherTexts(home, random);
  const terms = [...sentences, termsOf(home, random), closingOf(home, isPrivate, random)].filter((part) => part !== '');
  return {
    title: `${title} – ${home.quarter.name}`,
    description: terms.join(random.chance(0.3) ? '\n' : ' '),
    features: featuresOf(home),
  };
}

type Words = readonly string[];

function dwellingTexts(home: Home, random: Random): readonly [title: string, sentences: Words] {
  const points = home.traits.map((trait) => random.pick(TRAIT_WORDS[trait].sentences));
  return [titleOf(home, random), [openingOf(home), layoutOf(home), ...points, stateOf(home, random)]];
}

function otherTexts(home: Home, random: Random): readonly [title: string, sentences: Words] {
  const [title, sentence] = random.pick(OTHERS[home.propertyType]?.(home) ?? []);
  return [title, [`${home.quarter.in}, ${home.quarter.near}.`, sentence]];
}

/** The words for a trait: in the list of features, in a title, and in a sentence. */
const TRAIT_WORDS: Readonly<
  Record<Trait, { readonly feature: string; readonly title: string; readonly sentences: Words }>
> = {
  sea: {
    feature: 'vue mer',
    title: 'avec vue mer',
    sentences: [
      'Vue mer depuis le séjour, du petit-déjeuner au coucher du soleil.',
      'La vue mer est dégagée, sans vis-à-vis.',
    ],
  },
  nearSea: {
    feature: '',
    title: '',
    sentences: [
      'Pas de vue mer, mais les plages à pied.',
      'Pas de vue mer : le bien donne sur une cour plantée, au calme.',
    ],
  },
  terrace: {
    feature: 'terrasse',
    title: 'avec terrasse',
    sentences: [
      'La terrasse, exposée plein sud, prolonge le séjour.',
      'On déjeune une bonne partie de l’année sur la terrasse, à l’abri des regards.',
    ],
  },
  balcony: {
    feature: 'balcon',
    title: 'avec balcon',
    sentences: ['Un balcon filant longe la façade.', 'Balcon exposé sud-ouest, assez profond pour une table.'],
  },
  garden: {
    feature: 'jardin',
    title: 'avec jardin',
    sentences: [
      'Le jardin est clos et planté d’arbres fruitiers.',
      'Jardin facile d’entretien, avec un coin potager et une remise.',
    ],
  },
  pool: {
    feature: 'piscine',
    title: 'avec piscine',
    sentences: ['Piscine entretenue, au milieu des arbres.', 'La piscine est en parfait état, son liner a été changé.'],
  },
  cellar: { feature: 'cave', title: '', sentences: ['Une cave complète le bien.', 'Cave saine au sous-sol.'] },
  parking: {
    feature: 'parking',
    title: 'avec parking',
    sentences: ['Une place de stationnement privative est comprise.', 'Place de parking numérotée dans la résidence.'],
  },
  garage: {
    feature: 'garage',
    title: 'avec garage',
    sentences: ['Un garage fermé de 15 m² est compris.', 'Garage fermé attenant.'],
  },
  character: {
    feature: 'cheminée',
    title: 'de caractère',
    sentences: [
      'Parquet, moulures et cheminée en marbre ont été conservés.',
      'Beaux volumes : trois mètres sous plafond, cheminées et menuiseries d’origine.',
    ],
  },
  topFloor: {
    feature: 'dernier étage',
    title: 'en dernier étage',
    sentences: ['En dernier étage, sans voisin au-dessus.', 'Le dernier étage garantit le calme et la lumière.'],
  },
  aircon: {
    feature: 'climatisation',
    title: '',
    sentences: ['Climatisation réversible.', 'Climatisation installée il y a deux ans.'],
  },
  crossing: {
    feature: 'traversant',
    title: 'traversant',
    sentences: ['Traversant est-ouest, il reçoit le soleil toute la journée.', 'Plan traversant, sans perte de place.'],
  },
};

/** The form after a masculine and after a feminine noun. */
const STATE_WORDS = {
  renovated: ['rénové', 'rénovée'],
  good: ['', ''],
  works: ['à rénover', 'à rénover'],
} as const;

function titleOf(home: Home, random: Random): string {
  const { propertyType, rooms, landSurface, condition, traits, isLifeAnnuity, furnished } = home;
  const isFlat = propertyType === FLAT;
  const noun = isFlat
    ? random.pick(flatNouns(home))
    : (landSurface ?? 0) < 260
      ? 'Maison de ville'
      : random.pick(['Villa', 'Maison']);
  const count = isFlat ? '' : `${rooms} pièces`;
  if (isLifeAnnuity) return `Viager occupé, ${noun.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase())}`;
  const state = STATE_WORDS[condition][isFlat ? 0 : 1];
  const best = traits.map((trait) => TRAIT_WORDS[trait].title).find((words) => words !== '') ?? '';
  const isMet = furnished === true ? (isFlat ? 'meublé' : 'meublée') : '';
  return [noun, count, isMet, state, isFlat || best !== 'traversant' ? best : '']
    .filter((part) => part !== '')
    .join(' ');
}

/** Adverts in Paris write “3 pièces” or “Trois-pièces”; those elsewhere write “3 pièces” or “T3”. */
function flatNouns({ rooms, surface, quarter }: Home): Words {
  if (rooms === 1) return (surface ?? 0) > 30 ? ['Grand studio', 'Studio'] : ['Studio'];
  if (quarter.insee.startsWith('75')) return [`Appartement ${rooms} pièces`, ROOM_WORDS[rooms ?? 0] ?? 'Appartement'];
  return [`T${rooms}`, `Appartement ${rooms} pièces`, `Appartement T${rooms}`];
}

const ROOM_WORDS: Readonly<Record<number, string>> = {
  2: 'Deux-pièces',
  3: 'Trois-pièces',
  4: 'Quatre-pièces',
  5: 'Cinq-pièces',
};

function openingOf({
  quarter,
  propertyType,
  rooms,
  surface,
  landSurface,
  floor,
  floors,
  elevator,
  year,
}: Home): string {
  const where = `${quarter.in}, ${quarter.near}`;
  if (propertyType === HOUSE) {
    return `${where}, maison de ${surface} m², construite en ${year}, sur un terrain clos de ${landSurface} m².`;
  }
  const what = rooms === 1 ? 'studio' : `appartement de ${rooms} pièces`;
  const storey = floor === 0 ? 'au rez-de-chaussée' : `au ${floor}${floor === 1 ? 'er' : 'e'} étage sur ${floors}`;
  const building = (year ?? 0) < 1940 ? 'd’un immeuble ancien' : `d’une résidence de ${year}`;
  return `${where}, ${what} de ${surface} m² ${storey} ${building}${elevator ? ', avec ascenseur' : ''}.`;
}

const NUMBERS = ['', '', 'deux', 'trois', 'quatre', 'cinq', 'six'];

function layoutOf({ propertyType, rooms, surface, condition }: Home): string {
  const living = Math.round((surface ?? 0) * (rooms === 1 ? 0.75 : 0.33));
  if (rooms === 1) return `Il comprend une pièce de vie de ${living} m² avec coin cuisine et une salle d’eau.`;
  const bedrooms = (rooms ?? 2) - 1;
  const chambers = bedrooms === 1 ? 'une chambre' : `${NUMBERS[bedrooms]} chambres`;
  const kitchen = condition === 'works' ? 'une cuisine' : 'une cuisine équipée';
  if (propertyType === HOUSE) {
    return `Au rez-de-chaussée, un séjour de ${living} m² et ${kitchen} ; à l’étage, ${chambers} et une salle de bains.`;
  }
  const bath = bedrooms > 2 ? 'd’une salle de bains et d’une salle d’eau' : 'd’une salle de bains';
  return `Il se compose d’un séjour de ${living} m², d’${kitchen}, ${bedrooms === 1 ? 'd’' : 'de '}${chambers} et ${bath}.`;
}

const STATES: Readonly<Record<Home['condition'], Words>> = {
  renovated: [
    'Rénovation complète achevée l’an dernier : électricité, fenêtres, cuisine et pièces d’eau.',
    'Entièrement rénové, rien à prévoir.',
  ],
  good: ['Bon état général.', 'L’ensemble est bien entretenu.', ''],
  works: ['Des travaux sont à prévoir, le prix en tient compte.', 'À rénover entièrement : fort potentiel.'],
};

function stateOf({ condition, isLifeAnnuity }: Home, random: Random): string {
  if (isLifeAnnuity) return 'Vente en viager occupé par une dame de 81 ans : bouquet affiché, rente mensuelle indexée.';
  return random.pick(STATES[condition]);
}

type Offer = readonly [title: string, sentence: string];

/** Titles and sentences for properties that are not flats or houses. */
const OTHERS: Readonly<Record<number, (home: Home) => readonly Offer[]>> = {
  [BUILDING]: ({ surface }) => [
    [
      'Immeuble de rapport entièrement loué',
      `Immeuble de ${surface} m² sur trois niveaux : cinq appartements et un local en pied d’immeuble. Toiture refaite.`,
    ],
    [
      'Petit immeuble à diviser',
      `Immeuble de ${surface} m², libre, en monopropriété : quatre appartements possibles. Façade ravalée.`,
    ],
  ],
  [PARKING]: () => [
    ['Place de parking en sous-sol', 'Accès par badge, éclairage automatique, hauteur de 1,95 m.'],
    ['Garage fermé', 'Accès de plain-pied par une rue calme, porte basculante récente.'],
    ['Box sécurisé', 'Box maçonné dans une résidence avec gardien, porte motorisée, prise électrique.'],
  ],
  [OFFICE]: ({ surface }) => [
    ['Bureaux lumineux', `Bureaux de ${surface} m² au premier étage : accueil, trois pièces, fibre et climatisation.`],
    ['Plateau de bureaux divisible', `Plateau de ${surface} m², avec coin cuisine et deux places de stationnement.`],
  ],
  [LAND]: ({ landSurface }) => [
    [
      'Terrain à bâtir',
      `Parcelle de ${landSurface} m², plate et viabilisée, libre de constructeur. Étude de sol réalisée.`,
    ],
    [
      'Terrain avec permis de construire',
      `Parcelle de ${landSurface} m², réseaux en bordure, permis purgé pour une villa de 110 m².`,
    ],
  ],
  [SHOP]: ({ surface }) => [
    [
      'Local commercial avec vitrine',
      `Local de ${surface} m² avec 5 m de vitrine et une réserve, tous commerces sauf restauration.`,
    ],
    [
      'Local en angle, bel emplacement',
      `Local de ${surface} m² en rez-de-chaussée, rideau électrique, climatisation. Passage toute la journée.`,
    ],
  ],
};

function termsOf(home: Home, random: Random): string {
  const { transactionType, propertyType, price, surface, isLifeAnnuity } = home;
  if (transactionType === RENT) {
    const charges = chargesOf(home);
    if (propertyType === PARKING) return `Loyer de ${price} € par mois, charges comprises.`;
    if (propertyType === OFFICE || propertyType === SHOP)
      return `Loyer de ${price} € par mois hors charges, bail 3-6-9.`;
    return `Loyer de ${price} € par mois charges comprises, dont ${charges} € de provision. Disponible de suite.`;
  }
  if (propertyType !== FLAT || isLifeAnnuity || random.chance(0.3)) return '';
  return `Copropriété de ${random.integer(6, 90)} lots, ${(surface ?? 0) * 18} € de charges par an, aucune procédure en cours.`;
}

/** Monthly charges, in euros. */
export function chargesOf({ surface }: Home): number {
  return 5 * Math.max(3, Math.round(((surface ?? 0) * 1.1) / 5));
}

const RISKS =
  'Les informations sur les risques auxquels ce bien est exposé sont disponibles sur le site Géorisques : www.georisques.gouv.fr.';
const CLOSINGS = {
  owner: ['Particulier à particulier, agences s’abstenir.', 'Visites en soirée et le week-end.'],
  sale: [RISKS, RISKS, 'Honoraires à la charge du vendeur.', 'Visites sur rendez-vous, samedi compris.'],
  rent: [RISKS, 'Dossier complet demandé avant la visite.', 'Visites groupées le mercredi et le samedi.'],
} as const;

function closingOf({ transactionType }: Home, isPrivate: boolean, random: Random): string {
  const offered = transactionType === SALE ? 'sale' : 'rent';
  return random.pick<string>(CLOSINGS[isPrivate ? 'owner' : offered]);
}

function featuresOf({ traits, elevator }: Home): Words {
  const features = traits.map((trait) => TRAIT_WORDS[trait].feature).filter((feature) => feature !== '');
  return elevator ? [...features, 'ascenseur'] : features;
}
