/**
 * What French property is like and costs: kinds, sizes, ratings and prices by department, rounded from the notaries'
 * figures of 2024. Near enough for medians, budgets and price coherence to behave as they do on real adverts.
 */

import { ENERGY_CATEGORIES, LAND, RENT, SALE } from '../../engine/domain/codes.ts';
import type { Random } from './seeded-random.ts';

const APARTMENT = 0;
const HOUSE = 1;
const BUILDING = 2;
const PARKING = 3;

export interface SampleEstate {
  readonly transactionType: number;
  readonly propertyType: number;
  readonly room: number | null;
  readonly bedroom: number | null;
  readonly surface: number | null;
  readonly landSurface: number | null;
  readonly floor: number | null;
  readonly floorQuantity: number | null;
  readonly elevator: boolean | null;
  readonly furnished: boolean | null;
  readonly constructionYear: number | null;
  readonly energy: EnergySample | null;
  readonly greenHouseGas: EnergySample | null;
  /** Euros; a month's for a rent. Null when the advert gives none. */
  readonly price: number | null;
}

interface EnergySample {
  readonly category: string;
  readonly value: number;
}

/** Department and euros per m² of a flat for sale there; others are at `PRICE_ELSEWHERE`. */
const PRICES: ReadonlyMap<string, number> = new Map(
  `75:9500 92:6700 94:5100 93:3900 78:4300 91:3000 95:3200 77:3000 06:5300 83:4200 13:3600 84:2600
   30:2500 34:3300 66:2400 31:3200 33:3800 40:3300 64:3500 17:3600 44:3400 85:3100 56:3200 35:3300
   29:2300 69:3900 38:2700 73:3900 74:4800 01:2700 42:1500 59:2500 62:2100 67:3000 68:2000 54:2100
   57:2100 21:2300 25:2100 76:2200 14:2900 27:1900 37:2400 45:2000 49:2700 63:2000 60:2500 2A:4100
   2B:3100 971:2700 972:2600 973:2500 974:2800 976:2200`
    .split(/\s+/)
    .map((entry) => entry.split(':') as [string, string])
    .map(([department, price]) => [department, Number(price)]),
);
const PRICE_ELSEWHERE = 1500;

/** Of a flat's price per m². */
const PRICE_RATIO = [1, 0.88, 0.65, 0.45, 0.75, 0.06, 0.85] as const;

/** By the code of the kind, or the number of rooms: how often. */
const KINDS_SALE = weights('0:46 1:36 5:8 3:3 2:2 4:2 6:3');
const KINDS_RENT = weights('0:72 1:12 3:9 4:4 6:3');
const FLAT_ROOMS = weights('1:19 2:28 3:28 4:16 5:7 6:2');
const HOUSE_ROOMS = weights('3:12 4:27 5:29 6:18 7:9 8:5');

function weights(pairs: string): readonly (readonly [number, weight: number])[] {
  return pairs.split(' ').map((pair) => pair.split(':').map(Number) as [number, number]);
}

/** Inhabitants above which houses are rare. */
const CITY_POPULATION = 80_000;

export function drawEstate(departmentCode: string, population: number, random: Random): SampleEstate {
  const transactionType = random.chance(0.72) ? SALE : RENT;
  const propertyType = drawPropertyType(transactionType, population, random);
  const size = drawSize(propertyType, population, random);
  const isHome = propertyType === APARTMENT || propertyType === HOUSE;
  const floorQuantity = propertyType === APARTMENT ? random.integer(1, population > CITY_POPULATION ? 9 : 4) : null;
  const hasRatings = propertyType !== LAND && propertyType !== PARKING && random.chance(0.85);
  return {
    transactionType,
    propertyType,
    ...size,
    floor: floorQuantity === null ? null : random.integer(0, floorQuantity),
    floorQuantity,
    elevator: floorQuantity === null ? null : random.chance(0.1 + 0.08 * floorQuantity),
    furnished: transactionType === RENT && isHome ? random.chance(0.35) : null,
    constructionYear: propertyType !== LAND && random.chance(0.6) ? drawYear(random) : null,
    energy: hasRatings ? drawRating(ENERGY_BOUNDS, 210, random) : null,
    greenHouseGas: hasRatings ? drawRating(GAS_BOUNDS, 28, random) : null,
    price: random.chance(0.02) ? null : drawPrice(departmentCode, transactionType, propertyType, size, random),
  };
}

function drawPropertyType(transactionType: number, population: number, random: Random): number {
  const propertyType = random.weighted(transactionType === RENT ? KINDS_RENT : KINDS_SALE);
  const isRareHere = propertyType === HOUSE || propertyType === LAND;
  return isRareHere && population > CITY_POPULATION && random.chance(0.75) ? APARTMENT : propertyType;
}

type Size = Pick<SampleEstate, 'room' | 'bedroom' | 'surface' | 'landSurface'>;

/** m². Surfaces are whole numbers but for one in ten, as in real adverts. */
function drawSize(propertyType: number, population: number, random: Random): Size {
  const none = { room: null, bedroom: null, surface: null, landSurface: null };
  switch (propertyType) {
    case APARTMENT: {
      const room = random.weighted(FLAT_ROOMS);
      return { ...none, room, bedroom: room - 1, surface: vary(9 + room * 18, 0.16, random) };
    }
    case HOUSE: {
      const room = random.weighted(HOUSE_ROOMS);
      const plot = population > CITY_POPULATION ? 250 : 700;
      const landSurface = random.chance(0.9) ? Math.round(spread(plot, 0.7, random)) : null;
      return {
        room,
        bedroom: Math.max(1, room - random.integer(1, 2)),
        surface: vary(12 + room * 20, 0.18, random),
        landSurface,
      };
    }
    case LAND:
      return { ...none, landSurface: Math.round(spread(900, 0.8, random)) };
    case PARKING:
      return { ...none, surface: random.chance(0.6) ? random.integer(10, 18) : null };
    case BUILDING:
      return {
        ...none,
        surface: vary(320, 0.5, random),
        landSurface: random.chance(0.4) ? random.integer(150, 900) : null,
      };
    default:
      return { ...none, surface: vary(90, 0.6, random) };
  }
}

/** About log-normal round `middle`. */
function spread(middle: number, deviation: number, random: Random): number {
  return middle * Math.exp(deviation * random.normal());
}

function vary(middle: number, deviation: number, random: Random): number {
  const surface = Math.max(9, spread(middle, deviation, random));
  return random.chance(0.1) ? Math.round(surface * 100) / 100 : Math.round(surface);
}

function drawYear(random: Random): number {
  return random.chance(0.3) ? random.integer(1850, 1948) : random.integer(1949, 2025);
}

const ENERGY_BOUNDS = [70, 110, 180, 250, 330, 420] as const;
const GAS_BOUNDS = [6, 11, 30, 50, 70, 100] as const;

/** Upper bounds of A to F of the French energy rating of 2021: kWh/m² and kg CO₂/m² a year. */
function drawRating(bounds: readonly number[], middle: number, random: Random): EnergySample {
  const value = Math.round(spread(middle, 0.5, random));
  const above = bounds.findIndex((bound) => value <= bound);
  return { value, category: ENERGY_CATEGORIES[above === -1 ? bounds.length : above] ?? 'G' };
}

/** One advert in two hundred slips a digit, which is what `withCoherentPrice` is for. */
function drawPrice(
  departmentCode: string,
  transactionType: number,
  propertyType: number,
  size: Size,
  random: Random,
): number {
  const flat = PRICES.get(departmentCode) ?? PRICE_ELSEWHERE;
  const perMeter = (transactionType === RENT ? 7.5 + flat / 420 : flat) * (PRICE_RATIO[propertyType] ?? 1);
  const extent = (propertyType === LAND ? size.landSurface : size.surface) ?? 13;
  // Small homes cost more a square metre.
  const smallness = propertyType <= HOUSE ? (60 / extent) ** 0.12 : 1;
  const price = spread(perMeter * extent * smallness, 0.22, random) * (random.chance(0.005) ? 10 : 1);
  return roundPrice(price);
}

/** To what an advert would say: 5 € for a rent, 500 to 5,000 € for a sale. */
export function roundPrice(price: number): number {
  const step = price < 3_000 ? 5 : price < 150_000 ? 500 : price < 1_000_000 ? 1_000 : 5_000;
  return Math.max(step, Math.round(price / step) * step);
}
