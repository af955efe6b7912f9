/**
 * The values at one path of a JSON file, one at a time, so that the file may be larger than memory. What no map has is
 * refused while it is read: the parser's work grows with the depth, its memory with the length of a value.
 */

import { JSONParser, TokenType } from '@streamparser/json';
import { asImportFileError, type ImportFile } from './import-file.ts';

/** GeoJSON nests nine deep. */
const DEPTH_MAX = 64;
/** The outline of a country with every bend of its coast has a few. */
const VALUE_BYTES_MAX = 16 * 1_024 * 1_024;

/**
 * Calls `onValue` for every value at `path` (`$.features.*`) while it reads. Throws `ImportFileError` when the file is no
 * JSON, nests too deep, has a value that is too long, or ends early.
 */
export async function* readJsonValues(
  file: ImportFile,
  path: string,
  onValue: (value: unknown) => void,
  onBytes: (count: number) => void,
): AsyncGenerator<void> {
  const parser = new JSONParser({ paths: [path], keepStack: false });
  const depthBetweenValues = path.split('.').length - 1;
  let depth = 0;
  let valueBytes = 0;
  parser.onToken = ({ token }) => {
    if (token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET) depth += 1;
    else if (token === TokenType.RIGHT_BRACE || token === TokenType.RIGHT_BRACKET) depth -= 1;
    if (depth > DEPTH_MAX) throw new Error(`nested more than ${DEPTH_MAX} deep`);
    if (depth <= depthBetweenValues) valueBytes = 0;
  };
  parser.onValue = ({ value }) => onValue(value);
  try {
    let isFirst = true;
    for await (const chunk of file.open(onBytes)) {
      valueBytes += chunk.length;
      if (valueBytes > VALUE_BYTES_MAX) throw new Error(`an entry of more than ${VALUE_BYTES_MAX} bytes`);
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
