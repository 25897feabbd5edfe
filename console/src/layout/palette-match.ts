/** How well a text answers a search, and which parts of it to highlight. */

const STOP_WORDS: ReadonlySet<string> = new Set(['a', 'an', 'the', 'of', 'in', 'for', 'to']);

/** The words of a search. Words such as “of” do not count, unless there are no others. */
export const wordsOf = (search: string): string[] => {
  // Without words of signs alone, such as the “&” of “People & roles”.
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word));
  const telling = words.filter((word) => !STOP_WORDS.has(word));
  return telling.length > 0 ? telling : words;
};

/** With and without signs in between: `sign-in` is found by `sign`, `in` and `sign-in`. */
const tokensOf = (text: string): string[] => {
  const lower = text.toLowerCase();
  return [...lower.split(/\s+/), ...lower.split(/[^\p{L}\p{N}]+/u)].filter(Boolean);
};

/** Whether a word of the text begins with this word. */
export const hasPrefix = (text: string, word: string): boolean =>
  tokensOf(text).some((token) => token.startsWith(word));

export const hasWord = (text: string, word: string): boolean => tokensOf(text).includes(word);

/** The domain of an address is not part of a name, unless the search is for an address. */
const withoutDomains = (text: string, word: string): string =>
  word.includes('@') ? text : text.replace(/@\S*/g, '');

/** A whole word of the label counts most, then the start of one, that of a synonym, and a part inside of a word or a domain. */
const scoreOfWord = (word: string, label: string, synonyms: string): number => {
  const name = withoutDomains(label, word);
  if (hasWord(name, word)) return 4;
  if (hasPrefix(name, word)) return 3;
  if (hasPrefix(withoutDomains(synonyms, word), word)) return 2;
  return label.toLowerCase().includes(word) || hasPrefix(synonyms, word) ? 1 : 0;
};

const EXACT = 5;

/** 0 if a word of the search is neither in the label nor at the start of a synonym; higher is better. The exact label is best. */
export const scoreOf = (words: readonly string[], label: string, synonyms = ''): number => {
  if (words.length > 0 && wordsOf(label).join(' ') === words.join(' ')) return EXACT;
  const scores = words.map((word) => scoreOfWord(word, label, synonyms));
  return scores.includes(0) ? 0 : scores.reduce((sum, score) => sum + score, 0) / Math.max(scores.length, 1);
};

type Item = { label: string; words?: string; description?: string };

/** The score of an item by its label, its other words and its description. */
export const scoreOfItem = (
  words: readonly string[],
  { label, words: others = '', description = '' }: Item,
) => scoreOf(words, label, `${others} ${description}`);

/** Best first. */
export const ranked = <T extends Item>(items: readonly T[], words: readonly string[]) =>
  items
    .map((action) => ({ action, score: scoreOfItem(words, action) }))
    .toSorted((a, b) => b.score - a.score);

type Part = { text: string; isMatch: boolean };

/** The text in parts, with the beginnings of words that match, or else the first occurrence of each word. */
export const partsOf = (text: string, words: readonly string[]): Part[] => {
  const lower = text.toLowerCase();
  const marked = new Set<number>();
  for (const word of words) {
    const starts = [...lower.matchAll(/[\p{L}\p{N}]+/gu)].map(({ index }) => index);
    const at = starts.find((start) => lower.startsWith(word, start)) ?? lower.indexOf(word);
    if (at >= 0) for (let n = 0; n < word.length; n += 1) marked.add(at + n);
  }
  const parts: Part[] = [];
  for (const [index, character] of text.split('').entries()) {
    const isMatch = marked.has(index);
    const last = parts.at(-1);
    if (last?.isMatch === isMatch) last.text += character;
    else parts.push({ text: character, isMatch });
  }
  return parts;
};
