import { escapeInvisible, type Html, html } from '../../lib/html.ts';

/** Larger documents are slow to render. */
const MAX_LINES = 5_000;
const MAX_CHARACTERS = 256 * 1024;
/** Deeper levels are not indented further: 500 of them would push everything off the page. */
export const MAX_INDENT = 12;

/**
 * Renders a JSON value as lines of highlighted HTML, indented as by `JSON.stringify`. `isComplete` is false if it was too large
 * and was cut off.
 * @param hasUrls whether its texts are URLs of this service, which become links
 */
export const highlightJson = (content: unknown, hasUrls = false) => {
  const lines: Html[] = [];
  let charactersLeft = MAX_CHARACTERS;
  const isFull = () => lines.length >= MAX_LINES || charactersLeft < 0;

  const writeLine = (depth: number, text: Html): void => {
    const indent = Math.min(depth, MAX_INDENT);
    charactersLeft -= text.toString().length;
    lines.push(html`<span class="line in${indent}">${'  '.repeat(indent)}${text}\n</span>`);
  };

  /** @param start the key of the value, if it has one, and `end` the comma after it */
  const write = (value: unknown, depth: number, start?: Html, end = ''): void => {
    const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
    if (entries.length === 0) {
      writeLine(depth, html`${start}${renderValue(value, hasUrls)}${end}`);
      return;
    }
    const isArray = Array.isArray(value);
    writeLine(depth, html`${start}${isArray ? '[' : '{'}`);
    for (const [index, [key, child]] of entries.entries()) {
      if (isFull()) return;
      const comma = index < entries.length - 1 ? ',' : '';
      write(child, depth + 1, isArray ? undefined : renderKey(key), comma);
    }
    if (!isFull()) writeLine(depth, html`${isArray ? ']' : '}'}${end}`);
  };

  write(content, 0);
  const isComplete = !isFull();
  if (!isComplete) writeLine(0, html`…`);
  return { lines, isComplete };
};

const renderKey = (key: string): Html =>
  html`<span class="key">${escapeInvisible(JSON.stringify(key))}</span>: `;

const renderValue = (value: unknown, isUrl: boolean): Html => {
  const json = JSON.stringify(value);
  if (typeof value === 'object' && value !== null) return html`${json}`;
  const className = typeof value === 'string' || typeof value === 'number' ? typeof value : 'constant';
  const text = html`<span class="${className}">${escapeInvisible(json)}</span>`;
  const path = isUrl ? URL.parse(String(value))?.pathname : undefined;
  return path === undefined ? text : html`<a href="${path}">${text}</a>`;
};
