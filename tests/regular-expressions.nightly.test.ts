import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';

/** After these tokens, a slash begins a regular expression and not a division. */
const BEFORE_REGEX = /(?:^|[=(,:;[!&|?{}+>]|\b(?:return|case|of|in))$/;

const COMMENT_OR_SPACE = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|\s+/y;
const STRING = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/y;
const REGEX = /\/((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)\/([dgimsuvy]*)/y;
const WORD = /[\w$]+/y;

/** The regular expression literals of a TypeScript source. */
const regexLiterals = (source: string): RegExp[] => {
  const found: RegExp[] = [];
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const matched = pattern.exec(source);
    if (matched) at = pattern.lastIndex;
    return matched;
  };

  const scanTemplate = (): void => {
    while (at < source.length && source[at] !== '`') {
      if (source[at] === '\\') at += 2;
      else if (source.startsWith('${', at)) {
        at += 2;
        scanCode();
      } else at += 1;
    }
    at += 1;
  };

  /** Scans up to the closing brace, or to the end. */
  const scanCode = (): void => {
    let before = '';
    let depth = 0;
    while (at < source.length) {
      if (match(COMMENT_OR_SPACE)) continue;
      if (match(STRING)) before = "'";
      else if (source[at] === '`') {
        at += 1;
        scanTemplate();
        before = '`';
      } else if (source[at] === '/' && BEFORE_REGEX.test(before)) {
        const [, pattern = '', flags = ''] = match(REGEX) ?? [];
        if (pattern === '') throw new Error(`No regular expression: ${source.slice(at, at + 60)}`);
        found.push(new RegExp(pattern, flags));
        before = '/';
      } else {
        const [word] = match(WORD) ?? [];
        const sign = word ?? source[at] ?? '';
        if (word === undefined) at += 1;
        if (sign === '{') depth += 1;
        if (sign === '}') depth -= 1;
        if (depth < 0) return;
        before = sign;
      }
    }
  };

  scanCode();
  return found;
};

const PROJECT = join(import.meta.dirname, '..');
/**
 * All texts of this length take a linear expression a few minutes together. One of them takes a quadratic expression longer than the runner
 * lets a file run; the runner then shows what was printed last.
 */
const TEXT_LENGTH = 2 * 1024 * 1024;

/** Quadratic expressions whose text cannot be long, and why. */
const BOUNDED: Record<string, string> = {
  [String(/\d+$/)]: 'of a handle, which is made of an address of at most 254 characters',
  [String(/\/+$/)]: 'of a setting of the operator, and of an option of the client',
};

/** One of each class of characters that expressions distinguish. */
const COMMON = [...'aZ0 \t\n\r-_.,:;/%@"\'<&=[(\\', '\u00e9', '\u2028', '\u{1f600}', '\ud800', '\0'];
/** The end of a text decides whether an expression must try again from each place. */
const ENDS = ['', '!\n\0a@'];

type Work = (text: string) => unknown;

/** Texts that repeat the literal characters of the expression. */
const repeatedParts = ({ source }: RegExp): string[] => {
  const signs = [...new Set(source.replaceAll(/\\[a-zA-Z]/g, ''))].filter(
    (sign) => !'\\()?*+{}|^$'.includes(sign),
  );
  const words = source.match(/[a-zA-Z]{2,}/g) ?? [];
  const pairs = signs.slice(0, 6).flatMap((sign) => [`${sign}a`, `${sign} `, `${sign}\n`]);
  return [...new Set([...COMMON, ...signs, ...words, ...words.map((word) => `${word}\n`), ...pairs])];
};

const tryTexts = (name: string, work: Work, parts: readonly string[]): void => {
  for (const part of parts)
    for (const end of ENDS) {
      process.stdout.write(`${name} on ${JSON.stringify(part)} and ${JSON.stringify(end)}\n`);
      work(part.repeat(TEXT_LENGTH / part.length) + end);
    }
};

const searchAll = (expression: RegExp): Work => {
  const all = new RegExp(expression.source, `${expression.flags.replace('g', '')}g`);
  return (text) => text.replace(all, '');
};

const expressions = suite('regular expressions');

expressions('take time in proportion to the text', async () => {
  const found = new Map<string, RegExp>();
  for await (const file of glob('{src,routers,entities}/**/*.{ts,js}', { cwd: PROJECT })) {
    for (const literal of regexLiterals(await readFile(join(PROJECT, file), 'utf8')))
      found.set(String(literal), literal);
  }
  assert.ok(found.size > 100, `${found.size} found`);

  for (const known of Object.keys(BOUNDED)) assert.ok(found.delete(known), `${known} is no longer there`);
  for (const expression of found.values())
    tryTexts(String(expression), searchAll(expression), repeatedParts(expression));
});

/** Expressions that are built with `new RegExp` or come from zod. */
const COMPOSED: Record<string, Work> = {
  'an email address': (text) => z.regexes.html5Email.test(text),
  'an instant': (text) => z.regexes.datetime({ offset: true }).test(text),
};
for (const [name, work] of Object.entries(COMPOSED))
  expressions(`take time in proportion to the text in ${name}`, () => {
    tryTexts(name, work, COMMON);
  });

expressions.run();
