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

/** Renders JSON as lines of highlighted HTML. `isComplete` is false if it was too large and was cut off. */
export const highlightJson = (
  json: string,
  resolveLink: LinkResolver,
): { lines: Html[]; isComplete: boolean } => {
  const lines = createLineBuffer();
  const writeToken = createTokenWriter(lines, resolveLink);
  let characters = 0;
  for (const token of tokenizeJson(json)) {
    if (lines.count() >= MAX_LINES || characters > MAX_CHARACTERS) {
      lines.append(html` …`);
      return { lines: lines.finish(), isComplete: false };
    }
    characters += token.source.length;
    writeToken(token);
  }
  return { lines: lines.finish(), isComplete: true };
};

type JsonToken = { kind: 'punctuation' | 'string' | 'literal'; source: string };

/**
 * After white space: punctuation, a string, or a literal (number, `true`, `false`, `null`). The loop of the string pattern
 * runs once per escape sequence, so that long strings do not backtrack.
 */
const TOKEN = /\s*(?:([{}[\],:])|("[^"\\]*(?:\\.[^"\\]*)*")|([^\s{}[\],:"]+))/gy;

/** Splits JSON into tokens. Unlike JSON.parse, this keeps all digits and duplicate keys, and is not recursive. */
function* tokenizeJson(json: string): Generator<JsonToken> {
  for (const [, punctuation, string, literal] of json.matchAll(TOKEN)) {
    if (punctuation !== undefined) yield { kind: 'punctuation', source: punctuation };
    else if (string !== undefined) yield { kind: 'string', source: string };
    else if (literal !== undefined) yield { kind: 'literal', source: literal };
  }
}

const createLineBuffer = () => {
  const lines: Html[] = [];
  let parts: Html[] = [];
  let indent = 0;
  const endLine = (): void => {
    lines.push(html`<span class="line in${indent}">${'  '.repeat(indent)}${parts}\n</span>`);
    parts = [];
  };
  return {
    count: (): number => lines.length,
    append: (part: Html): void => {
      parts.push(part);
    },
    startLine: (depth: number): void => {
      endLine();
      indent = Math.min(depth, MAX_INDENT);
    },
    finish: (): Html[] => {
      endLine();
      return lines;
    },
  };
};

/** An open object or array. `key` is the current key of an object. */
type Frame = { isObject: boolean; isEmpty: boolean; key: string | null };

const createTokenWriter = (lines: ReturnType<typeof createLineBuffer>, resolveLink: LinkResolver) => {
  const frames: Frame[] = [];

  /** Breaks the line before the first element only, so that empty objects and arrays stay on one line. */
  const startElement = (): void => {
    const frame = frames.at(-1);
    if (!frame?.isEmpty) return;
    frame.isEmpty = false;
    lines.startLine(frames.length);
  };
  const open = (source: string): void => {
    startElement();
    lines.append(html`${source}`);
    frames.push({ isObject: source === '{', isEmpty: true, key: null });
  };
  const close = (source: string): void => {
    if (!frames.pop()?.isEmpty) lines.startLine(frames.length);
    lines.append(html`${source}`);
  };
  const writeComma = (): void => {
    const frame = frames.at(-1);
    if (frame) frame.key = null;
    lines.append(html`,`);
    lines.startLine(frames.length);
  };
  const writeValue = (token: JsonToken): void => {
    startElement();
    const frame = frames.at(-1);
    if (frame?.isObject && frame.key === null) {
      frame.key = String(JSON.parse(token.source));
      lines.append(html`<span class="key">${escapeInvisible(token.source)}</span>: `);
    } else lines.append(renderValue(token, linkTarget(frames, token.source, resolveLink)));
  };

  return (token: JsonToken): void => {
    const { kind, source } = token;
    if (kind !== 'punctuation') writeValue(token);
    else if (source === '{' || source === '[') open(source);
    else if (source === ',') writeComma();
    // A colon is written together with its key.
    else if (source !== ':') close(source);
  };
};

const renderValue = ({ kind, source }: JsonToken, target: string | null): Html => {
  const className = kind === 'string' ? 'string' : /^[-\d]/.test(source) ? 'number' : 'constant';
  const value = html`<span class="${className}">${escapeInvisible(source)}</span>`;
  return target === null ? value : html`<a href="${target}">${value}</a>`;
};

const linkTarget = (frames: readonly Frame[], source: string, resolveLink: LinkResolver): string | null => {
  if (frames.length > MAX_LINK_DEPTH) return null;
  const keys = frames.flatMap(({ key }) => (key === null ? [] : [key]));
  return resolveLink(keys, JSON.parse(source));
};
