/** Points of interest around a property: for each kind their number and the nearest one. The map shows all of them. */

import { circle, circleMarker, layerGroup } from 'leaflet';
import { useEffect, useState } from 'preact/hooks';
import { useRead } from '../answer.ts';
import { TextField } from '../controls.tsx';
import type { Collection, CoordinatesDocument, PointDocument } from '../documents.ts';
import { Loading, Problem } from '../elements.tsx';
import { distanceKm } from '../map/projection.ts';
import { useSharedMap } from '../shared-map.ts';
import { useWords } from '../words/language.ts';

const RADIUS_KM_MAX = 50;
const NONE: readonly PointDocument[] = [];

export function Around({ place: { lat, lon } }: { readonly place: CoordinatesDocument }) {
  const words = useWords();
  const [radiusKm, setRadiusKm] = useState(1);
  const query = { lat, lon, radius: radiusKm };
  const requested = useRead<Collection<PointDocument>>('/indicators/points_of_interest', query);
  const points = requested.value?.['hydra:member'] ?? NONE;
  usePointMarks(lat, lon, radiusKm, points);
  return (
    <section class="around">
      <h2>{words.around}</h2>
      <TextField
        label={words.members.radius}
        type="number"
        min="0.1"
        max={RADIUS_KM_MAX}
        step="0.1"
        value={radiusKm}
        onText={(text) => setRadiusKm(Math.min(RADIUS_KM_MAX, Number(text) || 1))}
      />
      <Problem text={requested.problem} again={requested.again} />
      <Loading isShown={requested.isLoading} />
      {requested.value !== null && <p class="hint">{words.pointCount(points.length)}</p>}
      <ul class="list">
        {Object.entries(words.facilities).map(([facility, name]) => {
          // The answer has the nearest first.
          const [nearest, ...others] = points.filter(({ type }) => type === facility);
          if (nearest === undefined) return null;
          return (
            <li key={facility} class="row">
              <span class="dot" data-facility={facility} aria-hidden="true" />
              <span class="row-title">{name}</span>
              <span class="row-aside">{words.number(others.length + 1)}</span>
              <span class="row-more">
                {`${nearest.name ?? words.unnamed} · ${words.number(distanceKm({ lat, lon }, nearest))} km`}
              </span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function usePointMarks(lat: number, lon: number, radiusKm: number, points: readonly PointDocument[]): void {
  const sharedMap = useSharedMap();
  useEffect(() => {
    if (sharedMap === null || points.length === 0) return;
    const reach = circle([lat, lon], { radius: radiusKm * 1_000, className: 'reach', interactive: false });
    const marks = points.map((point) =>
      circleMarker([point.lat, point.lon], { radius: 6, className: `poi poi-${point.type}`, interactive: false }),
    );
    const group = layerGroup([reach, ...marks]).addTo(sharedMap.map);
    return () => void group.remove();
  }, [sharedMap, lat, lon, radiusKm, points]);
}
