/** Random passwords often contain shorter words. */
const MIN_DECORATED_LENGTH = 6;

/** A symbol and a date, `-20260131`. Longer additions are hard to guess. */
const MAX_DECORATION_LENGTH = 9;

/** Characters that people substitute for letters to satisfy a password rule. A 1 or ! may be an i or an l. */
const LEET: Record<string, string> = { '@': 'a', '4': 'a', '3': 'e', '0': 'o', $: 's', '5': 's', '7': 't' };

export type CommonPasswords = Awaited<ReturnType<typeof readCommonPasswords>>;

let loaded: ReturnType<typeof readCommonPasswords> | undefined;

/**
 * The 49,233 common passwords of zxcvbn, and simple variations. Loaded at the first call, which takes 45 ms and 19 MB: most
 * starts never need them.
 */
export const loadCommonPasswords = (): Promise<CommonPasswords> => {
  loaded ??= readCommonPasswords();
  return loaded;
};

const readCommonPasswords = async () => {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  const words: ReadonlySet<string> = new Set(dictionary['passwords-common']);
  return {
    size: words.size,

    /** Ignores case, digits and symbols around the word, and substitutions such as `@` or `4` for `a`. */
    has: (password: string): boolean => {
      const text = password.toLowerCase();
      return words.has(text) || [text, shortenRuns(text)].some((form) => isDecorated(words, form));
    },
  };
};

/** `password!!!!!!!!!!!!` is no better than `password!!`. */
const shortenRuns = (text: string): string => text.replace(/([^\p{L}])\1{2,}/gu, '$1$1');

/** Whether removing some characters before the first and after the last letter leaves a common password. */
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
 * How many characters may be removed at either end. In a password without letters, only symbols. -1 if it has only symbols.
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
