/**
 * A simulated crawler: realistic French adverts in the form of the intake contract (decisions, section 8), and their
 * changes, for tests and benchmarks. The same seed and reference give the same messages on every machine. A call
 * changes only the state of the crawler, and does not read the clock.
 */

import type { AdvertContent } from '../../src/engine/domain/advert.ts';
import { ENERGY_CATEGORIES, LAND, RENT, SALE } from '../../src/engine/domain/codes.ts';
import type { Uuid } from '../../src/engine/domain/ids.ts';
import type { StatedProperty } from '../../src/engine/domain/property.ts';
import type { Reference } from '../../src/engine/reference/communes.ts';
import { createPlaceSampler, type SamplePlace, scatterPoint } from './sample-places.ts';
import { createRandom, type Random } from './seeded-random.ts';

type Publisher = NonNullable<AdvertContent['publisher']>;

interface UpsertJson {
  readonly kind: 'upsert';
  readonly crawledAt: string;
  readonly property: PropertyJson;
  readonly advert: AdvertJson;
}

interface ExpireJson {
  readonly kind: 'expire';
  readonly crawledAt: string;
  readonly property: { readonly uuid: Uuid };
  readonly advert: { readonly uuid: Uuid };
  readonly expiredAt: string;
}

/** A message ready for `JSON.stringify`. */
export type IntakeMessageJson = UpsertJson | ExpireJson;

export const SAMPLE_CHANGES = ['price', 'surface', 'pictures', 'text', 'expiry', 'comeback', 'none'] as const;
type SampleChange = (typeof SAMPLE_CHANGES)[number];

export interface SampleCrawler {
  /** A new advert or, once adverts exist, perhaps a change of one. */
  next(): IntakeMessageJson;
  /** A new advert; one in six belongs to a property that already has one. */
  newAdvert(): UpsertJson;
  /**
   * A change of a published advert; `none` is a re-crawl without changes. So is a comeback while no advert is
   * expired, or a change of a price or surface that was never stated. The first call returns a new advert.
   */
  change(kind?: SampleChange): IntakeMessageJson;
}

export interface SampleCrawlerOptions {
  readonly seed: number;
  readonly reference: Reference;
  /** When the crawl begins; `crawledAt` grows from here. */
  readonly startAt: Date;
  /** Mean time between two messages by the crawler's clock. Default 250. */
  readonly intervalMs?: number;
  /** Share of changes in `next`. Default 0.4. */
  readonly changeShare?: number;
  /** How many adverts are kept for changes; above this limit the oldest is dropped. Default 20,000, about 40 MB. */
  readonly heldMax?: number;
}

const CHANGES: readonly (readonly [SampleChange, number])[] = [
  ['none', 34],
  ['price', 28],
  ['pictures', 14],
  ['text', 6],
  ['surface', 4],
  ['expiry', 10],
  ['comeback', 4],
];

interface HeldSample {
  readonly property: PropertyJson;
  advert: AdvertJson;
  isExpired: boolean;
}

export function createSampleCrawler(options: SampleCrawlerOptions): SampleCrawler {
  const { reference, intervalMs = 250, changeShare = 0.4, heldMax = 20_000 } = options;
  const random = createRandom(options.seed);
  const samplePlace = createPlaceSampler(reference, random);
  const stored: HeldSample[] = [];
  let published = 0;
  let clockMs = options.startAt.getTime();

  function tick(): string {
    clockMs += random.integer(1, 2 * intervalMs - 1);
    return new Date(clockMs).toISOString();
  }

  function newAdvert(): UpsertJson {
    const crawledAt = tick();
    const known = stored.length > 0 && random.chance(1 / 6) ? random.pick(stored) : null;
    const publisher = drawPublisher(random);
    const sample =
      known === null
        ? { ...drawHome(samplePlace(), publisher, crawledAt, reference, random), isExpired: false }
        : againBy(known, publisher, crawledAt, random);
    stored[published++ % heldMax] = sample;
    return upsert(sample, crawledAt);
  }

  function change(kind: SampleChange = random.weighted(CHANGES)): IntakeMessageJson {
    if (stored.length === 0) return newAdvert();
    const crawledAt = tick();
    const sample = pickFor(kind, stored, random);
    if (kind === 'expiry') {
      sample.isExpired = true;
      const { property, advert } = sample;
      return {
        kind: 'expire',
        crawledAt,
        property: { uuid: property.uuid },
        advert: { uuid: advert.uuid },
        expiredAt: crawledAt,
      };
    }
    sample.isExpired = false;
    sample.advert = changed(sample.advert, kind, crawledAt, random);
    return upsert(sample, crawledAt);
  }

  return { next: () => (random.chance(changeShare) ? change() : newAdvert()), newAdvert, change };
}

function upsert({ property, advert }: HeldSample, crawledAt: string): UpsertJson {
  return { kind: 'upsert', crawledAt, property, advert };
}

/**
 * The first suitable advert from a random position on: an expired one for a comeback, otherwise a live one. Any advert
 * if none is suitable.
 */
function pickFor(kind: SampleChange, stored: readonly HeldSample[], random: Random): HeldSample {
  const start = random.integer(0, stored.length - 1);
  for (let i = 0; i < stored.length; i++) {
    const sample = stored[(start + i) % stored.length] as HeldSample;
    if (sample.isExpired === (kind === 'comeback')) return sample;
  }
  return stored[start] as HeldSample;
}

function changed(advert: AdvertJson, kind: SampleChange, crawledAt: string, random: Random): AdvertJson {
  const updatedAt = crawledAt;
  if (kind === 'price' && typeof advert.price === 'number') {
    const factor = random.chance(0.85) ? 1 - random.integer(1, 12) / 100 : 1 + random.integer(1, 6) / 100;
    return { ...advert, price: roundPrice(advert.price * factor), updatedAt };
  }
  if (kind === 'surface' && typeof advert.surface === 'number') {
    return { ...advert, surface: Math.max(9, advert.surface + random.pick([-3, -2, -1, 1, 2, 5])), updatedAt };
  }
  if (kind === 'pictures') return { ...advert, pictures: changedPictures(advert.pictures ?? [], random), updatedAt };
  if (kind === 'text') return { ...advert, description: `${advert.description ?? ''} Prix à débattre.`, updatedAt };
  return advert;
}

/** One picture more, one less, or the same pictures in another order. */
function changedPictures(pictures: readonly string[], random: Random): readonly string[] {
  const last = pictures.at(-1);
  if (last === undefined || random.chance(0.4)) return [...pictures, pictureUrl(random)];
  return random.chance(0.5) ? [last, ...pictures.slice(0, -1)] : pictures.slice(0, -1);
}

/** A further advert of the same property, at a slightly different price. */
function againBy({ property, advert }: HeldSample, by: Publisher, crawledAt: string, random: Random): HeldSample {
  const price = typeof advert.price === 'number' ? roundPrice(advert.price * (1 + random.integer(-3, 3) / 100)) : null;
  const title = `${advert.title ?? ''} - ${by.name ?? 'de particulier à particulier'}`;
  return { property, advert: { ...advert, title, price, ...publication(by, crawledAt, random) }, isExpired: false };
}

type PropertyJson = Partial<StatedProperty> & { readonly uuid: Uuid };
type AdvertJson = Partial<AdvertContent> & { readonly uuid: Uuid };

const FLAT = 0;
const HOUSE = 1;
const PARKING = 3;

/** Euros per m² of a flat for sale, by department; 2,000 elsewhere. */
const PRICES: Readonly<Record<string, number>> = {
  ...{ 75: 9500, 92: 6700, 94: 5100, 93: 3900, 78: 4300, 91: 3000, 95: 3200, 77: 3000, '06': 5300, 83: 4200 },
  ...{ 13: 3600, 34: 3300, 31: 3200, 33: 3800, 44: 3400, 35: 3300, 69: 3900, 74: 4800, 59: 2500, '2A': 4100 },
};
/** By property type: price per m² relative to a flat's, median surface (0: from the rooms) and plot in m², the noun. */
const KINDS = [
  { price: 1, surface: 0, plot: null, noun: 'Appartement' },
  { price: 0.88, surface: 0, plot: 600, noun: 'Maison' },
  { price: 0.65, surface: 320, plot: 400, noun: 'Immeuble' },
  { price: 0.45, surface: 13, plot: null, noun: 'Parking' },
  { price: 0.75, surface: 90, plot: null, noun: 'Bureaux' },
  { price: 0.06, surface: null, plot: 900, noun: 'Terrain' },
  { price: 0.85, surface: 90, plot: null, noun: 'Local commercial' },
] as const;
const SOLD = weights('0:46 1:36 5:8 3:3 2:2 4:2 6:3');
const LET = weights('0:72 1:12 3:9 4:4 6:3');
const ROOMS = [weights('1:19 2:28 3:28 4:16 5:7 6:2'), weights('3:12 4:27 5:29 6:18 7:9 8:5')];

function weights(pairs: string): readonly (readonly [number, weight: number])[] {
  return pairs.split(' ').map((pair) => pair.split(':').map(Number) as [number, number]);
}

/** An approximately log-normal value around `middle`. */
function spread(middle: number, deviation: number, random: Random): number {
  return Math.round(middle * Math.exp(deviation * random.normal()));
}

/** Rounds to a price that an advert would state. */
function roundPrice(price: number): number {
  const step = price < 3_000 ? 5 : 500;
  return Math.max(step, Math.round(price / step) * step);
}

/**
 * A plausible French property and its first advert, as a portal would write it, in the members of the intake contract
 * (decisions, section 8). Prices are near the notaries' figures of 2024, so that medians, budgets and price
 * coherence behave as they do on real adverts.
 */
function drawHome(place: SamplePlace, by: Publisher, crawledAt: string, reference: Reference, random: Random) {
  const transactionType = random.chance(0.72) ? SALE : RENT;
  const propertyType = random.weighted(transactionType === RENT ? LET : SOLD);
  const kind = KINDS[propertyType] as (typeof KINDS)[number];
  const isHome = propertyType === FLAT || propertyType === HOUSE;
  const room = isHome ? random.weighted(ROOMS[propertyType] ?? []) : null;
  const middle = room === null ? kind.surface : 10 + room * 18;
  const surface = middle === null ? null : Math.max(9, spread(middle, 0.2, random));
  const landSurface = kind.plot === null ? null : spread(kind.plot, 0.7, random);
  const floorQuantity = propertyType === FLAT ? random.integer(1, 8) : null;
  const elevator = floorQuantity === null ? null : random.chance(floorQuantity / 10);
  const furnished = transactionType === RENT && isHome ? random.chance(0.35) : null;
  const floor = floorQuantity === null ? null : random.integer(0, floorQuantity);
  const perMeter = PRICES[place.city.department.code] ?? 2_000;
  // One price in two hundred has a digit too many, which `withCoherentPrice` excludes.
  const slip = random.chance(0.005) ? 10 : 1;
  const extent = (propertyType === LAND ? landSurface : surface) ?? 13;
  const asked = (transactionType === RENT ? 7.5 + perMeter / 420 : perMeter) * kind.price * extent * slip;
  const price = random.chance(0.02) ? null : roundPrice(spread(asked, 0.22, random));
  const isRated = propertyType !== LAND && propertyType !== PARKING && random.chance(0.85);
  const { insee, zipcode, originalName, name } = place.city;
  const locations = scatterPoint(place, reference, random);
  const property: PropertyJson = {
    uuid: random.uuid(),
    transactionType,
    propertyType,
    room,
    floor,
    elevator,
    furnished,
    createdAt: crawledAt,
    bedroom: room === null ? null : Math.max(0, room - 1),
    city:
      zipcode === '' || random.chance(0.7)
        ? { insee, zipcode: null, name: null }
        : { insee: null, zipcode, name: random.chance(0.3) ? originalName.toUpperCase() : originalName },
    ...(locations === null ? {} : { locations }),
  };
  const what = `${kind.noun}${room === null ? '' : ` ${room} pièce${room === 1 ? '' : 's'}`} ${surface ?? landSurface} m²`;
  const isCoastal = COASTAL.has(place.city.department.code);
  const fitting = isHome ? SELLING_POINTS.slice(isCoastal ? 0 : 2) : SELLING_POINTS.slice(-2);
  const advert: AdvertJson = {
    ...writeText(what, name, fitting, random),
    price,
    surface,
    landSurface,
    elevator,
    furnished,
    floor,
    floorQuantity,
    constructionYear: propertyType !== LAND && random.chance(0.6) ? random.integer(1880, 2025) : null,
    energy: isRated ? drawRating([70, 110, 180, 250, 330, 420], 210, random) : null,
    greenHouseGas: isRated ? drawRating([6, 11, 30, 50, 70, 100], 28, random) : null,
    ...(transactionType === SALE
      ? { lotCount: propertyType === FLAT ? random.integer(4, 180) : null }
      : { rentalPledge: price, rentalCharges: price === null ? null : Math.round(price * 0.08) }),
    ...publication(by, crawledAt, random),
  };
  return { property, advert };
}

/** `bounds`: upper limits of A to F of the French rating of 2021, in kWh/m² or kg CO₂/m² a year. */
function drawRating(bounds: readonly number[], middle: number, random: Random) {
  const value = spread(middle, 0.5, random);
  const above = bounds.findIndex((bound) => value <= bound);
  return { value, category: ENERGY_CATEGORIES[above === -1 ? bounds.length : above] ?? 'G' };
}

const CATEGORIES = 'Agence Agence Agence Réseau Mandataire Portail Notaire Promoteur Particulier'.split(' ');
const NAMES = 'du Port,des Halles,Sainte-Anne,de la Gare,Mistral,Bellevue,du Marché,Jaurès,du Lac'.split(',');
const GIVEN_NAMES = 'Camille Louise Nadia Hugo Inès Karim Julien Sophie Marc Élodie'.split(' ');
/** Prefixes reserved for fiction by the French regulator (ARCEP decision 2018-0881). */
const FICTIONAL_PHONES = '01 99 00,02 61 91,03 53 01,04 65 71,05 36 49,06 39 98'.split(',');

/** An invented publisher; a private seller has no name. */
function drawPublisher(random: Random): Publisher {
  const category = random.pick(CATEGORIES);
  if (category === 'Particulier') return { category, name: null, type: 0 };
  return { category, name: `${category} ${random.pick(NAMES)}`, type: 1 };
}

/** Members that each advert of a property has for itself. Addresses are in `.example` (RFC 2606). */
function publication(publisher: Publisher, crawledAt: string, random: Random) {
  const number = random.integer(1_000_000, 99_999_999);
  const [given, phone] = [random.pick(GIVEN_NAMES), random.pick(FICTIONAL_PHONES)];
  return {
    uuid: random.uuid(),
    url: `https://www.portail.example/annonces/${number}`,
    virtualTour: null,
    contact: {
      agency: publisher.name,
      email: `contact-${number % 1_000}@portail.example`,
      fax: null,
      name: given,
      phone: `${phone} ${random.integer(10, 99)} ${random.integer(10, 99)}`,
      reference: publisher.type === 0 ? null : `REF-${random.integer(10_000, 99_999)}`,
    },
    publisher,
    pictures: Array.from({ length: random.integer(0, 9) }, () => pictureUrl(random)),
    createdAt: crawledAt,
    updatedAt: crawledAt,
  };
}

function pictureUrl(random: Random): string {
  return `https://images.example/${random.uuid()}.jpg`;
}

/**
 * The first two are for homes in coastal departments, the last two for any property, the others for homes. The second
 * states what the home lacks, which searches for words must not find.
 */
const SELLING_POINTS = [
  ['vue mer', 'Superbe vue mer panoramique depuis le séjour.'],
  ['', 'Pas de vue mer, mais un emplacement de premier ordre, sans vis-à-vis.'],
  ['terrasse', 'Une terrasse de 20 m² exposée plein sud prolonge la pièce de vie.'],
  ['balcon', 'Un balcon filant dessert le salon et la chambre.'],
  ['jardin', 'Jardin clos et arboré, qui reçoit le soleil toute la journée.'],
  ['piscine', 'Résidence sécurisée avec piscine.'],
  ['cave', 'Une cave saine complète ce bien.'],
  ['garage', 'Grand garage fermé avec atelier.'],
  ['ascenseur', 'Immeuble avec ascenseur.'],
  ['', 'Entièrement rénové par un architecte d’intérieur, électricité refaite à neuf.'],
  ['', 'Travaux à prévoir, fort potentiel, idéal investisseur.'],
  ['cheminée', 'Parquet, moulures, cheminée et poutres apparentes au calme.'],
  ['double vitrage', 'Traversant et lumineux, très bonne luminosité du matin au soir.'],
  ['', 'Vente en viager occupé, bouquet et rente mensuelle indexée.'],
  ['digicode', 'Accès sécurisé par digicode.'],
  ['', 'À deux pas des commerces et des transports.'],
  ['', 'Environnement calme et recherché.'],
] as const;
type SellingPoint = (typeof SELLING_POINTS)[number];
const COASTAL: ReadonlySet<string> = new Set('06 13 14 17 22 29 33 34 35 40 44 50 56 59 62 64 66 76 83 85'.split(' '));
const CLOSINGS = [
  'Contactez-nous pour organiser une visite.',
  'Les informations sur les risques auxquels ce bien est exposé sont disponibles sur le site Géorisques.',
] as const;

function writeText(what: string, place: string, fitting: readonly SellingPoint[], random: Random) {
  const points = [...new Set(Array.from({ length: random.integer(1, 4) }, () => random.pick(fitting)))];
  const features = points.map(([feature]) => feature).filter((feature) => feature !== '');
  const title = [what, ...features.slice(0, 1), random.chance(0.5) ? `- ${place}` : ''].filter(Boolean).join(' ');
  const sentences = [`Nouveauté : ${what} à ${place}.`, ...points.map(([, sentence]) => sentence)];
  return {
    title: random.chance(0.06) ? title.toUpperCase() : title,
    description: [...sentences, random.pick(CLOSINGS)].join(random.chance(0.2) ? '\n' : ' '),
    features,
  };
}
