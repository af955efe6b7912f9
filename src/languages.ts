/** Texts in both languages side by side, and tables of such texts. The compiler reports a missing language. */

type Language = 'fr' | 'en';

type Both<Text> = Readonly<Record<Language, Text>>;

export const both = (en: string, fr: string): Both<string> => ({ en, fr });

/** French typography: a narrow no-break space before `;:!?` and inside quotation marks. */
export const typeset = (text: string): string => text.replaceAll(/ (?=[;:!?»])|(?<=«) /g, '\u202f');

/** Created once, because creating a format takes longer than formatting a number. */
const NUMBERS = { en: new Intl.NumberFormat('en'), fr: new Intl.NumberFormat('fr') };

export const english = (count: number, one: string, several: string): string =>
  `${NUMBERS.en.format(count)} ${count === 1 ? one : several}`;

export const french = (count: number, one: string, several: string): string =>
  `${NUMBERS.fr.format(count)} ${count < 2 ? one : several}`;

/** The singular and the plural. */
type Names = readonly [one: string, several: string];

export const counted = (en: Names, fr: Names) => (count: number) => both(english(count, ...en), french(count, ...fr));

/** The type of a table in one language. */
type InOne<Table> = Table extends string
  ? string
  : Table extends Both<infer Text>
    ? Text
    : Table extends (...given: infer Given) => infer Result
      ? (...given: Given) => InOne<Result>
      : { readonly [Name in keyof Table]: InOne<Table[Name]> };

/** `finish` is applied to each text. */
export function inLanguage<Table>(table: Table, language: Language, finish = (text: string) => text): InOne<Table> {
  const read = (value: unknown): unknown => {
    if (typeof value === 'string') return finish(value);
    if (typeof value === 'function') return (...given: unknown[]) => read(value(...given));
    if (Array.isArray(value)) return value.map(read);
    if (isBoth(value as object)) return read((value as Both<unknown>)[language]);
    return Object.fromEntries(Object.entries(value as object).map(([name, one]) => [name, read(one)]));
  };
  return read(table) as InOne<Table>;
}

function isBoth(value: object): boolean {
  return 'en' in value && 'fr' in value;
}
