/** One sample advert, its publisher and its property, in the members and forms of the intake contract (decisions, section 8). */

import type { AdvertContent, Contact, Publisher } from '../../engine/domain/advert.ts';
import { RENT, SALE } from '../../engine/domain/codes.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import type { StatedProperty } from '../../engine/domain/property.ts';
import type { Reference } from '../../engine/reference/communes.ts';
import type { SampleEstate } from './sample-market.ts';
import { type SamplePlace, scatterPoint } from './sample-places.ts';
import { writeAdvertText } from './sample-texts.ts';
import type { Random } from './seeded-random.ts';

export type PropertyJson = Partial<StatedProperty> & { readonly uuid: Uuid };
export type AdvertJson = Partial<AdvertContent> & { readonly uuid: Uuid };

const COASTAL: ReadonlySet<string> = new Set(
  '06 11 13 14 17 22 29 2A 2B 30 33 34 35 40 44 50 56 59 62 64 66 76 80 83 85 971 972 974'.split(' '),
);

/** What the crawler knows of the property whoever advertises it. Prices and surfaces come from the adverts. */
export function describeProperty(
  estate: SampleEstate,
  place: SamplePlace,
  reference: Reference,
  createdAt: string,
  random: Random,
): PropertyJson {
  const { insee, zipcode, originalName } = place.city;
  const locations = scatterPoint(place, reference, random);
  return {
    uuid: random.uuid(),
    transactionType: estate.transactionType,
    propertyType: estate.propertyType,
    room: estate.room,
    bedroom: estate.bedroom,
    floor: estate.floor,
    elevator: estate.elevator,
    furnished: estate.furnished,
    createdAt,
    city:
      zipcode === '' || random.chance(0.7)
        ? { insee, zipcode: null, name: null }
        : { insee: null, zipcode, name: random.chance(0.3) ? originalName.toUpperCase() : originalName },
    ...(locations === null ? {} : { locations }),
  };
}

export function describeAdvert(
  estate: SampleEstate,
  place: SamplePlace,
  by: SamplePublisher,
  crawledAt: string,
  random: Random,
): AdvertJson {
  const { price, elevator, furnished, surface, landSurface } = estate;
  const text = writeAdvertText(
    {
      ...estate,
      place: place.city.name,
      isCoastal: COASTAL.has(place.city.department.code),
      hasElevator: elevator,
      isFurnished: furnished,
    },
    random,
  );
  const url = advertUrl(by, random);
  return {
    uuid: random.uuid(),
    ...text,
    url,
    virtualTour: random.chance(0.12) ? `${url}/visite` : null,
    contact: drawContact(by, random),
    publisher: by.publisher,
    createdAt: crawledAt,
    updatedAt: crawledAt,
    energy: estate.energy,
    greenHouseGas: estate.greenHouseGas,
    constructionYear: estate.constructionYear,
    floorQuantity: estate.floorQuantity,
    floor: estate.floor,
    price,
    ...(estate.transactionType === SALE ? drawSaleTerms(estate, by, random) : drawRentTerms(estate, random)),
    surface,
    landSurface,
    elevator,
    furnished,
    pictures: drawPictures(random),
  };
}

/** Euros, but for the percentage. */
function drawSaleTerms(
  { price, propertyType }: SampleEstate,
  by: SamplePublisher,
  random: Random,
): Partial<AdvertContent> {
  const lotCount = propertyType === 0 && random.chance(0.5) ? random.integer(4, 180) : null;
  const condominiumFees = lotCount === null ? null : random.integer(40, 350) * 10;
  if (by.publisher.type === 0 || random.chance(0.4)) return { lotCount, condominiumFees };
  const feesPercentage = random.integer(30, 70) / 10;
  return {
    lotCount,
    condominiumFees,
    feesPercentage,
    feesResponsibility: random.chance(0.3) ? 0 : 1,
    priceExcludingFees: excludeFees(price, feesPercentage),
  };
}

export function excludeFees(price: number | null, feesPercentage: number | null): number | null {
  return price === null || feesPercentage === null ? null : Math.round(price / (1 + feesPercentage / 100));
}

/** Euros. Fees are bounded by law per m² (decree 2014-890): 8 to 12 for the tenant, 3 for the inventory. */
function drawRentTerms(
  { price, surface, transactionType, furnished }: SampleEstate,
  random: Random,
): Partial<AdvertContent> {
  if (transactionType !== RENT || price === null) return {};
  const extent = surface ?? 12;
  return {
    rentalPledge: furnished === true ? 2 * price : price,
    rentalCharges: random.chance(0.8) ? Math.round(price * 0.08) : null,
    renterFees: random.chance(0.7) ? Math.round(extent * random.integer(8, 12)) : null,
    inventoryPrice: random.chance(0.7) ? Math.round(extent * 3) : null,
  };
}

export function pictureUrl(random: Random): string {
  return `https://images.example/${random.uuid()}.jpg`;
}

export function drawPictures(random: Random): readonly string[] {
  return Array.from({ length: random.chance(0.06) ? 0 : random.integer(1, 9) }, () => pictureUrl(random));
}

export function advertUrl({ host }: SamplePublisher, random: Random): string {
  return `https://www.${host}/annonces/${random.integer(1_000_000, 99_999_999)}`;
}

export interface SamplePublisher {
  readonly publisher: Publisher;
  /** Host of its adverts. */
  readonly host: string;
}

const CATEGORIES = 'Agence Agence Agence Réseau Mandataire Portail Notaire Promoteur Particulier'.split(' ');
const FIRST = 'Agence Cabinet Immobilière Étude Maison Groupe'.split(' ');
const SECOND = 'du Port,des Halles,Sainte-Anne,de la Gare,Mistral,Bellevue,du Marché,Jaurès,des Remparts,du Lac'.split(
  ',',
);
const GIVEN_NAMES = 'Camille Louise Nadia Hugo Inès Karim Julien Sophie Marc Élodie'.split(' ');
const FAMILY_NAMES = 'Martin Bernard Petit Robert Moreau Garcia Lefèvre Roux Benali'.split(' ');
/** Kept for fiction by the French regulator (ARCEP decision 2018-0881). */
const FICTIONAL_PHONES = '019900 026191 035301 046571 053649 063998'.split(' ');

/**
 * A hundred and twenty publishers with invented names, at addresses in `.example` (RFC 2606); professionals among them
 * have many adverts each.
 */
export function drawPublishers(random: Random): readonly SamplePublisher[] {
  return Array.from({ length: 120 }, () => {
    const category = random.pick(CATEGORIES);
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
  const digits = `${random.pick(FICTIONAL_PHONES)}${random.integer(1000, 9999)}`;
  return digits.replace(/(\d\d)(?=\d)/g, '$1 ');
}

function slug(name: string): string {
  return name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z]+/g, '-');
}
