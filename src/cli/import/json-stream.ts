/**
 * The values at some paths of a JSON file, one at a time, so that the file may be larger than memory. What no map has is
 * refused while it is read: the parser's work grows with the depth, its memory with the length of a value.
 */

import { JSONParser, TokenType } from '@streamparser/json';
import { createEntryBound } from './entry-bound.ts';
import { asImportFileError, type ImportFile } from './import-file.ts';

/**
 * Calls `onValue` for every value at one of `paths` (`$.features.*`), with the first key of its path, while it reads.
 * Throws `ImportFileError` when the file is no JSON, nests too deep, or ends early.
 */
export async function* readJsonValues(
  file: ImportFile,
  paths: readonly string[],
  onValue: (value: unknown, firstKey: string) => void,
  onBytes: (count: number) => void,
): AsyncGenerator<void> {
  const parser = new JSONParser({ paths: [...paths], keepStack: false });
  const bound = createEntryBound(Math.max(...paths.map((path) => path.split('.').length - 1)));
  parser.onToken = ({ token }) => {
    if (token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET) bound.open();
    else if (token === TokenType.RIGHT_BRACE || token === TokenType.RIGHT_BRACKET) bound.close();
    else bound.pass();
  };
  parser.onValue = ({ value, key, stack }) => onValue(value, String(stack[1]?.key ?? key));
  try {
    let isFirst = true;
    for await (const chunk of file.open(onBytes)) {
      bound.read(chunk.length);
      parser.write(isFirst ? withoutByteOrderMark(chunk) : chunk);
      isFirst = false;
      yield;
    }
    if (!parser.isEnded) parser.end();
  } catch (error) {
    throw asImportFileError(file.path, error);
  }
}

function withoutByteOrderMark(chunk: Buffer): Buffer {
  return chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf ? chunk.subarray(3) : chunk;
}
