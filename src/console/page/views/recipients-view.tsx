/** People who receive the client's e-mails: the stored data of each, also as a file, and its erasure. */

import { useState } from 'preact/hooks';
import { useAnswer, useMutation, useRead } from '../answer.ts';
import { SearchInput } from '../controls.tsx';
import { type Collection, idOf, type RecipientDocument, type RecipientSummaryDocument } from '../documents.ts';
import { ConfirmedButton, Empty, Loading, Problem } from '../elements.tsx';
import { useModel } from '../model-context.ts';
import { pause } from '../now.ts';
import { hrefOf } from '../route.ts';
import { useWords } from '../words/language.ts';
import { save } from './save-file.ts';

const SHOWN_MAX = 100;
const TYPING_MS = 150;

export function RecipientsView() {
  const words = useWords();
  const { rest } = useModel();
  const [typed, setTyped] = useState('');
  const address = typed.trim().toLowerCase();
  const read = useAnswer(
    async (signal) => {
      await pause(TYPING_MS, signal);
      return rest.read<Collection<RecipientSummaryDocument>>(
        '/recipients',
        { address, itemsPerPage: SHOWN_MAX },
        signal,
      );
    },
    [address],
  );
  const list = read.value?.['hydra:member'] ?? [];
  const more = (read.value?.['hydra:totalItems'] ?? 0) - list.length;
  // The list has only addresses to which a search sends e-mails. Data about another address may be stored too.
  const isUnlisted = address.includes('@') && !read.isLoading && list.every((one) => one.address !== address);
  return (
    <div class="wide">
      <h1>{words.views.recipients}</h1>
      <div class="filters">
        <SearchInput label={words.members.notificationRecipient} value={typed} onText={setTyped} />
      </div>
      <Loading isShown={read.value === null && read.isLoading} />
      <Problem text={read.problem} again={read.again} />
      {read.value !== null && list.length === 0 && !isUnlisted && <Empty title={words.noRecipient} />}
      <ul class="cards">
        {list.map((one) => (
          <Recipient key={one.address} address={one.address} summary={one} onErased={read.again} />
        ))}
        {isUnlisted && <Recipient key={address} address={address} summary={null} onErased={read.again} />}
      </ul>
      {more > 0 && <p class="hint">{words.andMore(more)}</p>}
    </div>
  );
}

interface RecipientProps {
  readonly address: string;
  /** Null if no search sends e-mails to it. */
  readonly summary: RecipientSummaryDocument | null;
  onErased(): void;
}

function Recipient({ address, summary, onErased }: RecipientProps) {
  const words = useWords();
  const { rest, refreshSearches } = useModel();
  const mutation = useMutation();
  const [isOpen, setOpen] = useState(false);
  const iri = `/recipients/${encodeURIComponent(address)}`;
  const download = (): void =>
    mutation.run(async () => save(JSON.stringify(await rest.read(iri), null, 2), 'application/json', 'recipient.json'));
  const erase = (): void => {
    setOpen(false);
    mutation.run(async () => {
      await rest.ask('DELETE', iri);
      refreshSearches();
      onErased();
    });
  };
  return (
    <li>
      <h2 class="row-title">{address}</h2>
      {summary === null ? <p class="hint">{words.unlistedRecipient}</p> : <SummaryLines summary={summary} />}
      <div class="line">
        <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {words.storedData}
        </button>
        <button type="button" disabled={mutation.isUnderWay} onClick={download}>
          {words.asJson}
        </button>
        <ConfirmedButton
          label={words.erase}
          question={words.eraseQuestion(address)}
          class="danger"
          disabled={mutation.isUnderWay}
          onConfirm={erase}
        />
      </div>
      <Problem text={mutation.problem} />
      {isOpen && <StoredData iri={iri} />}
    </li>
  );
}

function SummaryLines({
  summary: { searches, status, lastMailAt, consent },
}: {
  readonly summary: RecipientSummaryDocument;
}) {
  const words = useWords();
  return (
    <>
      <p>
        <span class="tag" data-state={status}>
          {words.searchStates[status]}
        </span>{' '}
        {words.searchCount(searches)}
      </p>
      <p class="hint">
        {lastMailAt === null ? words.noMail : words.lastMail(words.moment(lastMailAt))}
        {' · '}
        {consent === null ? words.noConsent : words.ofMember(words.consentOf(words.day(consent.at)), consent.source)}
      </p>
    </>
  );
}

const MAILS_SHOWN = 20;
const CHOICES = ['unsubscribedAt', 'resubscribedAt', 'erasedAt', 'liftedAt'] as const;

/** The recipient's choices, searches and newest e-mails. The exported file has the rest. */
function StoredData({ iri }: { readonly iri: string }) {
  const words = useWords();
  const read = useRead<RecipientDocument>(iri);
  const { searches = [], emails = [], emailCount = 0 } = read.value ?? {};
  const choices = CHOICES.flatMap((name) => {
    const at = read.value?.[name] ?? null;
    return at === null ? [] : [words.ofMember(words.choices[name], words.moment(at))];
  });
  return (
    <>
      <Loading isShown={read.value === null && read.isLoading} />
      <Problem text={read.problem} again={read.again} />
      <ul class="plain">
        {choices.map((line) => (
          <li key={line}>{line}</li>
        ))}
        {searches.map(({ search, title, deletedAt }) => (
          <li key={search}>{deletedAt === null ? <a href={hrefOf('searches', idOf(search))}>{title}</a> : title}</li>
        ))}
        {emails.slice(0, MAILS_SHOWN).map(({ createdAt, status }) => (
          <li key={createdAt + status}>
            {`${words.channels.email} · ${words.moment(createdAt)} · ${words.states[status as 'delivered']}`}
          </li>
        ))}
      </ul>
      {emailCount > MAILS_SHOWN && <p class="hint">{words.andMore(emailCount - MAILS_SHOWN)}</p>}
    </>
  );
}
