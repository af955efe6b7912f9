/** The map's colours, as the style sheet has them for light and dark. */

export interface Colours {
  readonly sea: string;
  readonly land: string;
  readonly green: string;
  readonly building: string;
  readonly road: string;
  readonly roadRim: string;
  readonly border: string;
  readonly label: string;
  readonly halo: string;
  readonly area: string;
  readonly chosen: string;
  readonly sale: string;
  readonly rent: string;
  readonly expired: string;
  readonly rim: string;
}

const NAMES = [
  ...(['sea', 'land', 'green', 'building', 'road', 'roadRim', 'border', 'label', 'halo'] as const),
  ...(['area', 'chosen', 'sale', 'rent', 'expired', 'rim'] as const),
];

export function readColours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const read = NAMES.map((name) => [name, style.getPropertyValue(`--map-${name}`).trim()] as const);
  return Object.fromEntries(read) as unknown as Colours;
}
