/**
 * The fixed list of features (decisions, section 3). A row has the words that name the feature in an advert's
 * `features`, and the columns that state it in an agency's Poliris file. Never remove or move a row: searches store the
 * names, and summaries of properties store the positions, which are the features' bits.
 */

import type { InLanguages } from './criterion-words.ts';

interface FeatureRow {
  readonly label: InLanguages<string>;
  readonly words: InLanguages<readonly string[]>;
  readonly polirisColumns?: readonly number[];
  /** Another feature that every home with this feature has. */
  readonly implies?: string;
}

export const FEATURE_VOCABULARY = {
  balcony: {
    label: { fr: 'Balcon', en: 'Balcony' },
    words: {
      fr: ['balcon', 'balcons', 'grand balcon', 'loggia', 'loggias', 'nombre de balcons'],
      en: ['balcony', 'balconies'],
    },
    polirisColumns: [39],
  },
  terrace: {
    label: { fr: 'Terrasse', en: 'Terrace' },
    words: {
      fr: ['terrasse', 'terrasses', 'grande terrasse', 'toit-terrasse', 'toits-terrasses', 'nombre de terrasses'],
      en: ['terrace', 'terraces', 'roof terrace', 'roof terraces', 'rooftop terrace', 'rooftop'],
    },
    polirisColumns: [48, 244],
  },
  garden: {
    label: { fr: 'Jardin', en: 'Garden' },
    words: {
      fr: ['jardin', 'jardins', 'jardinet', 'jardin privatif', 'jardin privé', 'jardin clos', 'jardin arboré'],
      en: ['garden', 'gardens', 'private garden', 'yard', 'backyard'],
    },
  },
  cellar: {
    label: { fr: 'Cave', en: 'Cellar' },
    words: {
      fr: ['cave', 'caves', 'cave à vin', 'cave privative'],
      en: ['cellar', 'cellars', 'wine cellar'],
    },
    polirisColumns: [42],
  },
  parking: {
    label: { fr: 'Parking', en: 'Parking' },
    words: {
      fr: [
        'parking',
        'parkings',
        'place de parking',
        'places de parking',
        'place de stationnement',
        'places de stationnement',
        'emplacement de parking',
        'emplacements de parking',
        'stationnement',
        'stationnements',
        'parking privé',
        'parking privatif',
        'parking couvert',
        'parking extérieur',
        'parking intérieur',
        'parking souterrain',
        'parking en sous-sol',
        'parking aérien',
        'parking sécurisé',
        'nombre de parkings',
        'carport',
        'carports',
      ],
      en: ['parking space', 'parking spaces', 'parking spot', 'parking spots', 'private parking', 'car park'],
    },
    polirisColumns: [43],
  },
  garage: {
    label: { fr: 'Garage', en: 'Garage' },
    words: {
      fr: ['garage', 'garages', 'box', 'boxes', 'box fermé', 'garage fermé', 'garage double', 'double garage'],
      en: ['lock-up garage', 'private garage', 'closed garage'],
    },
    polirisColumns: [44, 318],
    implies: 'parking',
  },
  pool: {
    label: { fr: 'Piscine', en: 'Pool' },
    words: {
      fr: ['piscine', 'piscines', 'piscine privée', 'piscine chauffée', 'piscine collective', 'piscine commune'],
      en: ['pool', 'pools', 'swimming pool', 'swimming pools', 'private pool', 'heated pool', 'communal pool'],
    },
    polirisColumns: [65],
  },
  fireplace: {
    label: { fr: 'Cheminée', en: 'Fireplace' },
    words: { fr: ['cheminée', 'cheminées', 'cheminée à insert'], en: ['fireplace', 'fireplaces', 'open fireplace'] },
    polirisColumns: [68],
  },
  airConditioning: {
    label: { fr: 'Climatisation', en: 'Air conditioning' },
    words: {
      fr: [
        'climatisation',
        'climatisations',
        'clim',
        'climatisation réversible',
        'clim réversible',
        'climatisé',
        'climatisée',
        'climatisés',
        'climatisées',
        'air conditionné',
      ],
      en: ['air conditioning', 'air-conditioned', 'air conditioner', 'aircon', 'A/C'],
    },
    polirisColumns: [64],
  },
  accessible: {
    label: { fr: 'Accessible aux personnes à mobilité réduite', en: 'Accessible' },
    words: {
      fr: [
        'PMR',
        'accès PMR',
        'accessible PMR',
        'accessible aux PMR',
        'accessibilité PMR',
        'accessible',
        'accès handicapé',
        'accès handicapés',
        'accessible handicapé',
        'accessible handicapés',
        'aménagement handicapés',
        'aménagé pour handicapés',
        'accessible aux handicapés',
        'accessible aux personnes handicapées',
        'personnes à mobilité réduite',
        'accès personnes à mobilité réduite',
        'accessible aux personnes à mobilité réduite',
      ],
      en: ['wheelchair accessible', 'wheelchair access', 'disabled access', 'step-free access'],
    },
    polirisColumns: [66],
  },
  furnishedKitchen: {
    label: { fr: 'Cuisine équipée', en: 'Fitted kitchen' },
    words: {
      fr: [
        'cuisine équipée',
        'cuisines équipées',
        'cuisine aménagée',
        'cuisines aménagées',
        'cuisine aménagée et équipée',
        'cuisine équipée et aménagée',
        'cuisine aménagée équipée',
        'cuisine américaine équipée',
        'cuisine ouverte équipée',
        'kitchenette équipée',
      ],
      en: ['fitted kitchen', 'fitted kitchens', 'equipped kitchen', 'fully equipped kitchen', 'furnished kitchen'],
    },
  },
  newBuild: {
    label: { fr: 'Neuf', en: 'New build' },
    words: {
      fr: [
        'neuf',
        'neuve',
        'neufs',
        'neuves',
        'bien neuf',
        'logement neuf',
        'logements neufs',
        'appartement neuf',
        'maison neuve',
        'immeuble neuf',
        'programme neuf',
        'construction neuve',
        'VEFA',
      ],
      en: ['new build', 'new builds', 'newbuild', 'new construction', 'newly built', 'brand new', 'new development'],
    },
  },
  renovated: {
    label: { fr: 'Rénové', en: 'Renovated' },
    words: {
      fr: [
        'rénové',
        'rénovée',
        'rénovés',
        'rénovées',
        'entièrement rénové',
        'entièrement rénovée',
        'récemment rénové',
        'récemment rénovée',
        'refait à neuf',
        'refaite à neuf',
        'refaits à neuf',
        'refaites à neuf',
        'remis à neuf',
        'remise à neuf',
      ],
      en: ['renovated', 'refurbished', 'fully renovated', 'newly renovated', 'recently renovated'],
    },
    polirisColumns: [28],
  },
  toRenovate: {
    label: { fr: 'À rénover', en: 'To renovate' },
    words: {
      fr: [
        'à rénover',
        'à restaurer',
        'à rafraîchir',
        'à réhabiliter',
        'travaux',
        'avec travaux',
        'gros travaux',
        'travaux à prévoir',
        'travaux de rénovation',
        'rénovation à prévoir',
        'rafraîchissement à prévoir',
      ],
      en: ['to renovate', 'to be renovated', 'to refurbish', 'needs renovation', 'needs work', 'renovation project'],
    },
  },
  quiet: {
    label: { fr: 'Calme', en: 'Quiet' },
    words: {
      fr: ['calme', 'calmes', 'au calme', 'environnement calme', 'situation calme'],
      en: ['quiet', 'quiet area', 'quiet location'],
    },
    polirisColumns: [63],
  },
  unobstructedView: {
    label: { fr: 'Vue dégagée', en: 'Unobstructed view' },
    words: {
      fr: [
        'vue dégagée',
        'vues dégagées',
        'vue imprenable',
        'vues imprenables',
        'vue panoramique',
        'vues panoramiques',
        'sans vis-à-vis',
        'aucun vis-à-vis',
        'pas de vis-à-vis',
      ],
      en: ['unobstructed view', 'unobstructed views', 'open view', 'open views', 'panoramic view', 'panoramic views'],
    },
    polirisColumns: [78],
  },
  caretaker: {
    label: { fr: 'Gardien', en: 'Caretaker' },
    words: {
      fr: ['gardien', 'gardienne', 'gardiens', 'gardiennes', 'gardiennage', 'concierge', 'concierges'],
      en: ['caretaker', 'caretakers', 'doorman'],
    },
    polirisColumns: [47],
  },
  intercom: {
    label: { fr: 'Interphone', en: 'Intercom' },
    words: {
      fr: ['interphone', 'interphones', 'visiophone', 'visiophones', 'vidéophone', 'vidéophones', 'interphone vidéo'],
      en: ['intercom', 'intercoms', 'video intercom', 'entryphone', 'entryphones'],
    },
    polirisColumns: [46],
  },
  alarm: {
    label: { fr: 'Alarme', en: 'Alarm' },
    words: {
      fr: ['alarme', 'alarmes', "système d'alarme", "systèmes d'alarme"],
      en: ['alarm', 'alarms', 'alarm system', 'burglar alarm'],
    },
    polirisColumns: [61],
  },
} as const satisfies Readonly<Record<string, FeatureRow>>;
