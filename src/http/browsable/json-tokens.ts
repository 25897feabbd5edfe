export type JsonToken = { kind: 'mark' | 'text' | 'word'; source: string };

/**
 * Past white space: a mark, a text, or a word (number, `true`, `false`, `null`). The part about escapes repeats after
 * each escape alone, so that a long text is no long way back.
 */
const TOKEN = /\s*(?:([{}[\],:])|("[^"\\]*(?:\\.[^"\\]*)*")|([^\s{}[\],:"]+))/gy;

/**
 * The tokens of a JSON text, each as it is written there: parsing it would lose digits, and what stands twice. Not by
 * recursion, so that no nesting is too deep.
 */
export function* jsonTokens(json: string): Generator<JsonToken> {
  for (const [, mark, text, word] of json.matchAll(TOKEN)) {
    if (mark !== undefined) yield { kind: 'mark', source: mark };
    else if (text !== undefined) yield { kind: 'text', source: text };
    else if (word !== undefined) yield { kind: 'word', source: word };
  }
}
