/** How a person is named in texts. */
export type Named = { email: string; handle: string; firstName: string; lastName: string };

/**
 * Neither `xada@acme.test` nor `ada@acme.test.example` is `ada@acme.test`. Texts may be JSON or URLs, whose escapes end with
 * letters and digits.
 */
const START = String.raw`(?:(?<![[:alnum:]_.+-])|(?<=%[[:xdigit:]]{2})|(?<=\\[bfnrt])|(?<=\\u[[:xdigit:]]{4}))`;
const END = String.raw`(?![[:alnum:]_-]|\.[[:alnum:]])`;
const SPACE = String.raw`(?:[[:space:]+]|%20|\\[nrt])+`;
const COMMA_SPACE = `(?:,|%2C)${SPACE}`;

/**
 * A regular expression of PostgreSQL that finds the address, the handle, and first and last name together, also as JSON
 * or within a URL. A first or a last name alone is not searched for: it is a word, and the name of others.
 */
export const erasurePattern = ({ email, handle, firstName, lastName }: Named): string => {
  const [first, last] = [firstName, lastName].map((name) => name.trim());
  const alternatives = [formsOf(email), formsOf(handle)];
  if (first && last)
    alternatives.push(
      `${formsOf(first)}${SPACE}${formsOf(last)}`,
      `${formsOf(last)}(?:${SPACE}|${COMMA_SPACE})${formsOf(first)}`,
    );
  else if (/\s/.test(first || last || '')) alternatives.push(formsOf(first || last || ''));
  return `${START}(?:${alternatives.join('|')})${END}`;
};

/**
 * Patterns of LIKE in lower case. Every text that the expression matches is like one of them, which is found out 20 times
 * faster.
 */
export const erasureNeedles = ({ email, handle, firstName, lastName }: Named): string[] => {
  const texts = [email, handle, lastName.trim() || firstName.trim()].filter(Boolean).flatMap(variantsOf);
  // With the locale C, PostgreSQL lowers ASCII only.
  const lowered = texts.flatMap((text) => [
    text.toLowerCase(),
    text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase()),
  ]);
  return [...new Set(lowered)].map((text) => `%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`);
};

/** A text as it is, as JSON, and percent-encoded. */
const variantsOf = (text: string): string[] => [
  ...new Set([text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text.toWellFormed())]),
];

const formsOf = (text: string): string => `(?:${variantsOf(text).map(escaped).join('|')})`;

/** A backslash makes any other character ordinary; before a letter or digit it would be an escape. */
const escaped = (text: string): string => text.replaceAll(/[^\p{L}\p{N}\p{M}_\s]/gu, String.raw`\$&`);
