/**
 * The code samples of /docs, in every language that a reader can choose. They are the requests of the guides, which are
 * written for curl, and the verification of a webhook. Without the page's script, only curl and the summaries are
 * visible.
 */

import { readFileSync } from 'node:fs';
import { escapeHtml } from '../content.ts';

/** The files of samples that verify webhooks, by language. `SECRET` in them is a placeholder; tests run them. */
export const VERIFIERS: Readonly<Record<string, string>> = {
  'Node.js': 'verify.mjs',
  Python: 'verify.py',
  Go: 'verify.go',
  Java: 'verify.java',
  PHP: 'verify.php',
};

export const SAMPLE_LANGUAGES = ['curl', ...Object.keys(VERIFIERS)];

const REQUESTS = [...textOf('requests.md').matchAll(/^```\w+ (\S+)\n([^]*?\n)```$/gm)];

export function textOf(file: string): string {
  return readFileSync(new URL(file, import.meta.url), 'utf8');
}

export function codeOf(code: string): string {
  return `<div class="code"><pre tabindex="0"><code>${escapeHtml(code)}</code></pre></div>`;
}

export const verifierSamples = (): string =>
  groupOf(Object.entries(VERIFIERS).map(([language, file]) => [language, textOf(`verify/${file}`)]));

/** HTML of the samples for a command of the guides. A block that is not a curl command is the only sample. */
export function requestSamples(command: string): string {
  if (!command.startsWith('curl ')) return codeOf(command);
  return groupOf([['curl', command], ...requestsOf(command)]);
}

/** The request in each language, such as `Node.js`. */
export function requestsOf(command: string): [language: string, code: string][] {
  const [, url = ''] = /(http[^\s"]+)/.exec(command) ?? [];
  const [, body] = /-d '([^']+)'/.exec(command) ?? [];
  const parts: Readonly<Record<string, string>> = {
    url,
    method: body === undefined ? 'GET' : 'POST',
    body: body ?? '',
  };
  return REQUESTS.map(([, language = '', code = '']) => {
    const fitting = code.replaceAll(/«([^]*?)»/g, (_, part: string) => (body === undefined ? '' : part));
    return [language, fitting.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => parts[name] ?? '')];
  });
}

function groupOf(samples: readonly (readonly [language: string, code: string])[]): string {
  const blocks = samples.map(([language, code]) => {
    const isOpen = language === 'curl' ? ' open' : '';
    return `<details data-language="${language}"${isOpen}><summary>${language}</summary>${codeOf(code)}</details>`;
  });
  return `<div class="samples">\n${blocks.join('\n')}\n</div>`;
}
