/** The map's colours, as the style sheet has them for light and dark. */

export interface Colours {
  readonly land: string;
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

const NAMES = ['land', 'border', 'label', 'halo', 'area', 'chosen', 'sale', 'rent', 'expired', 'rim'] as const;

export function readColours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const read = NAMES.map((name) => [name, style.getPropertyValue(`--map-${name}`).trim()] as const);
  return Object.fromEntries(read) as unknown as Colours;
}
