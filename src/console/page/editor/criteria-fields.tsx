/** The fields for criteria: sale or rent, property types, ranges and sellers. */

import { Field, Fold, Violation } from '../elements.tsx';
import { FLAG_CRITERIA, RANGE_CRITERIA, REQUIREMENTS } from '../generated/documents.ts';
import { useModel } from '../model-context.ts';
import { useValue } from '../observable.ts';
import { useWords } from '../words/language.ts';
import { type Draft, isUnset, RANGES, type RangeCriterion, type RangeMember } from './draft.ts';
import type { FieldsProps } from './place-fields.tsx';

export function CriteriaFields(props: FieldsProps) {
  return (
    <>
      <FirstCriteria {...props} />
      <MoreCriteria {...props} />
    </>
  );
}

function FirstCriteria(props: FieldsProps) {
  const words = useWords();
  const { draft, change, violations } = props;
  return (
    <fieldset>
      <legend>{words.what}</legend>
      <div class="chips" role="group" aria-label={words.members.transactionType}>
        {(['0', '1', ''] as const).map((code) => (
          <button
            key={code}
            type="button"
            class="chip"
            aria-pressed={draft.transactionType === code}
            onClick={() => change({ transactionType: code })}
          >
            {code === '' ? words.either : words.transactions[Number(code)]}
          </button>
        ))}
      </div>
      <Violation text={violations.of('transactionType')} />
      <Codes
        label={words.members.propertyTypes}
        names={words.propertyTypes}
        chosen={draft.propertyTypes}
        onChange={(propertyTypes) => change({ propertyTypes })}
      />
      <Violation text={violations.of('propertyTypes')} />
      {FIRST_RANGES.map((name) => (
        <Range key={name} {...props} name={name} />
      ))}
    </fieldset>
  );
}

const FIRST_RANGES: readonly RangeCriterion[] = ['budget', 'surface', 'room', 'bedroom'];
const MORE_RANGES = RANGE_CRITERIA.filter((name) => !FIRST_RANGES.includes(name));
const UNITS: Readonly<Record<RangeCriterion, string>> = {
  budget: '€',
  advertPrice: '€',
  pricePerMeter: '€/m²',
  surface: 'm²',
  landSurface: 'm²',
  room: '',
  bedroom: '',
};
const CHECKED = [...REQUIREMENTS, 'hidePropertyContact'] as const;

const MORE: readonly (keyof Draft)[] = [
  ...RANGES.filter((member) => MORE_RANGES.some((name) => member.startsWith(name))),
  ...(['publisherTypes', 'includedSiteCategories', 'excludedSiteCategories'] as const),
  ...FLAG_CRITERIA,
  ...CHECKED,
];

function MoreCriteria(props: FieldsProps) {
  const words = useWords();
  const { draft, change, violations } = props;
  return (
    <Fold class="more" title={words.moreCriteria} isNeeded={!isUnset(draft, MORE) || violations.ofAny(MORE)}>
      {MORE_RANGES.map((name) => (
        <Range key={name} {...props} name={name} />
      ))}
      {FLAG_CRITERIA.map((member) => (
        <Field key={member} label={words.flags[member]} violation={violations.of(member)}>
          {(ids) => (
            <select
              {...ids}
              value={draft[member]}
              onChange={({ currentTarget }) => change({ [member]: currentTarget.value })}
            >
              <option value="">{words.either}</option>
              <option value="true">{words.yes}</option>
              <option value="false">{words.no}</option>
            </select>
          )}
        </Field>
      ))}
      <div class="field">
        <span class="label">{words.members.publisherTypes}</span>
        <Codes
          label={words.members.publisherTypes}
          names={words.publisherTypes}
          chosen={draft.publisherTypes}
          onChange={(publisherTypes) => change({ publisherTypes })}
        />
      </div>
      <SiteCategories {...props} member="includedSiteCategories" />
      <SiteCategories {...props} member="excludedSiteCategories" />
      {CHECKED.map((member) => (
        <label key={member} class="check">
          <input
            type="checkbox"
            checked={draft[member]}
            onChange={({ currentTarget }) => change({ [member]: currentTarget.checked })}
          />
          {words.members[member]}
        </label>
      ))}
    </Fold>
  );
}

function Range({ draft, change, violations, name }: FieldsProps & { readonly name: RangeCriterion }) {
  const words = useWords();
  const bound = (member: RangeMember, label: string) => (
    <Field label={label} violation={violations.of(member)}>
      {(ids) => (
        <input
          {...ids}
          type="text"
          inputMode="numeric"
          name={member}
          value={draft[member]}
          onInput={({ currentTarget }) => change({ [member]: currentTarget.value })}
        />
      )}
    </Field>
  );
  const title = `${words.members[name]}${UNITS[name] === '' ? '' : ` (${UNITS[name]})`}`;
  return (
    <div class="pair" role="group" aria-label={title}>
      {bound(`${name}Min`, `${title}, ${words.min}`)}
      {bound(`${name}Max`, words.max)}
    </div>
  );
}

interface CodesProps {
  readonly label: string;
  /** By code. */
  readonly names: readonly string[];
  readonly chosen: readonly number[];
  onChange(chosen: readonly number[]): void;
}

function Codes({ label, names, chosen, onChange }: CodesProps) {
  const toggle = (code: number): void => {
    onChange(chosen.includes(code) ? chosen.filter((one) => one !== code) : [...chosen, code].sort((a, b) => a - b));
  };
  return (
    <div class="chips" role="group" aria-label={label}>
      {names.map((name, code) => (
        <button key={name} type="button" class="chip" aria-pressed={chosen.includes(code)} onClick={() => toggle(code)}>
          {name}
        </button>
      ))}
    </div>
  );
}

function SiteCategories({
  draft,
  change,
  violations,
  member,
}: FieldsProps & { readonly member: keyof Pick<Draft, 'includedSiteCategories' | 'excludedSiteCategories'> }) {
  const words = useWords();
  const categories = useValue(useModel().siteCategories);
  const chosen = draft[member];
  return (
    <div class="field">
      <span class="label">{words.members[member]}</span>
      <Codes
        label={words.members[member]}
        names={categories.map(({ name }) => name)}
        chosen={categories.flatMap(({ '@id': iri }, at) => (chosen.includes(iri) ? at : []))}
        onChange={(codes) => change({ [member]: codes.flatMap((code) => categories[code]?.['@id'] ?? []) })}
      />
      <Violation text={violations.of(member)} />
    </div>
  );
}
