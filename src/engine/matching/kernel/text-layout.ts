/**
 * The memory that a reader of texts shares with its kernel, byte by byte: `text-source` makes the kernel of these
 * numbers. What grows with the searches lies above and is passed to the kernel at each call.
 */

/** How `letterOf` of `domain/text` treats each unit of UTF-16; 0 where it has not been asked. */
export const LETTERS = 0;
/** The text at hand. */
export const UNITS = 0x10000;
export const UNITS_MAX = 32_768;
const WORDS_MAX = UNITS_MAX / 2 + 1;
/** Its words: hash, number of letters, token. */
export const WORDS = UNITS + 2 * UNITS_MAX;
export const WORD_HASH = 0;
export const WORD_LENGTH = 4;
export const WORD_TOKEN = 8;
export const WORD_BYTES = 16;
/** The letters of each, then zeros up to eight bytes. */
export const SPELLINGS = WORDS + WORD_BYTES * WORDS_MAX;
/** Longer words are left to `foldWords`. */
export const WORD_LENGTH_MAX = 64;
export const SPELLING_BYTES = WORD_LENGTH_MAX + 16;

/** Words of any text so far: a token each, a cache line. Token 0 is none. */
export const TOKENS_MAX = 65_536;
export const TOKENS = Math.ceil((SPELLINGS + SPELLING_BYTES * WORDS_MAX) / 64) * 64;
export const TOKEN_HASH = 0;
export const TOKEN_LENGTH = 4;
/** Of the tables of words, phrases and terms, for which what follows holds. */
export const TOKEN_REVISION = 8;
export const TOKEN_WORD = 12;
/** The phrase that the word is, or begins; 0 for none. */
export const TOKEN_PHRASE = 16;
/** Of the list of terms when it is longer than `TERMS_MAX`: it is elsewhere. */
export const TOKEN_TERM_COUNT = 20;
export const TOKEN_TERMS = 24;
export const TERMS_MAX = 3;
/** Eight at a time. */
export const TOKEN_LETTERS = 40;
export const TOKEN_BYTES = 64;
/** Letters of longer words go on here. */
export const NEAR_LETTERS = TOKEN_BYTES - TOKEN_LETTERS;
export const TAILS = TOKENS + TOKEN_BYTES * (TOKENS_MAX + 1);
export const TAIL_BYTES = WORD_LENGTH_MAX - NEAR_LETTERS;
/** Tokens by hash: open addressing, no more than half full. */
export const SLOTS_COUNT = 2 * TOKENS_MAX;
export const SLOTS = TAILS + TAIL_BYTES * (TOKENS_MAX + 1);

/** What the property at hand has so far: codes of words in order, words that start a phrase, terms. */
export const CODE_COUNT = SLOTS + 4 * SLOTS_COUNT;
export const START_COUNT = CODE_COUNT + 4;
export const TERM_COUNT = START_COUNT + 4;
/** Of a word that starts a phrase: its place among the codes, and that phrase. */
export const START_INTEGERS = 2;
/** And where these are. */
export const CODES_AT = TERM_COUNT + 4;
export const STARTS_AT = CODES_AT + 4;
export const TERMS_AT = STARTS_AT + 4;
/** The token of each word among the codes; none for the end of a text. */
export const PLACES_AT = TERMS_AT + 4;
/** Where the generation in which each term was last seen is, and the one at hand. */
export const TERMS_SEEN_AT = PLACES_AT + 4;
export const GENERATION = TERMS_SEEN_AT + 4;
export const REVISION = GENERATION + 4;
/** Takes what is read for nothing but to have it near. */
export const TEXT_TOUCHED = REVISION + 4;
export const TEXT_BYTES = TEXT_TOUCHED + 4;

/** What the kernel is answered about a unit that it cannot decide alone: the number of letters so far, or one of these. */
export const ENDS_WORD = -1;
export const LEAVES_TEXT = -2;
