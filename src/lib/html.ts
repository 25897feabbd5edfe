import type { IOptions } from 'sanitize-html';

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
 * Template tag for HTML, like `lit-html`'s. Escapes every value except `Html`; null, undefined and false render as nothing. Escaping is
 * only safe inside quotes, so an unquoted attribute value throws a TypeError.
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

/** Control and format characters: invisible, or (like U+202E) able to reorder the surrounding text. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
/** Allowed, because scripts and emoji need joiners. */
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

/** Limit of cached results. Sanitizing a long message takes 0.3 s, and anyone may request a missing page. */
const MAX_CACHED_MESSAGES = 20;

const BLOCKS = ['p', 'div', 'h2', 'h3', 'h4', 'ul', 'ol', 'li', 'blockquote', 'pre', 'hr', 'br'];
const INLINE = ['a', 'b', 'strong', 'i', 'em', 'u', 's', 'small', 'code', 'span'];

const OPTIONS: IOptions = {
  allowedTags: [...BLOCKS, ...INLINE],
  allowedAttributes: { a: ['href', 'rel'] },
  allowedSchemes: ['http', 'https', 'mailto'],
  allowProtocolRelative: false,
  // Drops elements that are nested deeper.
  nestingLimit: 20,
  transformTags: {
    // The page already has an h1.
    h1: 'h2',
    a: (tagName, { href }) => ({
      tagName,
      attribs: { ...(href !== undefined && { href }), rel: 'noopener noreferrer' },
    }),
  },
};

/** The elements of HTML, including the ones that are removed. */
const ELEMENTS =
  'a abbr acronym address applet area article aside audio b base bdi bdo big blink blockquote body br button canvas caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em embed fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li link main map mark marquee menu meta meter nav noframes noscript object ol optgroup option output p param picture pre progress q rp rt ruby s samp script search section select small source span strike strong style sub summary sup table tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr';
/**
 * A comment, a document type, or the tag of an element without attributes or with an attribute that has a value: `a<b and c>d` contains no
 * tag. A comment contains no begin of another, so that each of many begins is searched only up to the next one.
 */
const TAG = new RegExp(
  String.raw`<!--(?:(?!<!--)[^])*?-->|<!doctype[^<>]*>|</?(?:${ELEMENTS.replaceAll(' ', '|')})(?=\s*/?>|\s[^<>]*=)(?:\s+[\w:.-]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>${'`'}]+))?)*\s*/?>`,
  'gi',
);

/** Escapes each `<` that does not begin a tag, so that `Write to Ada <ada@acme.test>` is kept. */
const escapeOutsideTags = (message: string): string => {
  let [escaped, end] = ['', 0];
  for (const { 0: tag, index } of message.matchAll(TAG)) {
    escaped += message.slice(end, index).replaceAll('<', '&lt;') + tag;
    end = index + tag.length;
  }
  return escaped + message.slice(end).replaceAll('<', '&lt;');
};

/** Maps each message to its HTML. The oldest entry is evicted first. */
const cache = new Map<string, Html | null>();

/**
 * Sanitizes a message that a client admin wrote: keeps harmless markup and links. Returns null if nothing visible remains. Messages are
 * stored as written and sanitized when shown, so that stricter rules also apply to old messages.
 */
export const messageHtml = async (message: string): Promise<Html | null> => {
  const cached = cache.get(message);
  if (cached !== undefined) return cached;
  const rendered = await renderMessage(message);
  const [oldest] = cache.size >= MAX_CACHED_MESSAGES ? cache.keys() : [];
  if (oldest !== undefined) cache.delete(oldest);
  cache.set(message, rendered);
  return rendered;
};

const renderMessage = async (message: string): Promise<Html | null> => {
  if (message.trim() === '') return null;
  if (!/[<&]/.test(message)) return html`<p class="plain-text">${message.trim()}</p>`;
  // Imported on demand: it takes 80 ms and 18 MB, and most messages are plain text.
  const { default: sanitize } = await import('sanitize-html');
  const safe = sanitize(escapeOutsideTags(message), OPTIONS);
  if (safe.replaceAll(/<[^<>]*>|&nbsp;/g, '').trim() === '') return null;
  return /<[a-z]/.test(safe)
    ? html`<div class="message">${trusted(safe)}</div>`
    : html`<p class="plain-text">${trusted(safe)}</p>`;
};

const DATE_TIME = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'UTC',
});

/** `21 Nov 2026, 12:00 UTC`: pages have no script that could read the browser's time zone. */
export const formatDateTime = (date: Date): string => `${DATE_TIME.format(date)} UTC`;

/**
 * The page that people see instead of an app in maintenance.
 * @param until when it ends; null if that is open
 */
export const maintenanceNotice = async (label: string, message: string, until: Date | null) => ({
  title: `${label} is in maintenance`,
  body: html`${(await messageHtml(message)) ?? html`<p>Please try again later.</p>`}
${until && html`<p>Maintenance lasts until ${formatDateTime(until)}.</p>`}`,
});
