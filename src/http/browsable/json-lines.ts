import { type Html, html } from '../pages/html.ts';
import { type JsonToken, jsonTokens } from './json-tokens.ts';
import { visible } from './visible-text.ts';

/** What a page can show before it is slow to open, and nobody reads it any more. */
const MAX_LINES = 5_000;
const MAX_CHARACTERS = 256 * 1024;
/** Deeper ones are set in no further: 500 levels would push everything off the page. */
export const MAX_INDENT = 12;
/** What an answer says of its own things stands near its top; what is deeper, somebody has sent. */
const MAX_LINK_DEPTH = 4;

/** Where a value leads, or null. `keys` are those of the objects around it; arrays have none. */
export type LinkOf = (keys: readonly string[], value: unknown) => string | null;

/** JSON text as lines of highlighted HTML, as many as a page can show. */
export const jsonLines = (json: string, linkOf: LinkOf): { lines: Html[]; isWhole: boolean } => {
  const lines = createLines();
  const write = createWriter(lines, linkOf);
  let characters = 0;
  for (const token of jsonTokens(json)) {
    if (lines.count() >= MAX_LINES || characters > MAX_CHARACTERS) {
      lines.add(html` …`);
      return { lines: lines.finish(), isWhole: false };
    }
    characters += token.source.length;
    write(token);
  }
  return { lines: lines.finish(), isWhole: true };
};

const createLines = () => {
  const lines: Html[] = [];
  let parts: Html[] = [];
  let indent = 0;
  const end = (): void => {
    lines.push(html`<span class="line in${indent}">${'  '.repeat(indent)}${parts}\n</span>`);
    parts = [];
  };
  return {
    count: (): number => lines.length,
    add: (part: Html): void => {
      parts.push(part);
    },
    next: (depth: number): void => {
      end();
      indent = Math.min(depth, MAX_INDENT);
    },
    finish: (): Html[] => {
      end();
      return lines;
    },
  };
};

type Frame = { isObject: boolean; isEmpty: boolean; key: string | null };

const createWriter = (lines: ReturnType<typeof createLines>, linkOf: LinkOf) => {
  const frames: Frame[] = [];

  const open = (isObject: boolean): void => {
    begin();
    lines.add(html`${isObject ? '{' : '['}`);
    frames.push({ isObject, isEmpty: true, key: null });
  };
  const close = (source: string): void => {
    if (!frames.pop()?.isEmpty) lines.next(frames.length);
    lines.add(html`${source}`);
  };
  const comma = (): void => {
    const frame = frames.at(-1);
    if (frame) frame.key = null;
    lines.add(html`,`);
    lines.next(frames.length);
  };
  /** What is empty stays on one line; so the first thing inside begins the next. */
  const begin = (): void => {
    const frame = frames.at(-1);
    if (!frame?.isEmpty) return;
    frame.isEmpty = false;
    lines.next(frames.length);
  };
  const value = ({ kind, source }: JsonToken): void => {
    begin();
    const frame = frames.at(-1);
    if (frame?.isObject && frame.key === null) {
      frame.key = String(JSON.parse(source));
      lines.add(html`<span class="key">${visible(source)}</span>: `);
    } else lines.add(leaf(kind, source, targetOf(frames, source, linkOf)));
  };

  return (token: JsonToken): void => {
    const { kind, source } = token;
    if (kind !== 'mark') value(token);
    else if (source === '{' || source === '[') open(source === '{');
    else if (source === ',') comma();
    // The colon is written with its key.
    else if (source !== ':') close(source);
  };
};

const leaf = (kind: JsonToken['kind'], source: string, target: string | null): Html => {
  const name = kind === 'text' ? 'text' : /^[-\d]/.test(source) ? 'number' : 'word';
  const shown = html`<span class="${name}">${visible(source)}</span>`;
  return target === null ? shown : html`<a href="${target}">${shown}</a>`;
};

const targetOf = (frames: readonly Frame[], source: string, linkOf: LinkOf): string | null => {
  if (frames.length > MAX_LINK_DEPTH) return null;
  const keys = frames.flatMap(({ key }) => (key === null ? [] : [key]));
  return linkOf(keys, JSON.parse(source));
};
