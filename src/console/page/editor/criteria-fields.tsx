/**
 * The fields for criteria of the home, of money and of the advert. Rare ones are in folds; set values appear as chips.
 */

import { type ComponentChildren, Fragment } from 'preact';
import { Completion, PUBLISHERS } from '../completion.tsx';
import { Check, Chips, type Choices, ManyChips, SelectField } from '../controls.tsx';
import { Fold, Violation } from '../elements.tsx';
import {
  ENERGY_CATEGORIES,
  FLAG_CRITERIA,
  LETTER_MEMBERS,
  RANGE_MEMBERS,
  RANGE_UNITS,
} from '../generated/documents.ts';
import { useModel } from '../model-context.ts';
import { useValue } from '../observable.ts';
import { useWords } from '../words/language.ts';
import {
  type Draft,
  FEATURE_NAMES,
  type FlagMember,
  HOME_CRITERIA,
  type HomeCriterion,
  isRequested,
  isUnset,
  type LetterMember,
  NEW_DRAFT,
  type RangeCriterion,
  type RangeMember,
  type RequirementMember,
} from './draft.ts';
import { Markets } from './markets.tsx';
import { type FieldsProps, MemberField, type OfAlternative } from './member-field.tsx';
import { memberName, memberText } from './member-text.ts';
import { Chosen } from './place-fields.tsx';

interface HomeFieldsProps extends FieldsProps {
  /** True to point out the preselected value of a new search. */
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
      <Chips
        label={words.members.transactionType}
        choices={[...coded(words.transactions), ['', words.either]]}
        chosen={[draft.transactionType]}
        onPress={(transactionType) => change({ transactionType })}
      />
      {props.isNew && draft.transactionType === '0' && <p class="hint">{words.salePreselected}</p>}
      <Violation text={violations.of('transactionType')} />
      <ManyChips
        label={words.members.propertyTypes}
        choices={coded(words.propertyTypes)}
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
  return (
    <>
      <Range {...props} name="floor" />
      <Requirement {...props} member="lastFloor" />
      <OrMissing {...props} criterion="lastFloor" />
      {FLAG_CRITERIA.map((member) => (
        <Flag key={member} {...props} member={member} />
      ))}
      {LETTER_MEMBERS.map((member) => (
        <Fragment key={member}>
          <Several {...props} member={member} choices={ENERGY_CATEGORIES.map((letter) => [letter, letter])} />
          <OrMissing {...props} criterion={member === 'energyCategories' ? 'energy' : 'greenHouseGas'} />
        </Fragment>
      ))}
      {(['includedFeatures', 'excludedFeatures'] as const).map((member) => (
        <Fragment key={member}>
          <Several {...props} member={member} choices={FEATURE_NAMES.map((name) => [name, words.features[name]])} />
          {member === 'includedFeatures' && <OrMissing {...props} criterion={member} />}
        </Fragment>
      ))}
      <Range {...props} name="constructionYear" />
      <Range {...props} name="landSurface" />
    </>
  );
}

const MONEY_RANGES = ['pricePerMeter', 'marketDifference', 'advertPrice', 'condominiumFees', 'rentalCharges'] as const;
const MONEY: readonly (keyof Draft)[] = [...membersOf(MONEY_RANGES), 'withCoherentPrice'];

interface MoneyFieldsProps extends FieldsProps, OfAlternative {
  /** The criteria that choose the markets. */
  readonly combined: Draft;
}

export function MoneyFields({ isAlternative, combined, ...props }: MoneyFieldsProps) {
  const words = useWords();
  return (
    <fieldset>
      <legend>{words.money}</legend>
      <Range {...props} name="budget" />
      <Markets draft={combined} />
      <FoldedCriteria {...props} title={words.moreMoney} members={MONEY}>
        {MONEY_RANGES.map((name) => (
          <Range key={name} {...props} name={name} />
        ))}
        {!isAlternative && <Requirement {...props} member="withCoherentPrice" />}
      </FoldedCriteria>
    </fieldset>
  );
}

const ADVERT: readonly (keyof Draft)[] = [
  ...(['publisherTypes', 'includedSiteCategories', 'excludedSiteCategories'] as const),
  ...(['includedPublishers', 'excludedPublishers', 'withVirtualTour', 'hidePropertyContact'] as const),
];

/** Criteria of the advert itself, except its words. */
export function AdvertCriteria({ isAlternative, ...props }: OfAlternative & FieldsProps) {
  const words = useWords();
  const categories = useValue(useModel().siteCategories);
  const choices = categories.map(({ '@id': iri, name }) => [iri, name] as const);
  return (
    <FoldedCriteria {...props} title={words.moreCriteria} members={ADVERT}>
      <Several {...props} member="publisherTypes" choices={coded(words.publisherTypes)} />
      <Several {...props} member="includedSiteCategories" choices={choices} />
      <Publishers {...props} member="includedPublishers" />
      <Requirement {...props} member="withVirtualTour" />
      {!isAlternative && (
        <>
          <Several {...props} member="excludedSiteCategories" choices={choices} />
          <Publishers {...props} member="excludedPublishers" />
          <Requirement {...props} member="hidePropertyContact" />
        </>
      )}
    </FoldedCriteria>
  );
}

function Publishers({
  draft,
  change,
  violations,
  member,
}: FieldsProps & { readonly member: 'includedPublishers' | 'excludedPublishers' }) {
  const words = useWords();
  const names = draft[member];
  return (
    <>
      <Completion
        label={words.members[member]}
        source={PUBLISHERS}
        onChoose={({ name }) => change({ [member]: [...new Set([...names, name])] })}
      />
      <Chosen
        label={words.members[member]}
        places={names.map((name) => ({ value: name, label: name }))}
        violation={violations.of(member)}
        onRemove={(value) => change({ [member]: names.filter((name) => name !== value) })}
      />
    </>
  );
}

interface FoldedProps extends FieldsProps {
  readonly title: string;
  readonly members: readonly (keyof Draft)[];
  readonly children: ComponentChildren;
}

/** Values that are set are shown next to the fold, where they can be cleared. */
function FoldedCriteria({ draft, change, violations, title, members, children }: FoldedProps) {
  const words = useWords();
  const siteCategories = new Map(useValue(useModel().siteCategories).map(({ '@id': iri, name }) => [iri, name]));
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
          label: words.ofMember(memberName(member, words), memberText(draft, member, { words, siteCategories })),
        }))}
        onRemove={(member) => change({ [member]: NEW_DRAFT[member as keyof Draft] })}
      />
    </>
  );
}

/** Offers to find also homes whose adverts do not state the value. Shown if the search sets the criterion. */
function OrMissing({ draft, change, criterion }: FieldsProps & { readonly criterion: HomeCriterion }) {
  const words = useWords();
  const { orMissing } = draft;
  if (!isRequested(draft, criterion)) return null;
  const others = orMissing.filter((name) => name !== criterion);
  return (
    <Check
      aria-label={words.ofMember(words.criteria[criterion], words.members.orMissing)}
      checked={orMissing.includes(criterion)}
      onChange={(isChecked) => change({ orMissing: isChecked ? [...others, criterion] : others })}
    >
      {words.members.orMissing}
    </Check>
  );
}

function Flag(props: FieldsProps & { readonly member: FlagMember }) {
  const { draft, change, violations, member } = props;
  const words = useWords();
  return (
    <>
      <SelectField
        label={words.flags[member]}
        violation={violations.of(member)}
        value={draft[member]}
        choices={Object.entries({ '': words.either, true: words.yes, false: words.no })}
        onChoose={(value) => change({ [member]: value })}
      />
      <OrMissing {...props} criterion={member} />
    </>
  );
}

function Requirement({
  draft,
  change,
  member,
}: FieldsProps & { readonly member: RequirementMember | 'hidePropertyContact' }) {
  const words = useWords();
  return (
    <Check checked={draft[member]} onChange={(isChecked) => change({ [member]: isChecked })}>
      {words.members[member]}
    </Check>
  );
}

/** The members with the limits of these criteria. */
function membersOf(names: readonly RangeCriterion[]): readonly RangeMember[] {
  return RANGE_MEMBERS.filter((member) => names.some((name) => member === `${name}Min` || member === `${name}Max`));
}

function Range({ name, ...fields }: FieldsProps & { readonly name: RangeCriterion }) {
  const words = useWords();
  const unit = RANGE_UNITS[name];
  const title = `${words.members[name]}${unit && ` (${unit})`}`;
  const home = HOME_CRITERIA.find((criterion) => criterion === name);
  return (
    <>
      <div class="pair" role="group" aria-label={title}>
        {membersOf([name]).map((member, at) => {
          const end = member.endsWith('Min') ? words.min : words.max;
          const label = at === 0 ? `${title}, ${end}` : end;
          // The numeric keyboard of a phone may have no minus sign.
          const mayBeNegative = name === 'floor' || name === 'marketDifference';
          const keyboard = mayBeNegative ? {} : ({ inputMode: 'numeric' } as const);
          return <MemberField key={member} {...fields} {...keyboard} member={member} label={label} />;
        })}
      </div>
      {home !== undefined && <OrMissing {...fields} criterion={home} />}
    </>
  );
}

/** The value of a choice is the position of its name. */
function coded(names: readonly string[]): Choices {
  return names.map((name, code) => [String(code), name]);
}

type SeveralProps = FieldsProps & {
  readonly member: LetterMember | 'publisherTypes' | `${'included' | 'excluded'}${'Features' | 'SiteCategories'}`;
  readonly choices: Choices;
};

function Several({ draft, change, violations, member, choices }: SeveralProps) {
  const words = useWords();
  return (
    <div class="field">
      <span class="label">{words.members[member]}</span>
      <ManyChips
        label={words.members[member]}
        choices={choices}
        chosen={draft[member]}
        onChange={(chosen) => change({ [member]: chosen })}
      />
      <Violation text={violations.of(member)} />
    </div>
  );
}
