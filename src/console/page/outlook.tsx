/** Sentences about what a search will send, and what it lacks to send more. */

import type { SearchDocument } from './documents.ts';
import { useWords, type Words } from './words/language.ts';

export type Destinations = Pick<
  SearchDocument,
  'notificationEnabled' | 'endpointRecipient' | 'eventEndpoint' | 'emailStatus'
> & { readonly subscribedEvents: readonly string[] };

/** `will`: null for nothing; `willNot`: null when nothing is missing. */
export function outlookOf(search: Destinations, words: Words) {
  const { outlook } = words;
  const { endpointRecipient, eventEndpoint, subscribedEvents, emailStatus } = search;
  if (!search.notificationEnabled) return { will: null, willNot: outlook.off };
  const waysTo = (endpoint: string | null): string => {
    const byMail = emailStatus === 'active' ? [outlook.byMail] : [];
    return [...byMail, ...(endpoint === null ? [] : [outlook.byWebhook])].join(` ${words.and} `);
  };
  const [matches, events] = [waysTo(endpointRecipient), subscribedEvents.length === 0 ? '' : waysTo(eventEndpoint)];
  const mailFault = outlook.mailFaults[emailStatus as keyof typeof outlook.mailFaults] ?? null;
  if (matches === '' && events === '') return { will: null, willNot: mailFault ?? outlook.nowhere };
  const faults = [
    mailFault,
    matches === '' ? outlook.noMatches : null,
    subscribedEvents.length > 0 && events === '' ? outlook.noEvents : null,
    subscribedEvents.length === 0 && eventEndpoint !== null ? outlook.noKinds : null,
  ];
  return { will: outlook.will(matches, events), willNot: faults.find((fault) => fault !== null) ?? null };
}

export function OutlookLines({ search }: { readonly search: Destinations }) {
  const { will, willNot } = outlookOf(search, useWords());
  return (
    <>
      {will !== null && <span class="outlook">{will}</span>}
      {willNot !== null && (
        <span class="outlook" data-lacks>
          {willNot}
        </span>
      )}
    </>
  );
}
