/** The map's colours from the style sheet, for light and dark. */

const NAMES = [
  ...(['land', 'border', 'label', 'halo'] as const),
  ...(['area', 'chosen', 'sale', 'rent', 'expired', 'rim'] as const),
];

export type Colours = Readonly<Record<(typeof NAMES)[number], string>>;

/** Returns the colours that the browser uses for the reader's scheme. */
export function readColours(): Colours {
  const probe = document.body.appendChild(document.createElement('i'));
  const read = NAMES.map((name) => {
    probe.style.color = `var(--map-${name})`;
    return [name, getComputedStyle(probe).color] as const;
  });
  probe.remove();
  return Object.fromEntries(read) as Colours;
}
