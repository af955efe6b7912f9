/** Links of adverts are whatever a crawler read: those of the web alone are followed. */

/** Null: it is no http or https address. */
export function safeLink(text: string | null): string | null {
  if (text === null || !URL.canParse(text)) return null;
  const { protocol, href } = new URL(text);
  return protocol === 'http:' || protocol === 'https:' ? href : null;
}
