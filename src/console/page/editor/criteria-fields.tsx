/** The fields for criteria: of the home, of money, of the advert. What few need is folded; what is set shows as chips. */

import { type ComponentChildren, Fragment } from 'preact';
import { Field, Fold, Violation } from '../elements.tsx';
import { ENERGY_CATEGORIES, FLAG_CRITERIA, LETTER_MEMBERS, RANGE_MEMBERS } from '../generated/documents.ts';
import { useModel } from '../model-context.ts';
import { useValue } from '../observable.ts';
import { useFormats } from '../words/formats.ts';
import { useWords } from '../words/language.ts';
import { memberName, memberText } from './conflict.tsx';
import {
  type Draft,
  FEATURE_NAMES,
  type FlagMember,
  HOME_CRITERIA,
  type HomeCriterion,
  isAsked,
  isUnset,
  NEW_DRAFT,
  type RangeCriterion,
  type RangeMember,
  type RequirementMember,
} from './draft.ts';
import { Chosen, type FieldsProps } from './place-fields.tsx';

interface HomeFieldsProps extends FieldsProps {
  /** What is preselected in a new search says so. */
  readonly isNew: boolean;
}

const HOME: readonly (keyof Draft)[] = [
  ...membersOf(['landSurface', 'floor', 'constructionYear']),
  ...LETTER_MEMBERS,
  ...FLAG_CRITERIA,
  ...(['lastFloor', 'includedFeatures', 'excludedFeatures'] as const),
];

export function HomeFields(props: HomeFieldsProps) {
  const words = useWords();
  const { draft, change, violations } = props;
  return (
    <fieldset>
      <legend>{words.home}</legend>
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
      {(['surface', 'room', 'bedroom'] as const).map((name) => (
        <Range key={name} {...props} name={name} />
      ))}
      <FoldedCriteria {...props} title={words.moreHome} members={HOME}>
        <HomeDetails {...props} />
      </FoldedCriteria>
    </fieldset>
  );
}

function HomeDetails(props: FieldsProps) {
  const words = useWords();
  const { draft, change, violations } = props;
  return (
    <>
      <Range {...props} name="floor" />
      <Check {...props} member="lastFloor" />
      <OrMissing {...props} criterion="lastFloor" />
      {FLAG_CRITERIA.map((member) => (
        <Flag key={member} {...props} member={member} />
      ))}
      {LETTER_MEMBERS.map((member) => (
        <Fragment key={member}>
          <div class="field">
            <span class="label">{words.members[member]}</span>
            <Codes
              label={words.members[member]}
              names={ENERGY_CATEGORIES}
              chosen={draft[member].map((letter) => ENERGY_CATEGORIES.findIndex((one) => one === letter))}
              onChange={(codes) => change({ [member]: codes.map((code) => ENERGY_CATEGORIES[code] as string) })}
            />
            <Violation text={violations.of(member)} />
          </div>
          <OrMissing {...props} criterion={member === 'energyCategories' ? 'energy' : 'greenHouseGas'} />
        </Fragment>
      ))}
      {(['includedFeatures', 'excludedFeatures'] as const).map((member) => (
        <Fragment key={member}>
          <div class="field">
            <span class="label">{words.members[member]}</span>
            <Codes
              label={words.members[member]}
              names={FEATURE_NAMES.map((name) => words.features[name])}
              chosen={draft[member].map((name) => FEATURE_NAMES.indexOf(name))}
              onChange={(codes) => change({ [member]: codes.flatMap((code) => FEATURE_NAMES[code] ?? []) })}
            />
            <Violation text={violations.of(member)} />
          </div>
          {member === 'includedFeatures' && <OrMissing {...props} criterion={member} />}
        </Fragment>
      ))}
      <Range {...props} name="constructionYear" />
      <Range {...props} name="landSurface" />
    </>
  );
}

const MONEY_RANGES = ['pricePerMeter', 'advertPrice', 'condominiumFees', 'rentalCharges'] as const;
const MONEY: readonly (keyof Draft)[] = [...membersOf(MONEY_RANGES), 'withCoherentPrice'];

export function MoneyFields(props: FieldsProps) {
  const words = useWords();
  return (
    <fieldset>
      <legend>{words.money}</legend>
      <Range {...props} name="budget" />
      <FoldedCriteria {...props} title={words.moreMoney} members={MONEY}>
        {MONEY_RANGES.map((name) => (
          <Range key={name} {...props} name={name} />
        ))}
        <Check {...props} member="withCoherentPrice" />
      </FoldedCriteria>
    </fieldset>
  );
}

const ADVERT: readonly (keyof Draft)[] = [
  ...(['publisherTypes', 'includedSiteCategories', 'excludedSiteCategories'] as const),
  ...(['withVirtualTour', 'hidePropertyContact'] as const),
];

/** Criteria of the advert itself, beside its words. */
export function AdvertCriteria(props: FieldsProps) {
  const words = useWords();
  const { draft, change } = props;
  return (
    <FoldedCriteria {...props} title={words.moreCriteria} members={ADVERT}>
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
      <Check {...props} member="withVirtualTour" />
      <Check {...props} member="hidePropertyContact" />
    </FoldedCriteria>
  );
}

interface FoldedProps extends FieldsProps {
  readonly title: string;
  readonly members: readonly (keyof Draft)[];
  readonly children: ComponentChildren;
}

/** What is set of them is shown beside the fold, to be cleared there. */
function FoldedCriteria({ draft, change, violations, title, members, children }: FoldedProps) {
  const words = useWords();
  const formats = useFormats();
  const set = members.filter((member) => !isUnset(draft, [member]));
  return (
    <>
      <Fold title={title} isNeeded={violations.ofAny(members)}>
        {children}
      </Fold>
      <Chosen
        label={title}
        places={set.map((member) => ({
          value: member,
          label: words.named(memberName(member, words), memberText(draft, member, words, formats)),
        }))}
        violation={undefined}
        onChange={(left) => {
          const [cleared] = set.filter((member) => left.every(({ value }) => value !== member));
          if (cleared !== undefined) change({ [cleared]: NEW_DRAFT[cleared] });
        }}
      />
    </>
  );
}

/** Whether homes whose adverts do not state it are found too; shown where the search asks for it. */
function OrMissing({ draft, change, criterion }: FieldsProps & { readonly criterion: HomeCriterion }) {
  const words = useWords();
  const { orMissing } = draft;
  if (!isAsked(draft, criterion)) return null;
  const others = orMissing.filter((name) => name !== criterion);
  return (
    <label class="check">
      <input
        type="checkbox"
        aria-label={words.named(words.criteria[criterion], words.members.orMissing)}
        checked={orMissing.includes(criterion)}
        onChange={({ currentTarget }) => change({ orMissing: currentTarget.checked ? [...others, criterion] : others })}
      />
      {words.members.orMissing}
    </label>
  );
}

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

function Flag(props: FieldsProps & { readonly member: FlagMember }) {
  const { draft, change, violations, member } = props;
  const words = useWords();
  return (
    <>
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
      <OrMissing {...props} criterion={member} />
    </>
  );
}

function Check({
  draft,
  change,
  member,
}: FieldsProps & { readonly member: RequirementMember | 'hidePropertyContact' }) {
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

function Range(props: FieldsProps & { readonly name: RangeCriterion }) {
  const { draft, change, violations, name } = props;
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
  const home = HOME_CRITERIA.find((criterion) => criterion === name);
  return (
    <>
      <div class="pair" role="group" aria-label={title}>
        {membersOf([name]).map((member, at) => {
          const end = member.endsWith('Min') ? words.min : words.max;
          return bound(member, at === 0 ? `${title}, ${end}` : end);
        })}
      </div>
      {home !== undefined && <OrMissing {...props} criterion={home} />}
    </>
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
