/** Saved searches: the members a client may write (specification, section 2.1; decisions, section 2) and their criteria. */

import type { EventKind } from './codes.ts';
import { ANYTHING, ASKED_CRITERIA, type Criteria, type CriterionMembers, UNASKED } from './criterion-table.ts';
import type { SearchNumber, Uuid } from './ids.ts';
import type { MailFrequency, MailStanding } from './mail.ts';
import type { SiteCategoryName } from './site-category-criteria.ts';

export type { SiteCategoryName };

/** Every writable member, validated, in the form it is stored. */
export interface SearchMembers extends CriterionMembers {
  readonly title: string;
  readonly hidePropertyContact: boolean;
  readonly notificationEnabled: boolean;
  readonly notificationRecipient: string | null;
  readonly notificationFrequency: MailFrequency;
  readonly endpointRecipient: string | null;
  readonly eventEndpoint: string | null;
  readonly subscribedEvents: readonly EventKind[];
  /** The client's own: any JSON, which its webhooks carry; null when there is none. */
  readonly context: unknown;
}

export interface Search {
  readonly number: SearchNumber;
  readonly id: Uuid;
  readonly clientId: Uuid;
  readonly members: SearchMembers;
  /** Signs this search's deliveries: `whsec_` and base64 of 32 bytes. */
  readonly token: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly lastAlertAt: Date | null;
  readonly mail: MailStanding;
}

/** Defaults of decisions, section 2; `title` alone is required. */
export const SEARCH_DEFAULTS: Omit<SearchMembers, 'title'> = {
  ...UNASKED,
  hidePropertyContact: false,
  notificationEnabled: false,
  notificationRecipient: null,
  notificationFrequency: 'instant',
  endpointRecipient: null,
  eventEndpoint: null,
  subscribedEvents: [],
  context: null,
};

/** What the members of a search ask for. */
export function criteriaOf(members: SearchMembers, siteCategoryName: SiteCategoryName): Criteria {
  // One shape for all: a million of them are made when the index loads.
  const criteria: Record<string, unknown> = { ...ANYTHING };
  for (const row of ASKED_CRITERIA) criteria[row.key] = row.read(members, siteCategoryName);
  return criteria as Criteria;
}
