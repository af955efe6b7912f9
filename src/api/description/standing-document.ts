/** A document that is the same for everybody but for the URL that they came by: it is built once, however many those are. */

/** Stands for the URL in what is built. Reserved: nobody comes by it (RFC 2606). */
const STAND_IN = 'https://vigie.invalid';

/** Answers the JSON of `build(baseUrl)`. */
export function standingDocument(build: (baseUrl: string) => object): (baseUrl: string) => string {
  let built: string | null = null;
  let withoutUrl: string | null = null;
  return (baseUrl) => {
    // A document may say something else where nobody knows its URL.
    if (baseUrl === '') return (withoutUrl ??= JSON.stringify(build('')));
    built ??= JSON.stringify(build(STAND_IN));
    const url = JSON.stringify(baseUrl).slice(1, -1);
    return built.replaceAll(STAND_IN, () => url);
  };
}
