const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A string that is already HTML: the result of `html` or `trusted`. */
class Markup {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

export type Html = Markup;
type Value = Html | string | number | null | undefined | false | readonly Value[];

/**
 * Template tag for HTML, like `lit-html`'s. Escapes every value except `Html`; null, undefined and false render as
 * nothing. Escaping is only safe inside quotes, so an unquoted attribute value throws a TypeError.
 */
export const html = (literals: TemplateStringsArray, ...values: Value[]): Html => {
  let text = literals[0] ?? '';
  for (const [index, value] of values.entries()) {
    if (/=\s*$/.test(literals[index] ?? '')) throw new TypeError('Attribute values must be quoted.');
    text += render(value) + (literals[index + 1] ?? '');
  }
  return new Markup(text);
};

/** Marks a string as HTML without escaping it. Only for files of this project and for sanitized HTML. */
export const trusted = (text: string): Html => new Markup(text);

type Document = { title: string; head: Html; bodyAttributes?: Html | false; body: Html };

/** A complete document for pages and mails. */
export const htmlDocument = ({ title, head, bodyAttributes, body }: Document): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
${head}
</head>
<body${bodyAttributes}>
${body}
</body>
</html>
`;

const render = (value: Value): string => {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Markup) return value.toString();
  if (typeof value === 'object') return value.map(render).join('');
  return String(value).replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
};

/** Control and format characters: invisible, or (like U+202E) able to reorder the text around them. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
/** Allowed: scripts and emoji need joiners. */
const JOINERS = '\u200C\u200D';

/**
 * Replaces invisible characters by their JSON and JavaScript escapes (`\u202e`), so that a file named
 * `invoice\u202Efdp.exe` does not read as a PDF.
 */
export const escapeInvisible = (text: string): string =>
  text.replaceAll(INVISIBLE, (character) =>
    JOINERS.includes(character) ? character : character.split('').map(unicodeEscape).join(''),
  );

const unicodeEscape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
