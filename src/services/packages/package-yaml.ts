import { isMap, isNode, isScalar, Lexer, type Node, parseDocument, visit, type YAMLMap } from 'yaml';
import { Problem } from '../../lib/problems.ts';

export const MAX_YAML_BYTES = 1024 * 1024;

/**
 * Words, signs, line ends and escapes. The library takes some 20 µs for each that is wrong, in which nothing else is
 * answered: a MiB of wrong brackets took it 24 s. 200 stacks have about 4,000.
 */
const MAX_PIECES = 20_000;
const MAX_ALIASES = 50;
/** How often the content of one anchor may be repeated, nested aliases multiplied. */
const MAX_REPEATS = 50;
/** In steps of the tree: a mapping takes two, itself and the pair. */
const MAX_STEPS_DEEP = 128;

const OPTIONS = {
  schema: 'core',
  stringKeys: true,
  resolveKnownTags: false,
  // 'silent' would also let a second document pass.
  logLevel: 'error',
  // The library compares every key with every other, minutes of work for a hostile mapping: see refuseOffences.
  uniqueKeys: false,
  // Excerpts in messages take time in the square of the file's length.
  prettyErrors: false,
} as const;

type Refuse = (why: string, cause?: unknown) => Problem;

/**
 * Reads one YAML 1.2 document (core schema, no tags of its own) as plain data without cycles.
 * @throws Problem `invalid-package`, its detail naming `file`
 */
export const parseYaml = (file: string, bytes: Uint8Array): unknown => {
  const refuse: Refuse = (why, cause) =>
    new Problem('invalid-package', { detail: `${file} ${why}.`, fields: { app_yaml: [why] }, cause });

  if (bytes.length > MAX_YAML_BYTES) throw refuse('is larger than 1 MiB');
  const text = attempt(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes), refuse);
  refuseIntricate(text, refuse);
  const document = attempt(() => parseDocument(text, OPTIONS), refuse);
  // A tag that nobody knows is but a warning to the library.
  const [fault] = [...document.errors, ...document.warnings];
  if (fault) throw refuse(`is not valid YAML at line ${lineAt(text, fault.pos[0])}: ${gist(fault)}`, fault);

  refuseOffences(document, refuse);
  return attempt<unknown>(() => document.toJS({ maxAliasCount: MAX_REPEATS }), refuse);
};

/** The lexer alone is quick, can be stopped, and does not judge. */
const refuseIntricate = (text: string, refuse: Refuse): void => {
  let pieces = 0;
  for (const token of new Lexer().lex(text)) {
    pieces += 1 + (token.match(/[\n\r\\]/g)?.length ?? 0);
    if (pieces > MAX_PIECES) throw refuse(`has more than ${MAX_PIECES} words, signs and lines`);
  }
};

const attempt = <T>(work: () => T, refuse: Refuse): T => {
  try {
    return work();
  } catch (cause) {
    throw refuse(`cannot be read: ${gist(cause)}`, cause);
  }
};

const gist = (error: unknown): string =>
  error instanceof Error ? (error.message.split('\n', 1)[0] ?? '').slice(0, 200) : 'unknown error';

const lineAt = (text: string, position: number): number => text.slice(0, position).split('\n').length;

/** What the parser lets pass and this service does not. */
const refuseOffences = (document: ReturnType<typeof parseDocument>, refuse: Refuse): void => {
  let aliases = 0;
  visit(document, {
    Collection: (_key, node, path) => {
      if (path.length > MAX_STEPS_DEEP) throw refuse('is nested too deeply');
      const twice = isMap(node) ? duplicateKeyOf(node) : undefined;
      if (twice !== undefined)
        throw refuse(`has the key ${JSON.stringify(twice).slice(0, 100)} twice in one mapping`);
    },
    Alias: (_key, { source }, path) => {
      aliases += 1;
      if (aliases > MAX_ALIASES) throw refuse(`has more than ${MAX_ALIASES} aliases`);
      if (path.some((above) => isNode(above) && anchorOf(above) === source))
        throw refuse('holds itself by an alias');
    },
  });
};

const anchorOf = (node: Node): string | undefined => ('anchor' in node ? node.anchor : undefined);

const duplicateKeyOf = (map: YAMLMap): string | undefined => {
  const seen = new Set<string>();
  for (const { key } of map.items) {
    const name = String(isScalar(key) ? key.value : key);
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return undefined;
};
