import { escapeInvisible, type Html, html } from '../../lib/html.ts';

/** Larger documents are slow to render. */
const MAX_LINES = 5_000;
const MAX_CHARACTERS = 256 * 1024;
/** Deeper levels are not indented further: 500 levels would push everything off the page. */
export const MAX_INDENT = 12;
/** Deeper values are free-form data, which is never linked. */
const MAX_LINK_DEPTH = 4;

/** Returns the link target of a value or null. `keys` are the object keys that lead to it; arrays add none. */
export type LinkResolver = (keys: readonly string[], value: unknown) => string | null;

/**
 * Renders a JSON value as lines of highlighted HTML, indented as by `JSON.stringify`. `isComplete` is false if it was too large
 * and was cut off.
 */
export const highlightJson = (content: unknown, resolveLink: LinkResolver) => {
  const lines: Html[] = [];
  let charactersLeft = MAX_CHARACTERS;
  const isFull = () => lines.length >= MAX_LINES || charactersLeft < 0;

  const writeLine = (depth: number, text: Html): void => {
    const indent = Math.min(depth, MAX_INDENT);
    charactersLeft -= text.toString().length;
    lines.push(html`<span class="line in${indent}">${'  '.repeat(indent)}${text}\n</span>`);
  };

  /**
   * @param start the key of the value, if any
   * @param end the comma after it, if any
   */
  const write = (value: unknown, keys: readonly string[], depth: number, start?: Html, end = ''): void => {
    const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
    if (entries.length === 0) {
      const link = depth > MAX_LINK_DEPTH ? null : resolveLink(keys, value);
      writeLine(depth, html`${start}${renderValue(value, link)}${end}`);
      return;
    }
    const isArray = Array.isArray(value);
    writeLine(depth, html`${start}${isArray ? '[' : '{'}`);
    for (const [index, [key, child]] of entries.entries()) {
      if (isFull()) return;
      const comma = index < entries.length - 1 ? ',' : '';
      if (isArray) write(child, keys, depth + 1, undefined, comma);
      else write(child, [...keys, key], depth + 1, renderKey(key), comma);
    }
    if (!isFull()) writeLine(depth, html`${isArray ? ']' : '}'}${end}`);
  };

  write(content, [], 0);
  const isComplete = !isFull();
  if (!isComplete) writeLine(0, html`…`);
  return { lines, isComplete };
};

const renderKey = (key: string): Html =>
  html`<span class="key">${escapeInvisible(JSON.stringify(key))}</span>: `;

const renderValue = (value: unknown, target: string | null): Html => {
  const json = JSON.stringify(value);
  if (typeof value === 'object' && value !== null) return html`${json}`;
  const type = typeof value === 'bigint' ? 'number' : typeof value;
  const className = type === 'string' || type === 'number' ? type : 'constant';
  const text = html`<span class="${className}">${escapeInvisible(json)}</span>`;
  return target === null ? text : html`<a href="${target}">${text}</a>`;
};
