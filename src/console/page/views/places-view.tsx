/** Points of interest round a place: chosen on the map, by name, or by its coordinates. */

import { circle, circleMarker, layerGroup } from 'leaflet';
import { useEffect, useState } from 'preact/hooks';
import { useAnswer, useMutation } from '../answer.ts';
import { Completion } from '../completion.tsx';
import type { Collection, Place, PointDocument } from '../documents.ts';
import { Empty, Field, Loading, Problem } from '../elements.tsx';
import { distanceKm } from '../map/projection.ts';
import { useModel } from '../model-context.ts';
import { useSharedMap } from '../shared-map.ts';
import { useFormats } from '../words/formats.ts';
import { useWords, type Words } from '../words/language.ts';

export const FACILITIES = ['kindergarten', 'school', 'restaurant', 'hospital', 'parking'] as const;
type Facility = (typeof FACILITIES)[number];

const LISTED_MAX = 100;
const RADIUS_KM_MAX = 50;

export function PlacesView() {
  const words = useWords();
  const sharedMap = useSharedMap();
  const [center, setCenter] = useState<Place | null>(null);
  const [radiusKm, setRadiusKm] = useState(1);
  const [chosen, setChosen] = useState<ReadonlySet<Facility>>(new Set(FACILITIES));
  useEffect(() => {
    if (sharedMap === null) return;
    const take = ({ latlng }: L.LeafletMouseEvent): void => setCenter({ lat: latlng.lat, lon: latlng.wrap().lng });
    sharedMap.map.on('click', take);
    return () => void sharedMap.map.off('click', take);
  }, [sharedMap]);
  const toggle = (facility: Facility): void => {
    const next = new Set(chosen);
    if (!next.delete(facility)) next.add(facility);
    setChosen(next);
  };
  return (
    <div class="overview">
      <h1>{words.views.places}</h1>
      <SearchCenter center={center} onCenter={setCenter} />
      <Field label={words.radiusKm}>
        {(ids) => (
          <input
            {...ids}
            type="number"
            min="0.1"
            max={RADIUS_KM_MAX}
            step="0.1"
            value={radiusKm}
            onInput={({ currentTarget }) => setRadiusKm(Math.min(RADIUS_KM_MAX, Number(currentTarget.value) || 1))}
          />
        )}
      </Field>
      <div class="chips" role="group" aria-label={words.categories}>
        {FACILITIES.map((facility) => (
          <button
            key={facility}
            type="button"
            class="chip"
            data-facility={facility}
            aria-pressed={chosen.has(facility)}
            onClick={() => toggle(facility)}
          >
            <span class="dot" aria-hidden="true" />
            {words.facilities[facility]}
          </button>
        ))}
      </div>
      {center === null ? (
        <Empty title={words.choosePlace} />
      ) : (
        <Points center={center} radiusKm={radiusKm} chosen={chosen} />
      )}
    </div>
  );
}

/** A department has no centre to stand at. */
const POINTED_TYPES = ['city', 'zipcode'] as const;

function SearchCenter({ center, onCenter }: { readonly center: Place | null; onCenter(place: Place): void }) {
  const words = useWords();
  const sharedMap = useSharedMap();
  const { rest } = useModel();
  const mutation = useMutation();
  const [isNowhere, setNowhere] = useState(false);
  const goTo = (place: Place): void => {
    onCenter(place);
    sharedMap?.map.setView({ lat: place.lat, lng: place.lon }, 14);
  };
  return (
    <>
      <Completion
        label={words.place}
        types={POINTED_TYPES}
        onChoose={({ type, '@id': iri, cities }) =>
          mutation.run(async () => {
            const { location } = await rest.read<{ location: Place | null }>(
              type === 'city' ? iri : (cities[0] ?? iri),
            );
            setNowhere(location === null);
            if (location !== null) goTo(location);
          })
        }
      />
      <Problem text={mutation.problem ?? (isNowhere ? words.nowhere : null)} />
      <div class="line">
        <button
          type="button"
          onClick={() =>
            sharedMap !== null &&
            onCenter({ lat: sharedMap.map.getCenter().lat, lon: sharedMap.map.getCenter().wrap().lng })
          }
        >
          {words.mapCenter}
        </button>
        {center !== null && <span class="hint">{`${center.lat.toFixed(5)}, ${center.lon.toFixed(5)}`}</span>}
      </div>
    </>
  );
}

interface PointsProps {
  readonly center: Place;
  readonly radiusKm: number;
  readonly chosen: ReadonlySet<Facility>;
}

function Points({ center, radiusKm, chosen }: PointsProps) {
  const words = useWords();
  const formats = useFormats();
  const { rest } = useModel();
  const facilities = FACILITIES.filter((facility) => chosen.has(facility));
  const asked = useAnswer(
    async (signal) => {
      if (facilities.length === 0) return [];
      const query = { lat: center.lat, lon: center.lon, radius: radiusKm, 'facilities[]': facilities };
      const { 'hydra:member': points } = await rest.read<Collection<PointDocument>>(
        '/indicators/points_of_interest',
        query,
        signal,
      );
      return points;
    },
    [center, radiusKm, chosen],
  );
  const points = asked.value ?? [];
  usePointMarks(center, radiusKm, points);
  return (
    <section aria-labelledby="points">
      <h2 id="points">{words.pointCount(points.length)}</h2>
      <Problem text={asked.problem} again={asked.again} />
      <Loading isShown={asked.isLoading} />
      <ul class="list">
        {points.slice(0, LISTED_MAX).map((point, at) => (
          <li key={at} class="row">
            <span class="dot" data-facility={point.type} aria-hidden="true" />
            <span class="row-title">{point.name ?? words.unnamed}</span>
            <span class="row-aside">{`${formats.number(distanceKm(center, point))} km`}</span>
            <span class="row-more">
              {[words.facilities[point.type as keyof Words['facilities']], ...Object.values(point.attributes)].join(
                ' · ',
              )}
            </span>
          </li>
        ))}
      </ul>
      {points.length > LISTED_MAX && <p class="hint">{words.andMore(points.length - LISTED_MAX)}</p>}
    </section>
  );
}

function usePointMarks(center: Place, radiusKm: number, points: readonly PointDocument[]): void {
  const sharedMap = useSharedMap();
  useEffect(() => {
    if (sharedMap === null) return;
    const at = { lat: center.lat, lng: center.lon };
    const reach = circle(at, { radius: radiusKm * 1_000, className: 'reach', interactive: false });
    const marks = points.map(({ lat, lon, type }) =>
      circleMarker([lat, lon], { radius: 6, className: `poi poi-${type}`, interactive: false }),
    );
    const group = layerGroup([
      reach,
      circleMarker(at, { radius: 4, className: 'poi-center', interactive: false }),
      ...marks,
    ]).addTo(sharedMap.map);
    return () => void group.remove();
  }, [sharedMap, center, radiusKm, points]);
}
