/** The state of a property as text, and back. See packed.ts before a member is added. */

import type { AdvertContent, AdvertEvent, Contact, EnergyRating, FieldChange, Publisher } from './advert.ts';
import type { Uuid } from './ids.ts';
import { pack, shapeOf, unpack } from './packed.ts';
import type { HeldAdvert, PropertyState, StatedProperty, Station, StationLine } from './property.ts';
import { eachFlag } from './property-flags.ts';

const ENERGY = shapeOf<EnergyRating>({ category: 'value', value: 'value' });

/** Flags that were added later are stored after all others. */
const { elevator, furnished, ...laterFlags } = eachFlag(() => 'value' as const);

/** Members that are rarely known come last. */
const CONTENT = shapeOf<AdvertContent>({
  title: 'value',
  description: 'value',
  url: 'value',
  price: 'value',
  surface: 'value',
  pictures: 'list',
  contact: shapeOf<Contact>({
    agency: 'value',
    email: 'value',
    name: 'value',
    phone: 'value',
    reference: 'value',
    fax: 'value',
  }),
  publisher: shapeOf<Publisher>({ category: 'value', name: 'value', type: 'value' }),
  createdAt: 'value',
  updatedAt: 'value',
  energy: ENERGY,
  greenHouseGas: ENERGY,
  floor: 'value',
  elevator,
  furnished,
  constructionYear: 'value',
  floorQuantity: 'value',
  features: 'list',
  virtualTour: 'value',
  landSurface: 'value',
  lotCount: 'value',
  priceExcludingFees: 'value',
  feesPercentage: 'value',
  feesResponsibility: 'value',
  condominiumFees: 'value',
  rentalPledge: 'value',
  rentalCharges: 'value',
  renterFees: 'value',
  inventoryPrice: 'value',
  picturesRemote: 'list',
  ...laterFlags,
});

const LINE = shapeOf<StationLine>({ id: 'value', name: 'value', number: 'value', color: 'value', routeName: 'value' });

const PROPERTY = shapeOf<StatedProperty>({
  title: 'value',
  description: 'value',
  transactionType: 'value',
  propertyType: 'value',
  createdAt: 'value',
  city: shapeOf<NonNullable<StatedProperty['city']>>({ insee: 'value', zipcode: 'value', name: 'value' }),
  locations: shapeOf<NonNullable<StatedProperty['locations']>>({ lat: 'value', lon: 'value' }),
  room: 'value',
  bedroom: 'value',
  floor: 'value',
  elevator,
  furnished,
  price: 'value',
  surface: 'value',
  landSurface: 'value',
  pictures: 'value',
  stations: [shapeOf<Station>({ id: 'value', name: 'value', lines: [LINE] })],
  ...laterFlags,
});

/** The advert's UUID is not repeated. */
const EVENT = shapeOf<Omit<AdvertEvent, 'advertUuid'>>({
  kind: 'value',
  createdAt: 'value',
  field: shapeOf<FieldChange>({
    fieldName: 'value',
    fieldOldValue: 'value',
    fieldNewValue: 'value',
    percentVariation: 'value',
  }),
});

const ADVERT = shapeOf<HeldAdvert>({
  uuid: 'value',
  content: CONTENT,
  property: PROPERTY,
  firstCrawledAt: 'value',
  changedAt: 'value',
  events: [EVENT],
  createdBefore: 'value',
  expiredAt: 'value',
  lastLiveCrawledAt: 'value',
});

const STATE = shapeOf<PropertyState>({ uuid: 'value', adverts: [ADVERT] });

/** In SQL, the texts of a packed advert: of its property, then its own. */
export const PACKED_TEXTS = ['{2,0}', '{2,1}', '{1,0}', '{1,1}'] as const;

export function stateText(state: PropertyState): string {
  return JSON.stringify(pack(state, STATE));
}

export function advertText(advert: HeldAdvert): string {
  return JSON.stringify(pack(advert, ADVERT));
}

export function readState(text: string): PropertyState {
  const { uuid, adverts } = unpack(JSON.parse(text), STATE);
  return { uuid, adverts: adverts.map(withEvents) };
}

function withEvents(advert: HeldAdvert): HeldAdvert {
  const { uuid, events } = advert;
  return Object.assign(advert, { events: events.map((event) => eventOf(uuid, event)) });
}

function eventOf(advertUuid: Uuid, { kind, createdAt, field }: AdvertEvent): AdvertEvent {
  return { kind, advertUuid, createdAt, field };
}
