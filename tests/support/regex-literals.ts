/** After these tokens, a slash begins a regular expression and not a division. */
const BEFORE_REGEX = /(?:^|[=(,:;[!&|?{}+>]|\b(?:return|case|of|in))$/;

const COMMENT_OR_SPACE = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|\s+/y;
const STRING = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/y;
const REGEX = /\/((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)\/([dgimsuvy]*)/y;
const WORD = /[\w$]+/y;

/** The regular expression literals of a TypeScript source. */
export const regexLiterals = (source: string): RegExp[] => {
  const found: RegExp[] = [];
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const matched = pattern.exec(source);
    if (matched) at = pattern.lastIndex;
    return matched;
  };

  const scanTemplate = (): void => {
    while (at < source.length && source[at] !== '`') {
      if (source[at] === '\\') at += 2;
      else if (source.startsWith('${', at)) {
        at += 2;
        scanCode();
      } else at += 1;
    }
    at += 1;
  };

  /** Scans up to the closing brace, or to the end. */
  const scanCode = (): void => {
    let before = '';
    let depth = 0;
    while (at < source.length) {
      if (match(COMMENT_OR_SPACE)) continue;
      if (match(STRING)) before = "'";
      else if (source[at] === '`') {
        at += 1;
        scanTemplate();
        before = '`';
      } else if (source[at] === '/' && BEFORE_REGEX.test(before)) {
        const [, pattern = '', flags = ''] = match(REGEX) ?? [];
        if (pattern === '') throw new Error(`No regular expression: ${source.slice(at, at + 60)}`);
        found.push(new RegExp(pattern, flags));
        before = '/';
      } else {
        const [word] = match(WORD) ?? [];
        const sign = word ?? source[at] ?? '';
        if (word === undefined) at += 1;
        if (sign === '{') depth += 1;
        if (sign === '}') depth -= 1;
        if (depth < 0) return;
        before = sign;
      }
    }
  };

  scanCode();
  return found;
};
