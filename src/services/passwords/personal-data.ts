/** The owner of a password. Names may be empty. */
export type Person = { email: string; firstName: string; lastName: string };

/**
 * Parts of this length match only as separate words: Tom may use `tomorrow`, but not `Tom1234`. Shorter parts are
 * ignored, or Al and Jo could hardly find a password.
 */
const SHORT_PART_LENGTH = 3;

/** Letters that Unicode does not decompose into a base letter and a mark. */
const UNDECOMPOSED: Record<string, string> = {
  Ł: 'L',
  Ø: 'O',
  Đ: 'D',
  Ð: 'D',
  Æ: 'AE',
  Œ: 'OE',
  Þ: 'TH',
  ẞ: 'SS',
};

/**
 * Removes accents, invisible characters, case and width, so that texts that look alike compare equal. Upper case,
 * because lower case depends on the next letter (Σ) and keeps ß distinct from ss.
 */
export const foldText = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}]/gu, '')
    .toUpperCase()
    .replace(/[ŁØĐÐÆŒÞẞ]/g, (letter) => UNDECOMPOSED[letter] ?? letter);

/** Whether a password contains its owner's name or address, forwards or reversed, with any separators. */
export const containsPersonalData = (password: string, person: Person): boolean => {
  const text = normalizeWords(password);
  const directions = [text, [...text].reverse().join('')];
  return personalParts(person).some((part) => directions.some((direction) => containsPart(direction, part)));
};

const containsPart = (text: string, part: string): boolean => {
  if (countCodePoints(part) > SHORT_PART_LENGTH) return text.includes(part);
  // A part has only letters, digits and spaces, so it needs no escaping.
  return new RegExp(`(?<!\\p{L})${part}(?!\\p{L})`, 'u').test(text);
};

/** Names and address as given, without spaces, and word by word. */
const personalParts = ({ email, firstName, lastName }: Person): string[] => {
  const [local = '', domain = ''] = email.split('@');
  const names = [firstName, lastName, `${firstName} ${lastName}`, `${lastName} ${firstName}`];
  const phrases = [...names, local, domain, email].map(normalizeWords);
  const joined = phrases.map((phrase) => phrase.replaceAll(' ', ''));
  // The top-level domain, such as com or shop, is not personal.
  const identifying = [firstName, lastName, local, domain.replace(/\.[^.]*$/, '')].map(normalizeWords);
  const words = identifying.flatMap((text) => text.split(' '));
  const parts = new Set([...phrases, ...joined, ...words]);
  return [...parts].filter((part) => countCodePoints(part) >= SHORT_PART_LENGTH);
};

/** Words separated by one space, so that `Ada.Lovelace` and `ada_lovelace` are equal. */
const normalizeWords = (text: string): string =>
  foldText(text)
    .replace(/[^\p{L}\p{Nd}]+/gu, ' ')
    .trim();

/** Unlike `length`, counts an emoji, or a letter of a rare script, as one character. */
export const countCodePoints = (text: string): number => [...text].length;
