/** The demonstration's saved searches: one of each kind of place, and words. */

const PRICE_EVENTS = ['ad.update.price', 'ad.update.expired'];

export const DEMO_SEARCHES = [
  {
    title: 'Appartements à vendre, Paris et petite couronne',
    transactionType: 0,
    propertyTypes: [0],
    includedDepartments: ['/departments/75', '/departments/92', '/departments/93', '/departments/94'],
    subscribedEvents: PRICE_EVENTS,
  },
  {
    title: 'À 30 km de Lyon, moins de 450 000 €',
    transactionType: 0,
    budgetMax: 450_000,
    lat: '45.7578',
    lon: '4.8320',
    radius: '30',
    subscribedEvents: PRICE_EVENTS,
  },
  {
    title: 'Maisons à vendre avec au moins 4 pièces',
    transactionType: 0,
    propertyTypes: [1],
    roomMin: 4,
    budgetMax: 600_000,
    subscribedEvents: PRICE_EVENTS,
  },
  {
    title: 'Locations dans les grandes villes',
    transactionType: '1',
    includedCities: [
      '/cities/75056',
      '/cities/13055',
      '/cities/69123',
      '/cities/31555',
      '/cities/33063',
      '/cities/44109',
    ],
    subscribedEvents: ['ad.update.price', 'property.ad.update'],
  },
  {
    title: 'Vue mer, sans viager',
    expressions: [
      [
        { word: 'vue mer', options: { includes: true, strict: true } },
        { word: 'pas de vue mer', options: { includes: false, strict: true } },
        { word: 'viager', options: { includes: false, strict: false } },
      ],
    ],
    subscribedEvents: PRICE_EVENTS,
  },
] as const;

/** Finds whatever a file brings. */
export const EVERYTHING = {
  title: 'Toutes les annonces',
  subscribedEvents: [...PRICE_EVENTS, 'ad.update.surface', 'ad.update.pictures', 'property.ad.update'],
};

export type DemoSearch = { readonly title: string } & Readonly<Record<string, unknown>>;
