/** The homes of the demonstration's market, with consistent facts and realistic prices. */

import { ENERGY_CATEGORIES, LAND, RENT, SALE } from '../../src/engine/domain/codes.ts';
import type { Quarter } from './market-quarters.ts';
import type { Random } from './seeded-random.ts';

export const [FLAT, HOUSE, BUILDING, PARKING, OFFICE, SHOP] = [0, 1, 2, 3, 4, 6];

/** `sea`: the home has a view of the sea. `nearSea`: homes of the quarter have such a view, but this one does not. */
export const TRAITS = [
  'sea',
  'nearSea',
  'terrace',
  'balcony',
  'garden',
  'pool',
  'cellar',
  'parking',
  'garage',
  'character',
  'topFloor',
  'aircon',
  'crossing',
] as const;
export type Trait = (typeof TRAITS)[number];

export interface Home {
  readonly quarter: Quarter;
  readonly transactionType: number;
  readonly propertyType: number;
  /** Null except for flats and houses. */
  readonly rooms: number | null;
  readonly surface: number | null;
  readonly landSurface: number | null;
  /** 0 is the ground floor. */
  readonly floor: number | null;
  readonly floors: number | null;
  readonly elevator: boolean | null;
  readonly furnished: boolean | null;
  readonly year: number | null;
  readonly condition: 'renovated' | 'good' | 'works';
  readonly traits: readonly Trait[];
  /** True for a sale against an annuity; the price is then the initial sum. */
  readonly isLifeAnnuity: boolean;
  readonly price: number;
  readonly rating: { readonly energy: Rating; readonly greenHouseGas: Rating } | null;
}

interface Rating {
  readonly category: string;
  readonly value: number;
}

const SOLD = [
  [FLAT, 66],
  [HOUSE, 20],
  [PARKING, 4],
  [LAND, 3],
  [OFFICE, 2],
  [SHOP, 3],
  [BUILDING, 2],
] as const;
const LET = [
  [FLAT, 84],
  [HOUSE, 6],
  [PARKING, 6],
  [OFFICE, 2],
  [SHOP, 2],
] as const;
const FLAT_ROOMS = [
  [1, 17],
  [2, 30],
  [3, 30],
  [4, 16],
  [5, 7],
] as const;
const HOUSE_ROOMS = [
  [3, 12],
  [4, 32],
  [5, 32],
  [6, 18],
  [7, 6],
] as const;

export function drawHome(quarter: Quarter, random: Random): Home {
  const transactionType = random.chance(0.7) ? SALE : RENT;
  const drawn = random.weighted<number>(transactionType === SALE ? SOLD : LET);
  const propertyType = quarter.hasHouses || (drawn !== HOUSE && drawn !== LAND) ? drawn : FLAT;
  if (propertyType === FLAT || propertyType === HOUSE)
    return drawDwelling(quarter, transactionType, propertyType, random);
  const extents: Readonly<Record<number, readonly [min: number, max: number]>> = {
    [BUILDING]: [180, 420],
    [PARKING]: [11, 16],
    [OFFICE]: [28, 140],
    [SHOP]: [28, 120],
  };
  const [min, max] = extents[propertyType] ?? [0, 0];
  const surface = propertyType === LAND ? null : random.integer(min, max);
  const landSurface = propertyType === LAND ? 10 * random.integer(32, 120) : null;
  const hasRating = propertyType === BUILDING || propertyType === OFFICE || propertyType === SHOP;
  return {
    quarter,
    transactionType,
    propertyType,
    rooms: null,
    surface,
    landSurface,
    floor: null,
    floors: null,
    elevator: null,
    furnished: null,
    year: null,
    condition: 'good',
    traits: [],
    isLifeAnnuity: false,
    price: priceOfOther(quarter, transactionType, propertyType, surface ?? landSurface ?? 0, random),
    rating: hasRating ? drawRating('good', 1960, random) : null,
  };
}

function drawDwelling(quarter: Quarter, transactionType: number, propertyType: number, random: Random): Home {
  const isFlat = propertyType === FLAT;
  const rooms = random.weighted<number>(isFlat ? FLAT_ROOMS : HOUSE_ROOMS);
  const each = isFlat ? 19 : 21;
  const surface = Math.round((isFlat ? 8 : 16) + rooms * each * (0.85 + random.uniform() * 0.3));
  const year = quarter.isOld && random.chance(0.8) ? random.integer(1850, 1935) : random.integer(1954, 2021);
  const floors = isFlat ? random.integer(2, year < 1940 ? 5 : 8) : null;
  const floor = floors === null ? null : random.integer(rooms > 2 ? 1 : 0, floors);
  const elevator = floors === null ? null : year < 1940 ? random.chance(0.3) : floors > 3;
  const condition = random.weighted([
    ['good', 55],
    ['renovated', year < 2000 ? 30 : 0],
    ['works', year < 2000 && transactionType === SALE ? 15 : 0],
  ] as const);
  const facts = { quarter, transactionType, propertyType, rooms, surface, floor, floors, elevator, year, condition };
  const traits = drawTraits(facts, random);
  const isLifeAnnuity = isFlat && transactionType === SALE && rooms < 5 && random.chance(0.03);
  return {
    ...facts,
    landSurface: isFlat ? null : 10 * random.integer(18, 110),
    furnished: transactionType === RENT ? random.chance(rooms < 3 ? 0.55 : 0.15) : null,
    traits,
    isLifeAnnuity,
    price: priceOfDwelling({ ...facts, traits, isLifeAnnuity }, random),
    rating: random.chance(0.94) ? drawRating(condition, year, random) : null,
  };
}

type Facts = Pick<
  Home,
  'quarter' | 'transactionType' | 'propertyType' | 'rooms' | 'surface' | 'floor' | 'floors' | 'elevator' | 'condition'
> & { readonly year: number };

/** At most four traits, in the order in which a text names them. */
function drawTraits({ quarter, propertyType, floor, floors, rooms, year }: Facts, random: Random): readonly Trait[] {
  const isFlat = propertyType === FLAT;
  const seesSea = quarter.hasSea && (!isFlat || (floor ?? 0) > 1) && random.chance(0.4);
  const chances: Readonly<Record<Trait, number>> = {
    sea: Number(seesSea),
    nearSea: quarter.hasSea && !seesSea ? 0.25 : 0,
    terrace: isFlat ? (year > 1953 ? 0.25 : 0.05) : 0.5,
    balcony: isFlat && (floor ?? 0) > 0 ? (year > 1953 ? 0.5 : 0.25) : 0,
    garden: isFlat ? 0 : 1,
    pool: isFlat ? (year > 1990 ? 0.12 : 0) : 0.2,
    cellar: isFlat ? 0.4 : 0,
    parking: isFlat && year > 1953 ? 0.4 : 0,
    garage: isFlat ? 0.1 : 0.45,
    character: year < 1940 ? 0.6 : 0,
    topFloor: isFlat && floor === floors ? 1 : 0,
    aircon: 0.25,
    crossing: isFlat && (rooms ?? 0) > 2 ? 0.4 : 0,
  };
  const drawn = TRAITS.filter((trait) => random.chance(chances[trait]));
  return drawn.filter((trait) => trait !== 'balcony' || !drawn.includes('terrace')).slice(0, 4);
}

function priceOfDwelling(home: Facts & Pick<Home, 'traits' | 'isLifeAnnuity'>, random: Random): number {
  const { quarter, transactionType, propertyType, surface, floor, elevator, condition, traits, isLifeAnnuity } = home;
  const extent = surface ?? 0;
  const has = (trait: Trait): number => Number(traits.includes(trait));
  const climb = elevator === false && (floor ?? 0) > 3 ? -0.08 : 0;
  const comfort = 1 + 0.18 * has('sea') + 0.08 * has('terrace') + 0.08 * has('pool') + 0.04 * has('parking') + climb;
  const state = { renovated: 1.1, good: 1, works: 0.84 }[condition];
  const small = extent < 32 ? 1.12 : 1;
  const luck = 0.9 + random.uniform() * 0.2;
  const isHouse = propertyType === HOUSE;
  if (transactionType === RENT) {
    return nearest(quarter.rent * extent * (extent < 32 ? 1.3 : 1) * (isHouse ? 0.9 : 1) * luck * comfort, 5);
  }
  const value = quarter.salePrice * extent * (isHouse ? 1.12 : 1) * small * state * comfort * luck;
  return isLifeAnnuity ? nearest(value * 0.22, 1_000) : asking(value, random);
}

/** Price or monthly rent, except of flats and houses. A rent is 1/190 of the price, or 1/230 for a parking space. */
function priceOfOther(
  { salePrice }: Quarter,
  transactionType: number,
  propertyType: number,
  extent: number,
  random: Random,
): number {
  const luck = 0.85 + random.uniform() * 0.3;
  const values: Readonly<Record<number, number>> = {
    [PARKING]: 9_000 + salePrice * 2.6,
    [LAND]: extent * (60 + salePrice * 0.07),
    [OFFICE]: extent * salePrice * 0.7,
    [SHOP]: extent * salePrice * 0.85,
    [BUILDING]: extent * salePrice * 0.68,
  };
  const value = (values[propertyType] ?? 0) * luck;
  if (transactionType === SALE) return propertyType === PARKING ? nearest(value, 500) : asking(value, random);
  return propertyType === PARKING ? nearest(value / 230, 5) : nearest(value / 190, 10);
}

export function nearest(value: number, step: number): number {
  return Math.max(step, Math.round(value / step) * step);
}

/** A price as a seller states it: 249 000 rather than 251 312. */
export function asking(value: number, random: Random): number {
  const round = nearest(value, value < 150_000 ? 1_000 : 5_000);
  return value > 100_000 && round % 10_000 === 0 && random.chance(0.7) ? round - 1_000 : round;
}

/** Upper limits of A to F of the French rating of 2021, in kWh/m² and kg CO₂/m² a year; the worse letter counts. */
const ENERGY_BOUNDS = [70, 110, 180, 250, 330, 420];
const GAS_BOUNDS = [6, 11, 30, 50, 70, 100];

function drawRating(condition: Home['condition'], year: number, random: Random): NonNullable<Home['rating']> {
  const middle = year > 2012 ? 62 : year > 1990 ? 150 : 215;
  const state = { renovated: 0.75, good: 1, works: 1.5 }[condition];
  const energy = Math.round(middle * state * (0.75 + random.uniform() * 0.5));
  // Kilograms of CO₂ per kWh: two values for electric heating, one for gas.
  const gas = Math.max(1, Math.round(energy * random.pick([0.04, 0.05, 0.19])));
  const rank = Math.max(rankOf(energy, ENERGY_BOUNDS), rankOf(gas, GAS_BOUNDS));
  const letter = (position: number): string => ENERGY_CATEGORIES[position] ?? 'G';
  return {
    energy: { category: letter(rank), value: energy },
    greenHouseGas: { category: letter(rankOf(gas, GAS_BOUNDS)), value: gas },
  };
}

function rankOf(value: number, bounds: readonly number[]): number {
  const above = bounds.findIndex((bound) => value <= bound);
  return above === -1 ? bounds.length : above;
}
