/** The fields for criteria: sale or rent, property types, ranges and sellers. */

import { Field, Fold, Violation } from '../elements.tsx';
import {
  ENERGY_CATEGORIES,
  LETTER_MEMBERS,
  RANGE_CRITERIA,
  RANGE_MEMBERS,
  REQUIREMENTS,
} from '../generated/documents.ts';
import { useModel } from '../model-context.ts';
import { useValue } from '../observable.ts';
import { useWords } from '../words/language.ts';
import { type Draft, FEATURE_NAMES, type FlagMember, isUnset, type RangeCriterion, type RangeMember } from './draft.ts';
import type { FieldsProps } from './place-fields.tsx';

interface CriteriaFieldsProps extends FieldsProps {
  /** What is preselected in a new search says so. */
  readonly isNew: boolean;
}

export function CriteriaFields(props: CriteriaFieldsProps) {
  return (
    <>
      <FirstCriteria {...props} />
      <HomeCriteria {...props} />
      <MoreCriteria {...props} />
    </>
  );
}

function FirstCriteria(props: CriteriaFieldsProps) {
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
      {props.isNew && draft.transactionType === '0' && <p class="hint">{words.salePreselected}</p>}
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
const HOME_RANGES: readonly RangeCriterion[] = ['floor', 'constructionYear', 'condominiumFees', 'rentalCharges'];
const MORE_RANGES = RANGE_CRITERIA.filter((name) => !FIRST_RANGES.includes(name) && !HOME_RANGES.includes(name));
const UNITS: Readonly<Record<RangeCriterion, string>> = {
  budget: '€',
  advertPrice: '€',
  pricePerMeter: '€/m²',
  surface: 'm²',
  landSurface: 'm²',
  room: '',
  bedroom: '',
  floor: '',
  constructionYear: '',
  condominiumFees: '€',
  rentalCharges: '€',
};
const HOME: readonly (keyof Draft)[] = [
  ...membersOf(HOME_RANGES),
  ...LETTER_MEMBERS,
  'lastFloor',
  'elevator',
  'includedFeatures',
  'excludedFeatures',
];

function HomeCriteria(props: FieldsProps) {
  const words = useWords();
  const { draft, change, violations } = props;
  return (
    <Fold class="more" title={words.home} isNeeded={!isUnset(draft, HOME) || violations.ofAny(HOME)}>
      <Range {...props} name="floor" />
      <Check {...props} member="lastFloor" />
      <Flag {...props} member="elevator" />
      {LETTER_MEMBERS.map((member) => (
        <div key={member} class="field">
          <span class="label">{words.members[member]}</span>
          <Codes
            label={words.members[member]}
            names={ENERGY_CATEGORIES}
            chosen={draft[member].map((letter) => ENERGY_CATEGORIES.findIndex((one) => one === letter))}
            onChange={(codes) => change({ [member]: codes.map((code) => ENERGY_CATEGORIES[code] as string) })}
          />
          <Violation text={violations.of(member)} />
        </div>
      ))}
      {(['includedFeatures', 'excludedFeatures'] as const).map((member) => (
        <div key={member} class="field">
          <span class="label">{words.members[member]}</span>
          <Codes
            label={words.members[member]}
            names={FEATURE_NAMES.map((name) => words.features[name])}
            chosen={draft[member].map((name) => FEATURE_NAMES.indexOf(name))}
            onChange={(codes) => change({ [member]: codes.flatMap((code) => FEATURE_NAMES[code] ?? []) })}
          />
          <Violation text={violations.of(member)} />
        </div>
      ))}
      {HOME_RANGES.slice(1).map((name) => (
        <Range key={name} {...props} name={name} />
      ))}
    </Fold>
  );
}

const CHECKED = [...REQUIREMENTS.filter((name) => name !== 'lastFloor'), 'hidePropertyContact'] as const;

const MORE: readonly (keyof Draft)[] = [
  ...membersOf(MORE_RANGES),
  ...(['publisherTypes', 'includedSiteCategories', 'excludedSiteCategories'] as const),
  'furnished',
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
      <Flag {...props} member="furnished" />
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
        <Check key={member} {...props} member={member} />
      ))}
    </Fold>
  );
}

function Flag({ draft, change, violations, member }: FieldsProps & { readonly member: FlagMember }) {
  const words = useWords();
  return (
    <Field label={words.flags[member]} violation={violations.of(member)}>
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
  );
}

function Check({ draft, change, member }: FieldsProps & { readonly member: (typeof CHECKED)[number] | 'lastFloor' }) {
  const words = useWords();
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={draft[member]}
        onChange={({ currentTarget }) => change({ [member]: currentTarget.checked })}
      />
      {words.members[member]}
    </label>
  );
}

/** The bounds of these criteria. */
function membersOf(names: readonly RangeCriterion[]): readonly RangeMember[] {
  return RANGE_MEMBERS.filter((member) => names.some((name) => member === `${name}Min` || member === `${name}Max`));
}

function Range({ draft, change, violations, name }: FieldsProps & { readonly name: RangeCriterion }) {
  const words = useWords();
  const bound = (member: RangeMember, label: string) => (
    <Field key={member} label={label} violation={violations.of(member)}>
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
      {membersOf([name]).map((member, at) => {
        const end = member.endsWith('Min') ? words.min : words.max;
        return bound(member, at === 0 ? `${title}, ${end}` : end);
      })}
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
