/**
 * The recorded market of the demonstration: adverts and their changes as a crawler would publish them. The recording
 * can be played in a loop: after the end, adverts of the previous round still change and expire. It is the same on
 * every machine.
 */

import { RENT, SALE } from '../../src/engine/domain/codes.ts';
import type { PointOfInterest } from '../../src/engine/domain/point-of-interest.ts';
import { asking, drawHome, FLAT, type Home, nearest } from './market-homes.ts';
import { drawAddress, QUARTERS, type Quarter } from './market-quarters.ts';
import { chargesOf, type Texts, writeTexts } from './market-texts.ts';
import { createRandom, type Random } from './seeded-random.ts';

type Members = Readonly<Record<string, unknown>>;

/**
 * An intake message (decisions, section 8) without times, and with numbers in place of UUIDs. The demonstration derives
 * UUIDs from the numbers, other ones in each round, so that every round has other homes.
 */
interface RecordedMessage {
  readonly kind: 'upsert' | 'expire';
  /** True for the first message of its property. */
  readonly isNew?: true;
  readonly property: Members & { readonly uuid: number };
  readonly advert: Members & { readonly uuid: number };
}

const SEED = 83_137;
const HOMES = 640;
/** Times are counted in newly published homes: mean time until a home first changes, and how long it is offered. */
const FIRST_CHANGE = 12;
const [LIFE_MIN, LIFE_MAX] = [40, 0.7 * HOMES];
const AWAY_MAX = 60;

export function recordMarket(): {
  readonly points: readonly PointOfInterest[];
  readonly messages: readonly RecordedMessage[];
} {
  const random = createRandom(SEED);
  const weights = QUARTERS.map((quarter) => [quarter, quarter.weight] as const);
  const timeline: { readonly at: number; readonly message: RecordedMessage }[] = [];
  for (let born = 0; born < HOMES; born++) {
    const home = drawHome(random.weighted(weights), random);
    for (const { after, message } of historyOf(home, born, random)) {
      timeline.push({ at: (born + after) % HOMES, message });
    }
  }
  timeline.sort((one, other) => one.at - other.at);
  return { points: QUARTERS.flatMap(pointsIn(random)), messages: timeline.map(({ message }) => message) };
}

interface Moment {
  /** Time since the home's first message, counted in homes that are published after it. */
  readonly after: number;
  readonly message: RecordedMessage;
}

/** All messages of a home, not sorted by time. */
function historyOf(home: Home, number: number, random: Random): readonly Moment[] {
  const life = LIFE_MIN + random.uniform() * (LIFE_MAX - LIFE_MIN);
  const property = propertyOf(home, number, random);
  const first = advertOf(home, 2 * number, random);
  const moments: Moment[] = [{ after: 0, message: { kind: 'upsert', isNew: true, property, advert: first } }];
  const expiry = (after: number, uuid: number): Moment => {
    return { after, message: { kind: 'expire', property: { uuid: number }, advert: { uuid } } };
  };
  let advert = first;
  for (let after = FIRST_CHANGE * (0.5 + random.uniform()); after < life; after += 20 + random.uniform() * life) {
    advert = changed(advert, home, random);
    moments.push({ after, message: { kind: 'upsert', property, advert } });
  }
  moments.push(expiry(life, first.uuid));
  if (random.chance(0.15)) {
    const back = life + 5 + random.uniform() * AWAY_MAX;
    moments.push({ after: back, message: { kind: 'upsert', property, advert } });
    moments.push(expiry(back + LIFE_MIN, first.uuid));
  }
  if (random.chance(0.16)) {
    const offered = life * random.uniform() * 0.8;
    const second = advertOf({ ...home, price: nearest(home.price * 1.02, stepOf(home)) }, 2 * number + 1, random);
    moments.push({ after: offered, message: { kind: 'upsert', property, advert: second } });
    moments.push(expiry(life + random.uniform(), second.uuid));
  }
  return moments;
}

function propertyOf(home: Home, uuid: number, random: Random): RecordedMessage['property'] {
  const { transactionType, propertyType, rooms, floor, elevator, furnished, quarter } = home;
  return known({
    uuid,
    transactionType,
    propertyType,
    room: rooms,
    bedroom: rooms === null || rooms === 1 ? null : rooms - 1,
    floor,
    elevator,
    furnished,
    city: { insee: quarter.insee },
    locations: drawAddress(quarter, random),
  }) as RecordedMessage['property'];
}

const AGENCIES = [
  'Agence Bellerive',
  'Cabinet Tramontane',
  'Immobilière des Deux Ponts',
  'Perrin & Filles Immobilier',
  'Agence Ponant',
  'Comptoir des Clés',
  'Étude Maréchal',
  'Agence du Cèdre',
  'Habitat Lumière',
];
const GIVEN_NAMES = ['Camille', 'Louise', 'Nadia', 'Hugo', 'Inès', 'Karim', 'Julien', 'Sophie', 'Marc', 'Élodie'];

type RecordedAdvert = RecordedMessage['advert'] &
  Texts & {
    readonly price: number;
    readonly surface?: number;
    readonly pictures: readonly string[];
  };

/** Addresses are in `.example` (RFC 2606); telephone numbers are reserved for fiction (ARCEP decision 2018-0881). */
function advertOf(home: Home, uuid: number, random: Random): RecordedAdvert {
  const isPrivate = random.chance(0.12);
  const agency = isPrivate ? null : random.pick(AGENCIES);
  const charges = home.transactionType === RENT ? chargesOf(home) : null;
  const isSoldFlat = home.transactionType === SALE && home.propertyType === FLAT;
  return known({
    uuid,
    ...writeTexts(home, isPrivate, random),
    price: home.price,
    surface: home.surface,
    landSurface: home.landSurface,
    elevator: home.elevator,
    furnished: home.furnished,
    floor: home.floor,
    floorQuantity: home.floors,
    constructionYear: home.year,
    energy: home.rating?.energy,
    greenHouseGas: home.rating?.greenHouseGas,
    rentalCharges: charges,
    rentalPledge: charges === null ? null : home.price - charges,
    condominiumFees: isSoldFlat ? 18 * (home.surface ?? 0) : null,
    url: `https://www.portail.example/annonces/${20_000_000 + uuid}`,
    publisher: { category: isPrivate ? 'Particulier' : 'Agence', name: agency, type: isPrivate ? 0 : 1 },
    contact: known({
      agency,
      name: random.pick(GIVEN_NAMES),
      phone: `06 39 98 ${random.integer(10, 99)} ${random.integer(10, 99)}`,
      reference: isPrivate ? null : `V${1_000 + uuid}`,
    }),
    pictures: Array.from({ length: random.integer(3, 9) }, (_, position) => pictureOf(uuid, position)),
  }) as RecordedAdvert;
}

function pictureOf(advert: number, position: number): string {
  return `https://images.example/${advert}/${position + 1}.jpg`;
}

const CHANGES = [
  ['price', 48],
  ['pictures', 20],
  ['text', 10],
  ['surface', 8],
  ['none', 14],
] as const;
const ADDED = [
  'Dernières visites cette semaine.',
  'Visite virtuelle sur demande.',
  'Disponible rapidement.',
  'Nouvelles photos en ligne.',
];

/** The advert after a change; `none` is a re-crawl without changes. */
function changed(advert: RecordedAdvert, home: Home, random: Random): RecordedAdvert {
  const kind = random.weighted(CHANGES);
  const { price, surface, pictures, description } = advert;
  if (kind === 'price') return repriced(advert, changedPrice(price, home, random));
  if (kind === 'text') return { ...advert, description: `${description} ${random.pick(ADDED)}` };
  if (kind === 'pictures') {
    const more = pictureOf(advert.uuid, pictures.length);
    return { ...advert, pictures: random.chance(0.75) ? [...pictures, more] : pictures.slice(1) };
  }
  if (kind === 'surface' && surface !== undefined && surface > 15) {
    const measured = surface + random.pick([-2, -1, 1, 2]);
    const said = description.replaceAll(`de ${surface} m²`, `de ${measured} m²`);
    return { ...advert, surface: measured, description: said };
  }
  return advert;
}

function stepOf({ price }: Pick<Home, 'price'>): number {
  return price < 5_000 ? 5 : price < 50_000 ? 500 : 1_000;
}

/** About six of seven price changes are cuts. */
function changedPrice(price: number, home: Home, random: Random): number {
  const percent = random.chance(6 / 7) ? -random.integer(2, 8) : random.integer(2, 4);
  const value = price * (1 + percent / 100);
  const asked =
    home.transactionType === SALE && price > 100_000 ? asking(value, random) : nearest(value, stepOf({ price }));
  return asked === price ? price - stepOf({ price }) : asked;
}

function repriced(advert: RecordedAdvert, price: number): RecordedAdvert {
  const description = advert.description.replace(`Loyer de ${advert.price} €`, `Loyer de ${price} €`);
  return { ...advert, price, description };
}

/** Leaves out the members whose value is unknown. */
function known(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined));
}

const POINTS = [
  ['kindergarten', 'Crèche', {}],
  ['school', 'École maternelle', { schoolType: 'maternelle', operatorType: 'public' }],
  ['school', 'École élémentaire', { schoolType: 'élémentaire', operatorType: 'public' }],
  ['school', 'Collège', { schoolType: 'collège', operatorType: 'private' }],
  ['restaurant', 'Bistrot', {}],
  ['restaurant', 'Brasserie', {}],
  ['hospital', 'Clinique', { operatorType: 'private' }],
  ['parking', 'Parking', {}],
] as const;

/** Invented points of interest: one of each kind in every quarter. */
function pointsIn(random: Random): (quarter: Quarter) => readonly PointOfInterest[] {
  return (quarter) =>
    POINTS.map(([facility, noun, attributes]) => {
      return { facility, ...drawAddress(quarter, random), name: `${noun} ${quarter.of}`, attributes };
    });
}
