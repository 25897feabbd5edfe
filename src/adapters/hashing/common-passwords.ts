import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Shorter words turn up between the digits of many a random password. */
const MIN_DECORATED_LENGTH = 6;

/** A sign and a date, -20260131. More around a word than that is no longer a habit, and hard to guess. */
const MAX_DECORATION_LENGTH = 9;

/** What people type for a letter to please a rule that wants digits or signs. A 1 or ! may be an i or an l. */
const LEET: Record<string, string> = { '@': 'a', '4': 'a', '3': 'e', '0': 'o', $: 's', '5': 's', '7': 't' };

export type CommonPasswords = ReturnType<typeof createCommonPasswords>;

/**
 * The 49,233 passwords that zxcvbn knows as common, and what people easily make of them. Read at the first look:
 * that takes about 45 ms, like one password hash, and 19 MB of resident memory (4.4 MB of it heap that stays), for
 * which no start need wait, and which an instance that never sees a new password never spends. By `require`, which
 * is lazy and still answers at once: an `import()` would block as long, and make a promise of every check.
 */
export const createCommonPasswords = () => {
  let loaded: ReadonlySet<string> | undefined;
  const words = (): ReadonlySet<string> => {
    loaded ??= loadWords();
    return loaded;
  };

  return {
    get size(): number {
      return words().size;
    },

    /** In any case, with digits and signs around it, and with `@` or `4` for `a` and the like. */
    has: (password: string): boolean => {
      const text = password.toLowerCase();
      return words().has(text) || [text, shortenRuns(text)].some((form) => isDecorated(words(), form));
    },
  };
};

const loadWords = (): ReadonlySet<string> => {
  const common: typeof import('@zxcvbn-ts/language-common') = require('@zxcvbn-ts/language-common');
  return new Set(common.dictionary['passwords-common']);
};

/** `password!!!!!!!!!!!!` is no better than `password!!`. */
const shortenRuns = (text: string): string => text.replace(/([^\p{L}])\1{2,}/gu, '$1$1');

/** Whether a word is left when some of what stands before its first and after its last letter is taken off. */
const isDecorated = (words: ReadonlySet<string>, text: string): boolean => {
  const readings = [text, unleet(text, 'i'), unleet(text, 'l')];
  const { before, after } = decorationOf(text);
  for (let start = 0; start <= before; start++) {
    for (let cut = 0; cut <= after && start + cut <= MAX_DECORATION_LENGTH; cut++) {
      const end = text.length - cut;
      if (end - start < MIN_DECORATED_LENGTH) break;
      if (readings.some((reading) => words.has(reading.slice(start, end)))) return true;
    }
  }
  return false;
};

const unleet = (text: string, one: string): string =>
  text.replace(/[@4301!$57]/g, (sign) => LEET[sign] ?? one);

/**
 * How many characters at either end may go. Of a password without letters only signs: digits are all it has. Signs
 * alone have nothing to lose, which is -1.
 */
const decorationOf = (text: string): { before: number; after: number } => {
  const core = /\p{L}/u.test(text) ? /\p{L}/u : /\p{Nd}/u;
  const isCore = (character: string): boolean => core.test(character);
  const characters = text.split('');
  const before = characters.findIndex(isCore);
  const after = characters.length - 1 - characters.findLastIndex(isCore);
  return {
    before: Math.min(before, MAX_DECORATION_LENGTH),
    after: Math.min(after, MAX_DECORATION_LENGTH),
  };
};
