/** Renders the rows of a long list only near the visible part, because ten thousand rows would block the page. */

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

const CHUNK_ROWS = 20;

interface ChunksProps<Row> {
  readonly rows: readonly Row[];
  /** The estimated height of a row that has not been rendered yet. */
  readonly rowPixels: number;
  /** `props`: the row's position in the list. */
  row(row: Row, props: { readonly 'aria-setsize': number; readonly 'aria-posinset': number }): JSX.Element;
}

export function Chunks<Row>({ rows, rowPixels, row }: ChunksProps<Row>) {
  const starts = Array.from({ length: Math.ceil(rows.length / CHUNK_ROWS) }, (_, at) => at * CHUNK_ROWS);
  return (
    <>
      {starts.map((from) => (
        <Chunk key={from} isFirst={from === 0} pixels={CHUNK_ROWS * rowPixels}>
          {() =>
            rows
              .slice(from, from + CHUNK_ROWS)
              .map((one, at) => row(one, { 'aria-setsize': rows.length, 'aria-posinset': from + at + 1 }))
          }
        </Chunk>
      ))}
    </>
  );
}

/** Observes an element in the scrolling view; returns a function that stops it. */
export function watchNear(element: Element | null, onChange: (entry: IntersectionObserverEntry) => void): () => void {
  const root = element?.closest('main') ?? null;
  const observer = new IntersectionObserver(([entry]) => entry && onChange(entry), { root, rootMargin: '800px' });
  if (element !== null) observer.observe(element);
  return () => observer.disconnect();
}

interface ChunkProps {
  readonly isFirst: boolean;
  readonly pixels: number;
  children(): JSX.Element[];
}

/** Far from the visible part, a chunk is a gap of the same height. A chunk with the focus stays rendered. */
function Chunk({ isFirst, pixels, children }: ChunkProps) {
  const element = useRef<HTMLDivElement>(null);
  const [gapPixels, setGap] = useState<number | null>(isFirst ? null : pixels);
  useEffect(
    () =>
      watchNear(element.current, ({ isIntersecting, boundingClientRect, target }) => {
        if (isIntersecting) setGap(null);
        else if (!target.contains(document.activeElement)) setGap(boundingClientRect.height);
      }),
    [],
  );
  if (gapPixels !== null) return <div ref={element} style={{ height: `${gapPixels}px` }} />;
  return <div ref={element}>{children()}</div>;
}
