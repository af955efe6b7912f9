/** A property document and its parts (specification, sections 2.6 and 2.7), as the API answers them. */

import { z } from 'zod';
import { ADVERT_EVENT_KINDS } from '../../engine/domain/codes.ts';
import { eachFlag, PROPERTY_FLAGS } from '../../engine/domain/property-flags.ts';
import { MARK_STATES } from '../../engine/store/search-marks.ts';
import {
  dateTime,
  dateTimeOrNull,
  flag,
  identity,
  integer,
  link,
  list,
  number,
  text,
  textOrNull,
  uuid,
} from './field-schemas.ts';

const FLAGS = eachFlag((name) => flag(PROPERTY_FLAGS[name].described));
const CodedPlace = z.strictObject({ code: z.string(), id: z.int(), name: z.string() });
const Coordinates = z.strictObject({ lat: z.number(), lon: z.number() });

export const PropertyCity = z.strictObject({
  id: z.int(),
  cityParentId: integer('Commune that this arrondissement belongs to.'),
  insee: z.string(),
  name: z.string(),
  originalName: z.string(),
  zipcode: z.string().nullable(),
  country: CodedPlace,
  department: CodedPlace,
  region: CodedPlace,
  groupedCityNames: z.array(z.string()),
  groupedCityZipcodes: z.array(z.string()),
  hasGroupedByName: z.boolean(),
  hasGroupedByZipcode: z.boolean(),
  open: z.boolean(),
  location: Coordinates.nullable(),
});

const Line = z.strictObject({
  id: z.int().nullable(),
  name: z.string().nullable(),
  number: z.string().nullable(),
  color: z.string().nullable(),
  routeName: z.string().nullable(),
});
const Station = z.strictObject({ id: z.int().nullable(), name: z.string().nullable(), lines: z.array(Line) });

const AdvertEvent = z.strictObject({
  event: z.enum(ADVERT_EVENT_KINDS),
  createdAt: dateTime('When the crawler saw the change.'),
  fieldName: z.string().nullable(),
  fieldOldValue: z.string().nullable(),
  fieldNewValue: z.string().nullable(),
  percentVariation: z.number().nullable(),
});

const Contact = z.strictObject({
  agency: z.string().nullable(),
  email: z.string().nullable(),
  fax: z.string().nullable(),
  name: z.string().nullable(),
  phone: z.string().nullable(),
  reference: z.string().nullable(),
});
const Publisher = z.strictObject({
  category: z.string().nullable(),
  name: z.string().nullable(),
  type: z.int().nullable(),
});
const EnergyRating = z.strictObject({ category: z.string().nullable(), value: z.number().nullable() });

const Advert = z.strictObject({
  uuid: uuid('UUID of the advert.'),
  title: textOrNull('Title.'),
  description: textOrNull('Description.'),
  url: textOrNull('URL of the advert on its portal.'),
  virtualTour: textOrNull('URL of a virtual tour.'),
  contact: Contact.nullable().optional(),
  publisher: Publisher.nullable(),
  createdAt: dateTime('When it appeared.'),
  updatedAt: dateTime('When it last changed.'),
  lastCrawledAt: dateTime('When it was last seen.'),
  events: list(AdvertEvent, 'The newest 50 events.'),
  features: list(z.string(), 'Features.'),
  energy: EnergyRating.nullable(),
  greenHouseGas: EnergyRating.nullable(),
  constructionYear: integer('Year of construction.'),
  floorQuantity: integer('Floors of the building.'),
  floor: integer('Floor.'),
  lotCount: integer('Lots of the condominium.'),
  price: number('Euros.'),
  priceExcludingFees: number('Euros.'),
  renterFees: number('Euros.'),
  rentalPledge: number('Euros.'),
  inventoryPrice: number('Euros.'),
  rentalCharges: number('Euros.'),
  feesPercentage: number('Percent.'),
  condominiumFees: number('Euros.'),
  feesResponsibility: integer('0 seller, 1 buyer.'),
  surface: number('m².'),
  landSurface: number('m².'),
  ...FLAGS,
  pictures: list(z.string(), 'URLs.'),
  picturesRemote: list(z.string(), 'URLs.'),
});

export const PropertyDocument = z.strictObject({
  ...identity('PropertyDocument'),
  uuid: uuid('UUID of the property.'),
  property: link('PropertyDocument', 'Path of the property.'),
  adverts: list(Advert, 'Its adverts.'),
  title: textOrNull('Title.'),
  description: textOrNull('Description.'),
  transactionType: integer('0 sale, 1 rent.'),
  propertyType: integer('0 apartment, 1 house, 2 building, 3 parking, 4 office, 5 land, 6 shop.'),
  publisherTypes: list(z.int(), 'Of its live adverts: 0 individual, 1 professional.'),
  price: number('Euros.'),
  pricePerMeter: number('Euros per m².'),
  surface: number('m².'),
  landSurface: number('m².'),
  room: integer('Rooms.'),
  bedroom: integer('Bedrooms.'),
  floor: integer('Floor.'),
  ...FLAGS,
  expired: z.boolean().meta({ description: 'True if all its adverts have expired.' }),
  expiredAt: dateTimeOrNull('When the last advert expired.'),
  createdAt: dateTimeOrNull('When it appeared.'),
  updatedAt: dateTimeOrNull('When it last changed.'),
  lastCrawledAt: dateTimeOrNull('When a live advert, or any if none is live, was last seen.'),
  lastCrawledAdvert: uuid('UUID of that advert.').nullable(),
  locations: Coordinates.nullable(),
  pictures: list(z.string(), 'URLs.'),
  city: PropertyCity.nullable(),
  stations: list(Station, 'Stations nearby.'),
});

/** A client's mark of a property in a search. */
export const PropertyMark = z.strictObject({
  state: z.enum(MARK_STATES).nullable().meta({
    description: 'kept or hidden. A hidden property is in no e-mail and, unless requested, in no list of the search.',
  }),
  reason: textOrNull('Reason in a few words.'),
  note: textOrNull('Your own note.'),
  markedAt: dateTimeOrNull('When you last marked the property.'),
});

/** A change, as a delivery carries it (specification, section 6.2). */
export const AdEvent = z.strictObject({
  fieldName: text(
    'The field that changed: price, surface, pictures or expired. For `property.match.end`: the first criterion that ' +
      'fails, with its values.',
  ),
  fieldOldValue: z.string().nullable(),
  fieldNewValue: z.string().nullable(),
  percentVariation: z.string().nullable(),
  createdAt: dateTime('When the crawler saw the change.'),
  daysAway: z.int().min(0).optional().meta({
    description:
      'Only for `ad.update.reactivated`: whole days from the expiry to the crawl that found the advert again.',
  }),
});

export const PROPERTY_PARTS = {
  Advert,
  AdvertEvent,
  AdEvent,
  Contact,
  Publisher,
  EnergyRating,
  PropertyMark,
  PropertyCity,
  CodedPlace,
  Coordinates,
  Station,
  Line,
} as const;
