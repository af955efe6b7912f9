/** Points of interest that a property must be near or far from. All conditions must hold. */

import { useId } from 'preact/hooks';
import { RemoveButton, Select } from '../controls.tsx';
import { Violation } from '../elements.tsx';
import { useWords } from '../words/language.ts';
import type { FieldsProps } from './member-field.tsx';
import { hasAttributes, NEW_POINT, type NearbyPoint, POINTS_MAX } from './nearby-points.ts';

export function PointFields({ draft: { pointsOfInterest: points }, change, violations }: FieldsProps) {
  const words = useWords();
  const set = (pointsOfInterest: readonly NearbyPoint[]): void => change({ pointsOfInterest });
  return (
    <div class="field">
      <span class="label">{words.members.pointsOfInterest}</span>
      {points.map((point, at) => (
        <PointField
          key={at}
          {...{ point, at }}
          violation={violations.of(`pointsOfInterest[${at}]`)}
          onChange={(next) => set(next === null ? points.toSpliced(at, 1) : points.with(at, next))}
        />
      ))}
      <Violation text={violations.ofWhole('pointsOfInterest')} />
      {points.length < POINTS_MAX && (
        <button type="button" onClick={() => set([...points, NEW_POINT])}>
          {words.addPoint}
        </button>
      )}
    </div>
  );
}

interface PointFieldProps {
  readonly point: NearbyPoint;
  readonly at: number;
  readonly violation: string | undefined;
  /** Null removes the point. */
  onChange(point: NearbyPoint | null): void;
}

function PointField({ point, at, violation, onChange }: PointFieldProps) {
  const words = useWords();
  const id = useId();
  const choice = (
    member: 'facility' | 'limit' | 'schoolType' | 'operatorType',
    names: Readonly<Record<string, string>>,
  ) => (
    <Select
      aria-label={words[member]}
      value={point[member]}
      choices={Object.entries(names)}
      onChoose={(value) => onChange({ ...point, [member]: value })}
    />
  );
  return (
    <div class="word" role="group" aria-label={words.point(at + 1)}>
      {choice('facility', words.facilities)}
      {hasAttributes(point) && choice('schoolType', words.schoolTypes)}
      {hasAttributes(point) && choice('operatorType', words.operatorTypes)}
      {choice('limit', words.pointLimits)}
      <input
        type="text"
        inputMode="decimal"
        aria-label={words.distanceKm}
        aria-describedby={id}
        aria-invalid={violation !== undefined}
        value={point.km}
        onInput={({ currentTarget }) => onChange({ ...point, km: currentTarget.value })}
      />
      <RemoveButton what={words.point(at + 1)} onRemove={() => onChange(null)} />
      <Violation id={id} text={violation} />
    </div>
  );
}
