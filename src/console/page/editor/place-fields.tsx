/** The fields for places: names, codes, a circle, polygons, points of interest. Corners can also be typed. */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Completion, PLACES } from '../completion.tsx';
import type { LocationDocument, Ring } from '../documents.ts';
import { Field, Fold, Violation } from '../elements.tsx';
import { useSharedMap } from '../shared-map.ts';
import { useWords } from '../words/language.ts';
import { type ChangeDraft, type ChosenPlace, type Draft, isUnset, numeral, PLACE_MEMBERS } from './draft.ts';
import { drawCircle, drawPolygon, showCircle, showPolygons } from './drawing.ts';
import { type FieldsProps, MemberField, type OfAlternative } from './member-field.tsx';
import { PointFields } from './point-fields.tsx';

const EXCLUDED = Object.values(PLACE_MEMBERS.excluded);
const MORE: readonly (keyof Draft)[] = [
  ...(['includedInseeCodes', 'excludedInseeCodes', 'excludedShapes', 'pointsOfInterest'] as const),
  ...EXCLUDED,
];

export function PlaceFields({ draft, change, violations, isAlternative }: OfAlternative & FieldsProps) {
  const words = useWords();
  const [tool, setTool] = useState<Tool>(null);
  useDrawing(tool, draft, change, () => setTool(null));
  const fields = { draft, change, violations };
  const tools = { tool, setTool };
  return (
    <fieldset>
      <legend>{words.where}</legend>
      <p class="hint">{words.whereHint}</p>
      <NamedPlaces {...fields} label={words.addPlace} side="included" />
      <Shapes {...fields} {...tools} member="shapes" />
      <Fold
        title={words.moreWhere}
        isNeeded={!isUnset(draft, MORE) || violations.ofAny(MORE) || violations.of('excludedGeoShapes') !== undefined}
      >
        <MemberField {...fields} member="includedInseeCodes" hint={words.inseeHint} />
        {!isAlternative && (
          <>
            <NamedPlaces {...fields} label={words.excludePlace} side="excluded" />
            <MemberField {...fields} member="excludedInseeCodes" hint={words.inseeHint} />
            <Shapes {...fields} {...tools} member="excludedShapes" />
          </>
        )}
        <PointFields {...fields} />
      </Fold>
    </fieldset>
  );
}

function NamedPlaces({
  draft,
  change,
  violations,
  label,
  side,
}: FieldsProps & { readonly label: string; readonly side: keyof typeof PLACE_MEMBERS }) {
  const words = useWords();
  const members = PLACE_MEMBERS[side];
  const add = ({ type, value, label: name, code }: LocationDocument): void => {
    const places = draft[members[type]];
    if (places.every((one) => one.value !== value))
      change({ [members[type]]: [...places, { value, label: name, code }] });
  };
  return (
    <>
      <Completion label={label} source={PLACES} onChoose={add} />
      {Object.values(members).map((member) => (
        <Chosen
          key={member}
          label={words.members[member]}
          places={draft[member]}
          violation={violations.of(member)}
          onRemove={(value) => change({ [member]: draft[member].filter((one) => one.value !== value) })}
        />
      ))}
    </>
  );
}

interface ChosenProps {
  readonly label: string;
  readonly places: readonly Pick<ChosenPlace, 'value' | 'label'>[];
  readonly violation?: string | undefined;
  onRemove(value: string): void;
}

const CHOSEN_SHOWN_MAX = 50;

export function Chosen({ label, places, violation, onRemove }: ChosenProps) {
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
              // After a press with the keyboard (`detail` 0), the focus would disappear with the button.
              if (detail === 0) goOnBeside(currentTarget);
              onRemove(value);
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

/** Moves the focus to the next chosen value, else to the previous one, the nearest field above, or the fold. */
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

type PolygonMember = 'shapes' | 'excludedShapes';
type Tool = 'circle' | PolygonMember | null;

interface ToolsProps extends FieldsProps {
  readonly tool: Tool;
  setTool(tool: Tool): void;
}

const CIRCLE = ['lat', 'lon', 'radius'] as const;

interface ToolBarProps extends Pick<ToolsProps, 'tool' | 'setTool'> {
  readonly label: string;
  readonly tools: readonly NonNullable<Tool>[];
}

function ToolBar({ label, tools, tool, setTool }: ToolBarProps) {
  const words = useWords();
  const isOwn = tool !== null && tools.includes(tool);
  return (
    <div class="line" role="group" aria-label={label}>
      {tools.map((own) => (
        <button key={own} type="button" aria-pressed={tool === own} onClick={() => setTool(tool === own ? null : own)}>
          {words.drawingTools[own]}
        </button>
      ))}
      <span class="hint" role="status">
        {isOwn ? words.drawingHints[tool === 'circle' ? tool : 'polygon'] : ''}
      </span>
    </div>
  );
}

/** The polygons of a member; with `shapes` also the circle. */
function Shapes({ draft, change, violations, member, ...tools }: ToolsProps & { readonly member: PolygonMember }) {
  const words = useWords();
  const sharedMap = useSharedMap();
  const isExcluded = member === 'excludedShapes';
  const shapes = draft[member];
  const set = (changed: Draft['shapes']): void => change({ [member]: changed });
  useEffect(() => {
    if (sharedMap === null || shapes.length === 0) return;
    return showPolygons(sharedMap.map, shapes, isExcluded ? 'draft excluded' : 'draft', set);
  }, [sharedMap, shapes]);
  const label = isExcluded ? words.members.excludedGeoShapes : words.drawOnMap;
  const drawn = [
    ...(isExcluded || isUnset(draft, CIRCLE) ? [] : [{ value: 'circle', label: words.circleOf(draft.radius) }]),
    ...shapes.map((_, at) => ({ value: String(at), label: words.polygon(at + 1, 0) })),
  ];
  const polygons = <PolygonFields shapes={shapes} onChange={set} />;
  return (
    <>
      <ToolBar {...tools} label={label} tools={isExcluded ? [member] : ['circle', member]} />
      <Chosen
        label={label}
        places={drawn}
        onRemove={(value) => {
          if (value === 'circle') change({ lat: '', lon: '', radius: '' });
          else set(shapes.filter((_, at) => String(at) !== value));
        }}
      />
      {/* For readers without a mouse, or with known coordinates. */}
      {isExcluded ? polygons : <Coordinates {...{ draft, change, violations }}>{polygons}</Coordinates>}
      <Violation text={violations.of(isExcluded ? 'excludedGeoShapes' : 'geoShapes')} />
    </>
  );
}

function Coordinates({ children, ...fields }: FieldsProps & { readonly children: ComponentChildren }) {
  const words = useWords();
  useShownCircle(fields.draft, fields.change);
  return (
    <Fold title={words.coordinates} isNeeded={fields.violations.ofAny(CIRCLE)}>
      <div class="pair three">
        {CIRCLE.map((member) => (
          <MemberField key={member} {...fields} member={member} />
        ))}
      </div>
      {children}
    </Fold>
  );
}

interface PolygonFieldsProps {
  readonly shapes: Draft['shapes'];
  onChange(shapes: Draft['shapes']): void;
}

/** Corners of each polygon as text, `lon,lat;lon,lat`, for changes without a mouse. */
function PolygonFields({ shapes, onChange }: PolygonFieldsProps) {
  const words = useWords();
  const read = (at: number, typed: string): void => {
    const corners = typed.split(/;\s*/).map((corner) => corner.split(',').map(Number));
    const isRing =
      corners.length >= 4 &&
      corners.every(([lon, lat, ...more]) => Number.isFinite(lon) && Number.isFinite(lat) && more.length === 0);
    if (isRing) onChange(shapes.with(at, [corners as unknown as Ring, ...(shapes[at] ?? []).slice(1)]));
  };
  return (
    <>
      {shapes.map(([outer = []], at) => (
        <Field key={at} label={words.polygon(at + 1, outer.length - 1)}>
          {(ids) => (
            <input
              {...ids}
              type="text"
              spellcheck={false}
              value={outer.map((corner) => corner.join(',')).join(';')}
              onChange={({ currentTarget }) => read(at, currentTarget.value)}
            />
          )}
        </Field>
      ))}
    </>
  );
}

function useDrawing(tool: Tool, draft: Draft, change: ChangeDraft, leave: () => void): void {
  const sharedMap = useSharedMap();
  // Another polygon may have been moved while this one was drawn.
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
            change({ [tool]: [...present.current[tool], [ring]] });
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

function useShownCircle({ lat, lon, radius }: Draft, change: ChangeDraft): void {
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
}
