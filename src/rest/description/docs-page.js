/**
 * The script of /docs. It shows the reference with Swagger UI in the page's language, and with ids that exist for the
 * typed key, which is not stored. It also searches guides and operations, and shows and copies code samples in the
 * chosen language.
 */
/* global SwaggerUIBundle, document, fetch, getSelection, matchMedia, navigator */

const keyField = document.querySelector('#key');
const wordsField = document.querySelector('#words');
const outcome = document.querySelector('#outcome');
/** Lists whose first member provides the example of the id in their paths. */
const LISTS = [
  '/searches',
  '/matches',
  '/deliveries',
  '/documents/properties',
  '/recoveries',
  '/webhook-secrets',
  '/users',
];

/** Ids, keyed by list; empty without a key, or if the key is refused. */
async function readIds(key) {
  if (key === '') return new Map();
  const read = async (list) => {
    const answer = await fetch(`${list}?itemsPerPage=1`, { headers: { 'X-API-KEY': key, Accept: 'application/json' } });
    const [first] = answer.ok ? ((await answer.json())['hydra:member'] ?? []) : [];
    return first === undefined ? [] : [[list, first['@id'].split('/').at(-1)]];
  };
  return new Map((await Promise.all(LISTS.map(read))).flat());
}

function withIds(description, ids) {
  for (const [path, operations] of Object.entries(description.paths)) {
    const id = ids.get(path.split('/{')[0]);
    if (id === undefined) continue;
    for (const { parameters = [] } of Object.values(operations)) {
      for (const parameter of parameters) if (parameter.in === 'path') parameter.example = id;
    }
  }
  return description;
}

const readJson = async (path) => (await fetch(path)).json();

/** The service publishes the reference in English, and a French translation of each of its sentences. */
async function readDescription() {
  const description = await readJson('/openapi.json');
  if (document.documentElement.lang === 'fr') translate(description, await readJson('/docs/reference.fr.json'));
  return description;
}

function translate(node, sentences) {
  for (const [name, value] of Object.entries(node)) {
    if (typeof value === 'object' && value !== null) translate(value, sentences);
    else if (['description', 'summary'].includes(name) && typeof value === 'string') {
      const parts = value.split(/(?<=\.)\s+(?=[A-Z`])/);
      node[name] = parts.map((one) => sentences[one] ?? one).join(' ');
    }
  }
}

const samples = [...document.querySelectorAll('pre code')].map((element) => ({ element, text: element.textContent }));
/** The text that a collapsed operation does not show, keyed by the id of its block. */
const operationTexts = new Map();

async function show() {
  const key = keyField.value.trim();
  const [description, ids] = await Promise.all([readDescription(), readIds(key)]);
  for (const { element, text } of samples) {
    const search = ids.get('/searches') ?? '$SEARCH';
    element.textContent = ids.size === 0 ? text : text.replaceAll('$KEY', key).replaceAll('$SEARCH', search);
  }
  for (const operations of Object.values(description.paths)) {
    for (const { operationId, tags, description: words, parameters } of Object.values(operations)) {
      const names = parameters.map(({ name }) => name);
      operationTexts.set(`operations-${tags[0]}-${operationId}`, [words, ...names].join(' '));
    }
  }
  const none = () => null;
  const tags = description.tags.map(({ name }) => {
    const item = document.createElement('li');
    item.append(Object.assign(document.createElement('a'), { href: `#operations-tag-${name}`, textContent: name }));
    return item;
  });
  document.querySelector('#tags').replaceChildren(...tags);
  SwaggerUIBundle({
    spec: withIds(description, ids),
    dom_id: '#swagger-ui',
    // The badge would be loaded from another server.
    validatorUrl: null,
    persistAuthorization: false,
    // Left out are the title, which the page has, the choice of the only server, and the list of schemas, which every
    // operation shows. Deep links would be inside buttons, and the colours of code have too little contrast.
    plugins: [() => ({ components: { InfoContainer: none, ServersContainer: none } })],
    ...{ defaultModelsExpandDepth: -1, deepLinking: false, syntaxHighlight: false },
    onComplete() {
      const ui = this;
      if (key !== '') ui.preauthorizeApiKey('apiKey', key);
      search();
    },
  });
}

/** Swagger UI gives choices, bodies and tables of answers no names for screen readers. */
function nameParts() {
  for (const part of document.querySelectorAll(
    '#swagger-ui :is(select, textarea, .responses-table):not([aria-label])',
  )) {
    part.setAttribute('aria-label', part.id || (part.closest('[data-param-name]')?.dataset.paramName ?? 'body'));
  }
}
new MutationObserver(nameParts).observe(document.querySelector('#swagger-ui'), { childList: true, subtree: true });

/** In lower case, without accents. */
const plain = (text) => text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
const found = () => document.querySelector(':is(#guides section, #swagger-ui .opblock):not([hidden])');

function search() {
  const words = plain(wordsField.value).split(/\s+/).filter(Boolean);
  let count = 0;
  for (const part of document.querySelectorAll('#guides section, #swagger-ui .opblock')) {
    const text = plain(`${part.textContent} ${operationTexts.get(part.id) ?? ''}`);
    part.hidden = !words.every((word) => text.includes(word));
    count += Number(!part.hidden);
  }
  for (const group of document.querySelectorAll('#swagger-ui .opblock-tag-section')) {
    group.hidden = group.querySelector('.opblock:not([hidden])') === null;
  }
  const { nothing, some } = outcome.dataset;
  outcome.textContent = words.length === 0 ? '' : count === 0 ? nothing : some.replace('%', count);
}

wordsField.addEventListener('input', search);
wordsField.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter') return;
  // The button that gets the focus would react to the key too.
  event.preventDefault();
  const first = found();
  (first?.querySelector('button.opblock-summary-control') ?? first)?.focus();
});

const languageField = document.querySelector('#language');

/** Hides samples in other languages where there is one in the chosen language. */
function chooseLanguage() {
  for (const group of document.querySelectorAll('.samples')) {
    const all = [...group.children];
    const isChosen = ({ dataset }) => dataset.language === languageField.value;
    for (const one of all) {
      one.hidden = !isChosen(one) && all.some(isChosen);
      one.open = isChosen(one);
    }
  }
}
languageField.addEventListener('change', chooseLanguage);
languageField.parentElement.hidden = false;
chooseLanguage();

/** Without TLS, and unless the page is from this machine, browsers can copy only the selection. */
async function copy(code) {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(code.textContent);
  getSelection().selectAllChildren(code);
  document.execCommand('copy');
}

const { copy: copyWord, copied: copiedWord } = document.querySelector('#content').dataset;
for (const block of document.querySelectorAll('.code')) {
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent: copyWord });
  button.ariaLive = 'polite';
  button.addEventListener('click', async () => {
    await copy(block.querySelector('code'));
    button.textContent = copiedWord;
  });
  button.addEventListener('blur', () => (button.textContent = copyWord));
  block.append(button);
}

const dark = matchMedia('(prefers-color-scheme: dark)');
const showScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', showScheme);
showScheme();

keyField.addEventListener('change', () => void show());
void show();
