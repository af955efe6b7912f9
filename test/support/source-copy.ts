/** A copy of the sources that a test can change and compile. */

import { execFile } from 'node:child_process';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './checkout.ts';
import { type Cleanup, emptyDirectory } from './servers.ts';

const execute = promisify(execFile);

export interface SourceCopy {
  readonly path: string;
  /** Throws if `edit` changes nothing. */
  change(file: string, edit: (text: string) => string): Promise<void>;
  /** Runs Node.js in the copy. Resolves with its output if it fails, otherwise with null. */
  failureOf(...args: readonly string[]): Promise<string | null>;
}

export async function copySources(cleanup: Cleanup): Promise<SourceCopy> {
  const path = await emptyDirectory(cleanup, 'copy');
  for (const each of ['src', 'test', 'bench', 'config', 'proto', 'package.json', 'tsconfig.json']) {
    await cp(join(ROOT, each), join(path, each), { recursive: true });
  }
  await symlink(join(ROOT, 'node_modules'), join(path, 'node_modules'));
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
  return {
    path,
    async change(file, edit) {
      const before = await readFile(join(path, file), 'utf8');
      const after = edit(before);
      if (after === before) throw new Error(`the edit does not change ${file}`);
      await writeFile(join(path, file), after);
    },
    failureOf: (...args) =>
      execute(process.execPath, args, { cwd: path, maxBuffer: 1 << 26, env }).then(
        () => null,
        ({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }) => stdout + stderr,
      ),
  };
}
