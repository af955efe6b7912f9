/** The map's colours, as the style sheet has them for light and dark. */

export interface Colours {
  readonly sea: string;
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

const NAMES = [
  ...(['sea', 'land', 'border', 'label', 'halo'] as const),
  ...(['area', 'chosen', 'sale', 'rent', 'expired', 'rim'] as const),
];

/** As the browser resolves them for the reader's scheme. */
export function readColours(): Colours {
  const probe = document.body.appendChild(document.createElement('i'));
  const read = NAMES.map((name) => {
    probe.style.color = `var(--map-${name})`;
    return [name, getComputedStyle(probe).color] as const;
  });
  probe.remove();
  return Object.fromEntries(read) as unknown as Colours;
}
