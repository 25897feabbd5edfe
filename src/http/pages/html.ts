const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text that is HTML already: made by `html`, or vouched for by `trusted`. */
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
 * HTML from a template. Every value is escaped unless it is HTML itself; null, undefined and false are nothing.
 * Escaping keeps a value inside quotes, so an attribute without them is refused.
 */
export const html = (literals: TemplateStringsArray, ...values: Value[]): Html => {
  let text = literals[0] ?? '';
  for (const [index, value] of values.entries()) {
    if (/=\s*$/.test(literals[index] ?? '')) throw new TypeError('An attribute value must be in quotes.');
    text += rendered(value) + (literals[index + 1] ?? '');
  }
  return new Markup(text);
};

/** HTML or CSS of our own files, or sanitized HTML. Never for anything else that somebody has typed. */
export const trusted = (text: string): Html => new Markup(text);

const rendered = (value: Value): string => {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Markup) return value.toString();
  if (typeof value === 'object') return value.map(rendered).join('');
  return String(value).replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
};
