import { escapeInvisible, type Html, html } from '../../lib/html.ts';

/** Larger documents are slow to render. */
const MAX_LINES = 5_000;
const MAX_CHARACTERS = 256 * 1024;
/** Deeper levels are not indented further: 500 of them would push everything off the page. */
export const MAX_INDENT = 12;
/** Deeper values are free-form data, which is never linked. */
const MAX_LINK_DEPTH = 4;

/** Returns the link target of a value or null. `keys` are the object keys that lead to it; arrays add none. */
export type LinkResolver = (keys: readonly string[], value: unknown) => string | null;

/** An open object or array. `key` is the current key of an object. */
type Frame = { isObject: boolean; isEmpty: boolean; key: string | null };

/**
 * After white space: punctuation, a string, or a literal (number, `true`, `false`, `null`). The loop of the string pattern
 * runs once per escape sequence, so that long strings do not backtrack.
 */
const TOKEN = /\s*([{}[\],:]|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s{}[\],:"]+)/gy;

/**
 * Renders JSON as lines of highlighted HTML. Works on tokens: unlike JSON.parse, this keeps all digits and duplicate keys,
 * and is not recursive. `isComplete` is false if the JSON was too large and was cut off.
 */
export const highlightJson = (json: string, resolveLink: LinkResolver) => {
  const lines: Html[] = [];
  const frames: Frame[] = [];
  let parts: Html[] = [];
  let indent = 0;
  const endLine = (): void => {
    lines.push(html`<span class="line in${indent}">${'  '.repeat(indent)}${parts}\n</span>`);
    parts = [];
    indent = Math.min(frames.length, MAX_INDENT);
  };
  /** Breaks the line before the first element only, so that empty objects and arrays stay on one line. */
  const startElement = (frame: Frame | undefined): void => {
    if (!frame?.isEmpty) return;
    frame.isEmpty = false;
    endLine();
  };
  const writeToken = (token: string, frame: Frame | undefined): void => {
    if (token === '}' || token === ']') {
      if (!frames.pop()?.isEmpty) endLine();
      parts.push(html`${token}`);
    } else if (token === ',') {
      if (frame) frame.key = null;
      parts.push(html`,`);
      endLine();
    } else if (token !== ':') {
      startElement(frame);
      if (token === '{' || token === '[') {
        parts.push(html`${token}`);
        frames.push({ isObject: token === '{', isEmpty: true, key: null });
      } else if (frame?.isObject && frame.key === null) {
        frame.key = String(JSON.parse(token));
        // Also writes the colon.
        parts.push(html`<span class="key">${escapeInvisible(token)}</span>: `);
      } else parts.push(renderValue(token, linkTarget(frames, token, resolveLink)));
    }
  };

  let isComplete = true;
  for (const { index, 1: token = '' } of json.matchAll(TOKEN)) {
    isComplete = lines.length < MAX_LINES && index <= MAX_CHARACTERS;
    if (!isComplete) {
      parts.push(html` …`);
      break;
    }
    writeToken(token, frames.at(-1));
  }
  endLine();
  return { lines, isComplete };
};

const renderValue = (token: string, target: string | null): Html => {
  const className = token.startsWith('"') ? 'string' : /^[-\d]/.test(token) ? 'number' : 'constant';
  const value = html`<span class="${className}">${escapeInvisible(token)}</span>`;
  return target === null ? value : html`<a href="${target}">${value}</a>`;
};

const linkTarget = (frames: readonly Frame[], source: string, resolveLink: LinkResolver): string | null => {
  if (frames.length > MAX_LINK_DEPTH) return null;
  const keys = frames.flatMap(({ key }) => (key === null ? [] : [key]));
  return resolveLink(keys, JSON.parse(source));
};
