/**
 * The guides at `/docs`: a page of Markdown in each language, and values from the code. A test compares the English
 * page with the README, whose commands and promises it repeats word by word, and the French page with the English one.
 */

import { readFileSync } from 'node:fs';
import { escapeHtml } from '../content.ts';
import { PROBLEM_TYPES, VIOLATION_CODES } from '../problem.ts';
import type { Language, Sentence } from '../sentences.ts';

/** Values that differ between services, by placeholder. */
export type GuideFacts = Readonly<
  Record<
    'searches' | 'corners' | 'excludedWords' | 'matchesPerAdvert' | 'readPerSecond' | 'writePerSecond' | 'keptDays',
    number
  >
>;

/** Parts of a page: `## Title {#id}`, a fence whose second word names it, `{{name}}`, and a list. */
const SECTION = /^(.+) \{#([\w-]+)\}\n([^]*)$/;
const FENCE = /^```\w+ ([\w-]+)\n([^]*?)\n```$/gm;
const PLACEHOLDER = /\{\{([\w-]+)\}\}/g;

const PAGES: Readonly<Record<Language, string>> = { en: textOf('guides.en.md'), fr: textOf('guides.fr.md') };
/** By name. The page's script puts the reader's key and search in the place of `$KEY` and `$SEARCH`. */
const SAMPLES = Object.fromEntries([...PAGES.en.matchAll(FENCE)].map(([, name, code = '']) => [name, codeOf(code)]));
/** The sample code that verifies webhooks, which tests run: each reads the secret from `SECRET`. */
export const VERIFIERS: Readonly<Record<string, string>> = {
  ...{ 'Node.js': 'verify.mjs', Python: 'verify.py', Go: 'verify.go', Java: 'verify.java', PHP: 'verify.php' },
};
const VERIFIER_BLOCKS = Object.entries(VERIFIERS).map(([name, file]) => {
  return `<details><summary>${name}</summary>${codeOf(textOf(`verify/${file}`))}</details>`;
});

function textOf(file: string): string {
  return readFileSync(new URL(file, import.meta.url), 'utf8');
}

/** HTML of all guides, a section each, and of the list that leads to them. */
export function guidePage(language: Language, facts: GuideFacts): { readonly list: string; readonly guides: string } {
  const figures = Object.entries(facts).map(([name, most]) => [name, most.toLocaleString(language)]);
  const kept = { en: `for ${facts.keptDays} days`, fr: `${facts.keptDays} jours` };
  const forEver = { en: 'for ever', fr: 'sans limite' };
  const parts: Readonly<Record<string, string>> = {
    ...{ ...SAMPLES, verifiers: VERIFIER_BLOCKS.join('\n'), ...Object.fromEntries(figures) },
    ...{ types: tableOf(PROBLEM_TYPES, language), codes: tableOf(VIOLATION_CODES, language) },
    kept: (facts.keptDays === 0 ? forEver : kept)[language],
  };
  const sections = PAGES[language]
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [, title = '', id = '', text = ''] = SECTION.exec(section) ?? [];
      const blocks = text
        .replace(FENCE, '{{$1}}')
        .trim()
        .split(/\n{2,}/);
      const body = blocks
        .map(htmlOf)
        .join('\n')
        .replace(PLACEHOLDER, (_, name) => parts[name] ?? '');
      return [
        `<li><a href="#${id}">${title}</a></li>`,
        `<section id="${id}" tabindex="-1">\n<h2>${title}</h2>\n${body}\n</section>`,
      ];
    });
  const [list, guides] = [0, 1].map((at) => sections.map((section) => section[at]).join('\n'));
  return { list: list ?? '', guides: guides ?? '' };
}

function htmlOf(block: string): string {
  if (/^\{\{[\w-]+\}\}$/.test(block)) return block;
  if (!block.startsWith('- ')) return `<p>${inline(block)}</p>`;
  const items = block.split(/^- /m).slice(1);
  return `<ul>\n${items.map((item) => `<li>${inline(item.trim())}</li>`).join('\n')}\n</ul>`;
}

function codeOf(code: string): string {
  return `<pre tabindex="0"><code>${escapeHtml(code)}</code></pre>`;
}

function tableOf(rows: Readonly<Record<string, Sentence>>, language: Language): string {
  const lines = Object.entries(rows).map(
    ([name, sentence]) => `<tr><th scope="row"><code>${name}</code></th><td>${inline(sentence[language])}</td></tr>`,
  );
  return `<table>\n${lines.join('\n')}\n</table>`;
}

/** Code, bold, and the space before French punctuation, where no line breaks. */
function inline(text: string): string {
  return escapeHtml(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\*\*(.+?)\*\*/g, '<strong>$1</strong>')
    .replace(/ (?=[;:?!»])/g, '\u00a0');
}
