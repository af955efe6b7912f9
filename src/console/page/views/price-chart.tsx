/** How a price went: a small line of steps, told in words as well. */

import { useFormats } from '../words/formats.ts';
import { useWords } from '../words/language.ts';
import type { PricePoint } from './price-history.ts';

const [WIDTH, HEIGHT, MARGIN] = [320, 96, 8];

export function PriceChart({ prices }: { readonly prices: readonly PricePoint[] }) {
  const words = useWords();
  const formats = useFormats();
  const sentence = prices.map(({ at, price }) => `${formats.day(at)}: ${formats.euros(price)}`).join('; ');
  if (prices.length < 2) return <p class="hint">{words.priceSame(sentence)}</p>;
  const times = [...prices.map(({ at }) => Date.parse(at)), Date.now()];
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const [low, high] = [Math.min(...prices.map(({ price }) => price)), Math.max(...prices.map(({ price }) => price))];
  const x = (ms: number): number => MARGIN + ((ms - from) / Math.max(1, to - from)) * (WIDTH - 2 * MARGIN);
  const y = (price: number): number =>
    HEIGHT - MARGIN - ((price - low) / Math.max(1, high - low)) * (HEIGHT - 2 * MARGIN);
  const steps = prices.map(({ at, price }, index) => {
    const left = x(Date.parse(at)).toFixed(1);
    const level = y(price).toFixed(1);
    return index === 0 ? `M${left} ${level}` : `H${left}V${level}`;
  });
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={sentence}>
        <path class="line" d={`${steps.join('')}H${WIDTH - MARGIN}`} />
        {prices.map(({ at, price }) => (
          <circle key={at} cx={x(Date.parse(at))} cy={y(price)} r="3.5" />
        ))}
      </svg>
      <figcaption>
        <PriceThen point={prices[0]} />
        <PriceThen point={prices.at(-1)} />
      </figcaption>
    </figure>
  );
}

/** `10 March 2026: €250,000` at either end. */
function PriceThen({ point }: { readonly point: PricePoint | undefined }) {
  const formats = useFormats();
  if (point === undefined) return null;
  return (
    <span>
      <strong>{formats.euros(point.price)}</strong> {formats.day(point.at)}
    </span>
  );
}
