/**
 * What is not resent: a search that hides contacts gets nothing again that was recorded with them (decisions, section
 * 5).
 */

interface RecordedDocument {
  readonly adverts?: readonly { readonly contact?: unknown }[];
}

/** `document`: of a snapshot, JSON. */
export function withoutContacts(document: string): string {
  const recorded = JSON.parse(document) as RecordedDocument;
  return JSON.stringify({ ...recorded, adverts: recorded.adverts?.map((advert) => ({ ...advert, contact: null })) });
}

/** Likewise. */
export function hasContacts(document: string): boolean {
  const { adverts = [] } = JSON.parse(document) as RecordedDocument;
  return adverts.some(({ contact = null }) => contact !== null);
}
