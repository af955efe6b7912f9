/**
 * The kernel that reads texts, in WebAssembly text: letters to words, words to tokens, tokens to what searches know of
 * them. A word's slot and token may be anywhere in some megabytes: passes that do nothing but read them come first, so
 * that the processor waits for all of them at once.
 */

import { IRREGULAR, SEPARATOR, SILENT } from '../../domain/text.ts';
import { PAGES_MAX } from '../rows/shared-memory.ts';
import * as at from './layout.ts';

/** A multiplier with random bits (M. E. O'Neill, PCG). */
const HASH_FACTOR = '0x5851f42d4c957f2d';

const NEXT_WORD = `(br_if $nextWord (i32.lt_u
        (local.tee $word (i32.add (local.get $word) (i32.const ${at.WORD_BYTES})))
        (local.get $end)))`;

const SLOT_OF_WORD = `(i32.shl
        (i32.and (i32.load offset=${at.WORD_HASH} (local.get $word)) (i32.const ${at.SLOTS_COUNT - 1}))
        (i32.const 2))`;

/** Returns the number of words, or -1 when it takes \`foldWords\` to read them. */
const SPELL = `
  (func (export "spell") (param $unitCount i32) (result i32)
    (local $at i32) (local $end i32) (local $unit i32) (local $letter i32)
    (local $spelling i32) (local $length i32) (local $word i32)
    (local.set $at (i32.const ${at.UNITS}))
    (local.set $end (i32.add (i32.const ${at.UNITS}) (i32.shl (local.get $unitCount) (i32.const 1))))
    (local.set $spelling (i32.const ${at.SPELLINGS}))
    (local.set $word (i32.const ${at.WORDS}))
    (block $done
      (loop $nextUnit
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $unit (i32.load16_u (local.get $at)))
        (local.set $at (i32.add (local.get $at) (i32.const 2)))
        (local.set $letter (i32.load8_u offset=${at.LETTERS} (local.get $unit)))
        (if (i32.gt_u (local.get $letter) (i32.const ${IRREGULAR})) (then
          (if (i32.eq (local.get $length) (i32.const ${at.WORD_LENGTH_MAX})) (then (return (i32.const -1))))
          (i32.store8 (i32.add (local.get $spelling) (local.get $length)) (local.get $letter))
          (local.set $length (i32.add (local.get $length) (i32.const 1)))
          (br $nextUnit)))
        (br_if $nextUnit (i32.eq (local.get $letter) (i32.const ${SILENT})))
        (if (i32.ne (local.get $letter) (i32.const ${SEPARATOR})) (then
          (local.set $letter (call $special
            (local.get $unit)
            (select (i32.load16_u (local.get $at)) (i32.const 0) (i32.lt_u (local.get $at) (local.get $end)))
            (local.get $spelling)
            (local.get $length)))
          (if (i32.eq (local.get $letter) (i32.const ${at.LEAVES_TEXT})) (then (return (i32.const -1))))
          (if (i32.ne (local.get $letter) (i32.const ${at.ENDS_WORD})) (then
            (local.set $length (local.get $letter))
            (br $nextUnit)))))
        (br_if $nextUnit (i32.eqz (local.get $length)))
        (call $endWord (local.get $word) (local.get $spelling) (local.get $length))
        (local.set $word (i32.add (local.get $word) (i32.const ${at.WORD_BYTES})))
        (local.set $spelling (i32.add (local.get $spelling) (i32.const ${at.SPELLING_BYTES})))
        (local.set $length (i32.const 0))
        (br $nextUnit)))
    (if (local.get $length) (then
      (call $endWord (local.get $word) (local.get $spelling) (local.get $length))
      (local.set $word (i32.add (local.get $word) (i32.const ${at.WORD_BYTES})))))
    (i32.div_u (i32.sub (local.get $word) (i32.const ${at.WORDS})) (i32.const ${at.WORD_BYTES})))`;

/** Zeros behind the last letter. */
const END_WORD = `
  (func $endWord (param $word i32) (param $spelling i32) (param $length i32)
    (i64.store (i32.add (local.get $spelling) (local.get $length)) (i64.const 0))
    (i32.store offset=${at.WORD_LENGTH} (local.get $word) (local.get $length)))`;

/** Eight letters at a time; a pass of its own, as letters just written one by one are slow to be read together. */
const HASH_WORDS = `
  (func $hashWords (param $end i32)
    (local $word i32) (local $spelling i32) (local $length i32) (local $at i32) (local $hash i64)
    (local.set $word (i32.const ${at.WORDS}))
    (local.set $spelling (i32.const ${at.SPELLINGS}))
    (loop $nextWord
      (local.set $length (i32.load offset=${at.WORD_LENGTH} (local.get $word)))
      (local.set $hash (i64.extend_i32_u (local.get $length)))
      (local.set $at (i32.const 0))
      (loop $nextLetters
        (local.set $hash (i64.mul
          (i64.xor (local.get $hash) (i64.load (i32.add (local.get $spelling) (local.get $at))))
          (i64.const ${HASH_FACTOR})))
        (local.set $hash (i64.xor (local.get $hash) (i64.shr_u (local.get $hash) (i64.const 32))))
        (br_if $nextLetters (i32.lt_u
          (local.tee $at (i32.add (local.get $at) (i32.const 8)))
          (local.get $length))))
      (i32.store offset=${at.WORD_HASH} (local.get $word) (i32.wrap_i64 (local.get $hash)))
      (i32.store offset=${at.WORD_TOKEN} (local.get $word) (i32.load offset=${at.SLOTS} ${SLOT_OF_WORD}))
      (local.set $spelling (i32.add (local.get $spelling) (i32.const ${at.SPELLING_BYTES})))
      ${NEXT_WORD}))`;

/** Gives each word its token; there is room for those that are new. Returns the number of tokens then. */
const FIND = `
  (func (export "find") (param $wordCount i32) (param $tokenCount i32) (result i32)
    (local $word i32) (local $end i32) (local $spelling i32) (local $slot i32) (local $token i32) (local $read i32)
    (local.set $end (i32.add (i32.const ${at.WORDS}) (i32.mul (local.get $wordCount) (i32.const ${at.WORD_BYTES}))))
    (call $hashWords (local.get $end))
    (local.set $word (i32.const ${at.WORDS}))
    (loop $nextWord
      (local.set $read (i32.xor (local.get $read) (i32.load offset=${at.TOKENS}
        (i32.mul (i32.load offset=${at.WORD_TOKEN} (local.get $word)) (i32.const ${at.TOKEN_BYTES})))))
      ${NEXT_WORD})
    (i32.store offset=${at.TEXT_TOUCHED} (i32.const 0) (local.get $read))
    (local.set $word (i32.const ${at.WORDS}))
    (local.set $spelling (i32.const ${at.SPELLINGS}))
    (loop $nextWord
      (local.set $slot ${SLOT_OF_WORD})
      (block $found
        (loop $nextSlot
          (local.set $token (i32.load offset=${at.SLOTS} (local.get $slot)))
          (if (i32.eqz (local.get $token)) (then
            (local.set $tokenCount (i32.add (local.get $tokenCount) (i32.const 1)))
            (local.set $token (local.get $tokenCount))
            (i32.store offset=${at.SLOTS} (local.get $slot) (local.get $token))
            (call $create (local.get $token) (local.get $word) (local.get $spelling))
            (br $found)))
          (br_if $found (call $equals (local.get $token) (local.get $word) (local.get $spelling)))
          (local.set $slot (i32.and
            (i32.add (local.get $slot) (i32.const 4))
            (i32.const ${4 * at.SLOTS_COUNT - 1})))
          (br $nextSlot)))
      (i32.store offset=${at.WORD_TOKEN} (local.get $word) (local.get $token))
      (local.set $spelling (i32.add (local.get $spelling) (i32.const ${at.SPELLING_BYTES})))
      ${NEXT_WORD})
    (local.get $tokenCount))`;

/** A token of revision 0, which is none. */
const CREATE = `
  (func $create (param $token i32) (param $word i32) (param $spelling i32)
    (local $line i32) (local $at i32) (local $length i32)
    (local.set $line (i32.mul (local.get $token) (i32.const ${at.TOKEN_BYTES})))
    (local.set $length (i32.load offset=${at.WORD_LENGTH} (local.get $word)))
    (i32.store offset=${at.TOKENS + at.TOKEN_HASH} (local.get $line) (i32.load offset=${at.WORD_HASH} (local.get $word)))
    (i32.store offset=${at.TOKENS + at.TOKEN_LENGTH} (local.get $line) (local.get $length))
    (i32.store offset=${at.TOKENS + at.TOKEN_REVISION} (local.get $line) (i32.const 0))
    (loop $nextLetters
      (i64.store offset=${at.TOKENS} (call $lettersAt (local.get $token) (local.get $at))
        (i64.load (i32.add (local.get $spelling) (local.get $at))))
      (br_if $nextLetters (i32.lt_u
        (local.tee $at (i32.add (local.get $at) (i32.const 8)))
        (local.get $length)))))`;

/** From \`TOKENS\` to the eight letters of the token from a position on. */
const LETTERS_AT = `
  (func $lettersAt (param $token i32) (param $at i32) (result i32)
    (select
      (i32.add
        (i32.add (i32.mul (local.get $token) (i32.const ${at.TOKEN_BYTES})) (local.get $at))
        (i32.const ${at.TOKEN_LETTERS}))
      (i32.add
        (i32.add (i32.mul (local.get $token) (i32.const ${at.TAIL_BYTES})) (local.get $at))
        (i32.const ${at.TAILS - at.TOKENS - at.NEAR_LETTERS}))
      (i32.lt_u (local.get $at) (i32.const ${at.NEAR_LETTERS}))))`;

const EQUALS = `
  (func $equals (param $token i32) (param $word i32) (param $spelling i32) (result i32)
    (local $line i32) (local $at i32) (local $length i32)
    (local.set $line (i32.mul (local.get $token) (i32.const ${at.TOKEN_BYTES})))
    (if (i64.ne (i64.load offset=${at.TOKENS + at.TOKEN_HASH} (local.get $line)) (i64.load offset=${at.WORD_HASH} (local.get $word)))
      (then (return (i32.const 0))))
    (local.set $length (i32.load offset=${at.WORD_LENGTH} (local.get $word)))
    (loop $nextLetters
      (if (i64.ne
          (i64.load offset=${at.TOKENS} (call $lettersAt (local.get $token) (local.get $at)))
          (i64.load (i32.add (local.get $spelling) (local.get $at))))
        (then (return (i32.const 0))))
      (br_if $nextLetters (i32.lt_u
        (local.tee $at (i32.add (local.get $at) (i32.const 8)))
        (local.get $length))))
    (i32.const 1))`;

/** Appends what searches know of the words; there is room for it. */
const COLLECT_TERMS = `
  (func (export "collectTerms") (param $wordCount i32)
    (local $word i32) (local $end i32) (local $line i32) (local $codes i32) (local $count i32) (local $starts i32)
    (local.set $end (i32.add (i32.const ${at.WORDS}) (i32.mul (local.get $wordCount) (i32.const ${at.WORD_BYTES}))))
    (local.set $word (i32.const ${at.WORDS}))
    (loop $nextWord
      (local.set $line (i32.mul (i32.load offset=${at.WORD_TOKEN} (local.get $word)) (i32.const ${at.TOKEN_BYTES})))
      (if (i32.ne
          (i32.load offset=${at.TOKENS + at.TOKEN_REVISION} (local.get $line))
          (i32.load offset=${at.REVISION} (i32.const 0)))
        (then (call $resolve (i32.load offset=${at.WORD_TOKEN} (local.get $word)))))
      (local.set $codes (i32.load offset=${at.CODE_COUNT} (i32.const 0)))
      (i32.store
        (i32.add (i32.load offset=${at.CODES_AT} (i32.const 0)) (i32.shl (local.get $codes) (i32.const 2)))
        (i32.load offset=${at.TOKENS + at.TOKEN_WORD} (local.get $line)))
      (i32.store
        (i32.add (i32.load offset=${at.PLACES_AT} (i32.const 0)) (i32.shl (local.get $codes) (i32.const 2)))
        (i32.load offset=${at.WORD_TOKEN} (local.get $word)))
      (if (i32.load offset=${at.TOKENS + at.TOKEN_PHRASE} (local.get $line)) (then
        (local.set $starts (i32.load offset=${at.START_COUNT} (i32.const 0)))
        (i64.store
          (i32.add (i32.load offset=${at.STARTS_AT} (i32.const 0)) (i32.shl (local.get $starts) (i32.const 2)))
          (i64.or
            (i64.extend_i32_u (local.get $codes))
            (i64.shl (i64.extend_i32_u (i32.load offset=${at.TOKENS + at.TOKEN_PHRASE} (local.get $line))) (i64.const 32))))
        (i32.store offset=${at.START_COUNT} (i32.const 0) (i32.add (local.get $starts) (i32.const ${at.START_INTEGERS})))))
      (local.set $count (i32.load offset=${at.TOKENS + at.TOKEN_TERM_COUNT} (local.get $line)))
      (i32.store offset=${at.CODE_COUNT} (i32.const 0) (i32.add (local.get $codes) (i32.const 1)))
      (if (i32.gt_u (local.get $count) (i32.const ${at.TERMS_MAX}))
        (then (call $collectMany (i32.load offset=${at.WORD_TOKEN} (local.get $word))))
        (else (block $collected
          (loop $nextTerm
            (br_if $collected (i32.eqz (local.get $count)))
            (call $addTerm (i32.load offset=${at.TOKENS + at.TOKEN_TERMS} (local.get $line)))
            (local.set $line (i32.add (local.get $line) (i32.const 4)))
            (local.set $count (i32.sub (local.get $count) (i32.const 1)))
            (br $nextTerm)))))
      ${NEXT_WORD}))`;

const ADD_TERM = `
  (func $addTerm (export "addTerm") (param $term i32)
    (local $seen i32) (local $count i32)
    (local.set $seen (i32.add
      (i32.load offset=${at.TERMS_SEEN_AT} (i32.const 0))
      (i32.shl (local.get $term) (i32.const 2))))
    (if (i32.eq (i32.load (local.get $seen)) (i32.load offset=${at.GENERATION} (i32.const 0))) (then (return)))
    (i32.store (local.get $seen) (i32.load offset=${at.GENERATION} (i32.const 0)))
    (local.set $count (i32.load offset=${at.TERM_COUNT} (i32.const 0)))
    (i32.store
      (i32.add (i32.load offset=${at.TERMS_AT} (i32.const 0)) (i32.shl (local.get $count) (i32.const 2)))
      (local.get $term))
    (i32.store offset=${at.TERM_COUNT} (i32.const 0) (i32.add (local.get $count) (i32.const 1))))`;

export const TEXT_SOURCE = `(module
  (import "vigie" "memory" (memory 1 ${PAGES_MAX} shared))
  (import "vigie" "special" (func $special (param i32 i32 i32 i32) (result i32)))
  (import "vigie" "resolve" (func $resolve (param i32)))
  (import "vigie" "collectMany" (func $collectMany (param i32)))
${[SPELL, END_WORD, HASH_WORDS, FIND, CREATE, LETTERS_AT, EQUALS, COLLECT_TERMS, ADD_TERM].join('\n')})
`;
