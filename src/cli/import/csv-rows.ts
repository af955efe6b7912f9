/** Rows of a CSV file with a header (RFC 4180), commas or semicolons, one at a time. */

import { pipeline, Readable } from 'node:stream';
import { parse } from 'csv-parse';
import { asImportFileError, type ImportFile, ImportFileError } from './import-file.ts';

/** Values by column name in lower case. */
export type CsvRow = Readonly<Record<string, string | undefined>>;

const ROW_LENGTH_MAX = 1_000_000;

/**
 * Throws `ImportFileError` when the file lacks one of `columns` (lower case), or at a row that has more or fewer
 * values than the header.
 */
export async function* readCsvRows(
  file: ImportFile,
  columns: readonly string[],
  onBytes: (count: number) => void,
): AsyncGenerator<CsvRow> {
  const header = csvColumns(file);
  const missing = columns.filter((column) => !header.includes(column));
  if (missing.length > 0) throw new ImportFileError(`${file.path}: no column ${missing.join(', ')}`);
  const parser = parse({
    bom: true,
    delimiter: delimiterOf(file),
    columns: (names: readonly string[]) => names.map((name) => name.trim().toLowerCase()),
    max_record_size: ROW_LENGTH_MAX,
    skip_empty_lines: true,
  });
  try {
    // A broken file ends the parser with its error, which the loop throws.
    for await (const row of pipeline(Readable.from(file.open(onBytes)), parser, () => undefined)) yield row as CsvRow;
  } catch (error) {
    throw asImportFileError(file.path, error);
  }
}

/** The names of the header in lower case. */
export function csvColumns(file: ImportFile): readonly string[] {
  return headerOf(file)
    .split(delimiterOf(file))
    .map((name) =>
      name
        .trim()
        .replace(/^"(.*)"$/, '$1')
        .toLowerCase(),
    );
}

/** Whichever occurs more often in the header. */
function delimiterOf(file: ImportFile): ',' | ';' {
  const header = headerOf(file);
  return header.split(';').length > header.split(',').length ? ';' : ',';
}

function headerOf({ head }: ImportFile): string {
  const text = head.toString('utf8').replace(/^\uFEFF/, '');
  return text.slice(0, text.search(/\r|\n|$/));
}
