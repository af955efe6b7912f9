/** Crawlers send the links of adverts, so only http and https are allowed. */

/** Null if it is not an http or https address. */
export function safeLink(text: string | null): string | null {
  if (text === null || !URL.canParse(text)) return null;
  const { protocol, href } = new URL(text);
  return protocol === 'http:' || protocol === 'https:' ? href : null;
}
