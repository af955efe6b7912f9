/** The row of a search: its main criteria, its recipient, and a switch for its notifications. */

import { useMutation } from '../answer.ts';
import { Check } from '../controls.tsx';
import { cityLabel, idOf, type SearchDocument } from '../documents.ts';
import { codesOf } from '../editor/draft.ts';
import { switchNotifications } from '../editor/stored-search.ts';
import { Problem } from '../elements.tsx';
import { useModel } from '../model-context.ts';
import { OutlookLines } from '../outlook.tsx';
import { hrefOf } from '../route.ts';
import { useWords, type Words } from '../words/language.ts';

export function SearchRow({ search }: { readonly search: SearchDocument }) {
  const words = useWords();
  const model = useModel();
  const mutation = useMutation();
  const { '@id': iri, title, notificationEnabled, newSinceSeen } = search;
  const toggle = (): void =>
    mutation.run(async () => {
      model.putSearch(await switchNotifications(model.rest, iri, !notificationEnabled));
    });
  return (
    <>
      <div class="search-row">
        <a href={hrefOf('searches', idOf(iri))}>
          <span class="row-title">
            {title}{' '}
            {newSinceSeen > 0 && (
              <span class="tag" data-tag="match">
                {words.newCount(newSinceSeen)}
              </span>
            )}
          </span>
          <Summary search={search} />
        </a>
        <Check
          role="switch"
          aria-label={words.notifyFor(title)}
          checked={notificationEnabled}
          disabled={mutation.isUnderWay}
          onChange={toggle}
        >
          {words.notifications}
        </Check>
      </div>
      <Problem text={mutation.problem} />
    </>
  );
}

function Summary({ search }: { readonly search: SearchDocument }) {
  const words = useWords();
  const { lastAlertAt, matchedLast7Days, notificationRecipient: recipient, notificationFrequency } = search;
  const bounds = [
    [words.members.budget, search.budgetMin, search.budgetMax, words.euros],
    [words.members.room, search.roomMin, search.roomMax, words.number],
  ] as const;
  const requested = bounds.flatMap(([name, min, max, format]) => {
    const text = boundsText(min, max, format);
    return text === null ? [] : [words.ofMember(name, text)];
  });
  const lines = [
    kindAndPlace(search, words),
    requested.join(' · '),
    recipient === null
      ? ''
      : `${recipient} · ${words.frequencies[search.emailFrequencyChosen ?? notificationFrequency]}`,
    <OutlookLines key="outlook" search={search} />,
    [
      words.matchedLast7Days(matchedLast7Days),
      lastAlertAt === null ? words.neverAlerted : words.lastAlert(words.moment(lastAlertAt)),
    ].join(' · '),
  ];
  return (
    <>
      {lines.map(
        (line, at) =>
          line !== '' && (
            <span key={at} class="row-more">
              {line}
            </span>
          ),
      )}
    </>
  );
}

/** `Sale · Apartment · Toulon (83000)` */
function kindAndPlace(search: SearchDocument, words: Words): string {
  const types = codesOf(search.propertyTypes).map((code) => words.propertyTypes[code]);
  const places = [
    ...search.includedCities.map(cityLabel),
    ...search.includedDepartments.map(({ name, departmentCode }) => `${name} (${departmentCode})`),
    ...search.includedZipcodes,
    ...search.includedInseeCodes,
    ...(search.radius === null ? [] : [words.circleOf(search.radius)]),
    ...(search.geoShapes.length === 0 ? [] : [words.polygonCount(search.geoShapes.length)]),
  ];
  const shown = places.length > 3 ? [...places.slice(0, 3), `+${places.length - 3}`] : places;
  const transaction = search.transactionType === null ? [] : [words.transactions[Number(search.transactionType)]];
  const { length: count } = search.alternatives;
  const where = shown.length === 0 && count === 0 ? words.everywhere : shown.join(', ');
  const either = count === 0 ? '' : words.ofMember(words.members.alternatives, words.number(count));
  return [...transaction, ...types, where, either].filter((part) => part !== '').join(' · ');
}

/** `≤ €300,000`, `3 – 4`; null without a limit. A limit of 0 does not count. */
function boundsText(min: number | null, max: number | null, format: (value: number) => string): string | null {
  if (!min && !max) return null;
  if (min === max) return format(Number(max));
  if (!min) return `≤ ${format(Number(max))}`;
  return max ? `${format(min)} – ${format(max)}` : `≥ ${format(min)}`;
}
