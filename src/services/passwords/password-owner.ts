/** Whose password it is to be. Names may be empty. */
export type Person = { email: string; firstName: string; lastName: string };

/**
 * Parts this short count only where no letter touches them: Tom may say `tomorrow`, but not `Tom1234`. Anything
 * shorter does not count at all, or Al and Jo could hardly find a password.
 */
const SHORT_PART_LENGTH = 3;

/** Letters that Unicode does not take apart into a base and a mark, though people do. */
const UNDIVIDED: Record<string, string> = {
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
 * A text as far as readers tell texts apart: without accents, invisible characters, case, and width. In upper case,
 * because lowering depends on what comes next (Σ) and keeps ß apart from ss.
 */
export const folded = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}]/gu, '')
    .toUpperCase()
    .replace(/[ŁØĐÐÆŒÞẞ]/g, (letter) => UNDIVIDED[letter] ?? letter);

/** Whether a password has its owner's names or address in it, forwards or backwards, however they are joined. */
export const namesOwner = (password: string, person: Person): boolean => {
  const text = worded(password);
  const directions = [text, [...text].reverse().join('')];
  return partsOf(person).some((part) => directions.some((direction) => holds(direction, part)));
};

const holds = (text: string, part: string): boolean => {
  if (lengthOf(part) > SHORT_PART_LENGTH) return text.includes(part);
  // A part has only letters, digits and spaces, which say nothing else in an expression.
  return new RegExp(`(?<!\\p{L})${part}(?!\\p{L})`, 'u').test(text);
};

/** Everything that would give the owner away: wholes, their words, and both written as one. */
const partsOf = ({ email, firstName, lastName }: Person): string[] => {
  const [local = '', domain = ''] = email.split('@');
  const names = [firstName, lastName, `${firstName} ${lastName}`, `${lastName} ${firstName}`];
  const wholes = [...names, local, domain, email].map(worded);
  const joined = wholes.map((whole) => whole.replaceAll(' ', ''));
  // The last label of the domain, such as com or shop, says nothing of a person.
  const telling = [firstName, lastName, local, domain.replace(/\.[^.]*$/, '')].map(worded);
  const words = telling.flatMap((text) => text.split(' '));
  return [...new Set([...wholes, ...joined, ...words])].filter((part) => lengthOf(part) >= SHORT_PART_LENGTH);
};

/** Words with one space between them, so that `Ada.Lovelace` and `ada_lovelace` are the same. */
const worded = (text: string): string =>
  folded(text)
    .replace(/[^\p{L}\p{Nd}]+/gu, ' ')
    .trim();

const lengthOf = (text: string): number => [...text].length;
