/** The fields for places: by name, a circle, polygons. The map draws them; each has a field as well. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { Completion } from '../completion.tsx';
import { TextField } from '../controls.tsx';
import type { LocationDocument, Ring } from '../documents.ts';
import { Field, Fold, Violation } from '../elements.tsx';
import { useSharedMap } from '../shared-map.ts';
import { useWords } from '../words/language.ts';
import { type ChangeDraft, type ChosenPlace, type Draft, isUnset, numeral, PLACE_MEMBERS } from './draft.ts';
import { drawCircle, drawPolygon, showCircle, showPolygons } from './drawing.ts';
import type { Violations } from './violations.ts';

export interface FieldsProps {
  readonly draft: Draft;
  readonly change: ChangeDraft;
  readonly violations: Violations;
}

const MORE: readonly (keyof Draft)[] = ['includedInseeCodes', 'excludedCities'];

type PlaceMember = (typeof PLACE_MEMBERS)[LocationDocument['type']] | 'excludedCities';

export function PlaceFields({ draft, change, violations }: FieldsProps) {
  const words = useWords();
  const add = (member: PlaceMember, { value, label, code }: LocationDocument): void => {
    if (draft[member].every((one) => one.value !== value))
      change({ [member]: [...draft[member], { value, label, code }] });
  };
  return (
    <fieldset>
      <legend>{words.where}</legend>
      <p class="hint">{words.whereHint}</p>
      <Completion label={words.addPlace} onChoose={(place) => add(PLACE_MEMBERS[place.type], place)} />
      {(['includedCities', 'includedDepartments', 'includedZipcodes'] as const).map((member) => (
        <Chosen
          key={member}
          label={words.members[member]}
          places={draft[member]}
          violation={violations.of(member)}
          onChange={(places) => change({ [member]: places })}
        />
      ))}
      <Shapes draft={draft} change={change} violations={violations} />
      <Fold title={words.moreWhere} isNeeded={!isUnset(draft, MORE) || violations.ofAny(MORE)}>
        <TextField
          label={words.members.includedInseeCodes}
          hint={words.inseeHint}
          violation={violations.of('includedInseeCodes')}
          value={draft.includedInseeCodes}
          onText={(includedInseeCodes) => change({ includedInseeCodes })}
        />
        <Completion label={words.excludePlace} types={['city']} onChoose={(place) => add('excludedCities', place)} />
        <Chosen
          label={words.members.excludedCities}
          places={draft.excludedCities}
          violation={violations.of('excludedCities')}
          onChange={(excludedCities) => change({ excludedCities })}
        />
      </Fold>
    </fieldset>
  );
}

interface ChosenProps<Place> {
  readonly label: string;
  readonly places: readonly Place[];
  readonly violation: string | undefined;
  onChange(places: readonly Place[]): void;
}

const CHOSEN_SHOWN_MAX = 50;

export function Chosen<Place extends Pick<ChosenPlace, 'value' | 'label'>>({
  label,
  places,
  violation,
  onChange,
}: ChosenProps<Place>) {
  const words = useWords();
  if (places.length === 0) return null;
  return (
    <div class="chosen" role="group" aria-label={label}>
      {places.slice(0, CHOSEN_SHOWN_MAX).map(({ value, label: text }) => (
        <span key={value} class="chip-static">
          {text}
          <button
            type="button"
            class="quiet"
            aria-label={words.removeOne(text)}
            onClick={({ currentTarget, detail }) => {
              // On press, not on click: the focus is not lost with the button.
              if (detail === 0) goOnBeside(currentTarget);
              onChange(places.filter((one) => one.value !== value));
            }}
          >
            ×
          </button>
        </span>
      ))}
      {places.length > CHOSEN_SHOWN_MAX && <span class="hint">{words.andMore(places.length - CHOSEN_SHOWN_MAX)}</span>}
      <Violation text={violation} />
    </div>
  );
}

/** Moves the focus to the next chosen one, the previous one, the field that adds places, or what is folded. */
function goOnBeside(button: HTMLButtonElement): void {
  const chip = button.parentElement;
  const [next, previous] = [chip?.nextElementSibling, chip?.previousElementSibling];
  const fields = [...(button.closest('fieldset')?.querySelectorAll<HTMLInputElement>('[role=combobox]') ?? [])];
  const above = fields.filter(
    (field) => (field.compareDocumentPosition(button) & Node.DOCUMENT_POSITION_FOLLOWING) > 0,
  );
  const fold = button.closest('fieldset')?.querySelector('summary');
  (next?.querySelector('button') ?? previous?.querySelector('button') ?? above.at(-1) ?? fold)?.focus();
}

type Tool = 'circle' | 'polygon' | null;

const CIRCLE = ['lat', 'lon', 'radius'] as const;

function Shapes({ draft, change, violations }: FieldsProps) {
  const words = useWords();
  const [tool, setTool] = useState<Tool>(null);
  useDrawing(tool, draft, change, () => setTool(null));
  useShownShapes(draft, change);
  const drawn = [
    ...(isUnset(draft, CIRCLE) ? [] : [{ value: 'circle', label: words.circleOf(draft.radius) }]),
    ...draft.shapes.map((_, at) => ({ value: String(at), label: words.polygon(at + 1, 0) })),
  ];
  return (
    <>
      <div class="line" role="group" aria-label={words.drawOnMap}>
        <button
          type="button"
          aria-pressed={tool === 'circle'}
          onClick={() => setTool(tool === 'circle' ? null : 'circle')}
        >
          {words.drawCircle}
        </button>
        <button
          type="button"
          aria-pressed={tool === 'polygon'}
          onClick={() => setTool(tool === 'polygon' ? null : 'polygon')}
        >
          {words.drawPolygon}
        </button>
        <span class="hint" role="status">
          {tool === null ? '' : words.drawingHints[tool]}
        </span>
      </div>
      <Chosen
        label={words.drawOnMap}
        places={drawn}
        violation={undefined}
        onChange={(kept) => {
          const isKept = (value: string): boolean => kept.some((one) => one.value === value);
          change({
            ...(isKept('circle') ? {} : { lat: '', lon: '', radius: '' }),
            shapes: draft.shapes.filter((_, at) => isKept(String(at))),
          });
        }}
      />
      <Coordinates draft={draft} change={change} violations={violations} />
      <Violation text={violations.of('geoShapes')} />
    </>
  );
}

/** For readers without a mouse, or with coordinates at hand. */
function Coordinates({ draft, change, violations }: FieldsProps) {
  const words = useWords();
  const coordinate = (member: (typeof CIRCLE)[number]) => (
    <TextField
      key={member}
      label={words.members[member]}
      violation={violations.of(member)}
      inputMode="decimal"
      value={draft[member]}
      onText={(text) => change({ [member]: text })}
    />
  );
  return (
    <Fold title={words.coordinates} isNeeded={violations.ofAny(CIRCLE)}>
      <div class="pair three">{CIRCLE.map(coordinate)}</div>
      {draft.shapes.map((rings, at) => (
        <PolygonField
          key={at}
          at={at}
          rings={rings}
          onChange={(next) => change({ shapes: draft.shapes.with(at, next) })}
        />
      ))}
    </Fold>
  );
}

/** Corners as text, `lon,lat;lon,lat`: drawing without a mouse. */
function PolygonField({
  at,
  rings,
  onChange,
}: {
  readonly at: number;
  readonly rings: readonly Ring[];
  onChange(rings: readonly Ring[]): void;
}) {
  const words = useWords();
  const text = (rings[0] ?? []).map((corner) => corner.join(',')).join(';');
  const read = (typed: string): void => {
    const corners = typed.split(/;\s*/).map((corner) => corner.split(',').map(Number));
    const isRing =
      corners.length >= 4 &&
      corners.every(([lon, lat, ...more]) => Number.isFinite(lon) && Number.isFinite(lat) && more.length === 0);
    if (isRing) onChange([corners as unknown as Ring, ...rings.slice(1)]);
  };
  return (
    <Field label={words.polygon(at + 1, (rings[0]?.length ?? 1) - 1)}>
      {(ids) => (
        <input
          {...ids}
          type="text"
          spellcheck={false}
          value={text}
          onChange={({ currentTarget }) => read(currentTarget.value)}
        />
      )}
    </Field>
  );
}

function useDrawing(tool: Tool, draft: Draft, change: ChangeDraft, leave: () => void): void {
  const sharedMap = useSharedMap();
  // Drawing a polygon takes a while: another one may have moved meanwhile.
  const present = useRef(draft);
  present.current = draft;
  useEffect(() => {
    if (sharedMap === null || tool === null) return;
    const end =
      tool === 'circle'
        ? drawCircle(sharedMap.map, ({ lat, lon, radiusKm }) => {
            change({ lat: String(lat), lon: String(lon), radius: String(radiusKm) });
            leave();
          })
        : drawPolygon(sharedMap.map, (ring) => {
            change({ shapes: [...present.current.shapes, [ring]] });
            leave();
          });
    const press = ({ key }: KeyboardEvent): void => {
      if (key === 'Escape') leave();
    };
    document.addEventListener('keydown', press);
    return () => {
      document.removeEventListener('keydown', press);
      end();
    };
  }, [sharedMap, tool]);
}

function useShownShapes({ lat, lon, radius, shapes }: Draft, change: ChangeDraft): void {
  const sharedMap = useSharedMap();
  useEffect(() => {
    const [latitude, longitude, radiusKm] = [lat, lon, radius].map((text) =>
      text.trim() === '' ? Number.NaN : Number(numeral(text)),
    ) as [number, number, number];
    const isThere = Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 && radiusKm > 0 && radiusKm <= 500;
    if (sharedMap === null || !isThere) return;
    return showCircle(sharedMap.map, { lat: latitude, lon: longitude, radiusKm }, (drawn) =>
      change({ lat: String(drawn.lat), lon: String(drawn.lon), radius: String(drawn.radiusKm) }),
    );
  }, [sharedMap, lat, lon, radius]);
  useEffect(() => {
    if (sharedMap === null || shapes.length === 0) return;
    return showPolygons(sharedMap.map, shapes, (moved) => change({ shapes: moved }));
  }, [sharedMap, shapes]);
}
