import paths from 'virtual:rest-paths';
import { queryOf } from '../components/search-params.ts';

/** A query and its input, as the console has sent it. */
export type Call = { procedure: string; input: Record<string, unknown> };

/** The calls with `@steward/client`. */
export const typescriptOf = (calls: readonly Call[]): string =>
  [
    "import { createStewardClient } from '@steward/client';",
    '',
    'const { api } = createStewardClient({',
    `  url: ${literal(location.origin)},`,
    "  token: process.env.STEWARD_TOKEN ?? '',",
    '});',
    ...calls.map(
      ({ procedure, input }) => `\nconsole.log(await api.${procedure}.query(${objectLiteral(input)}));`,
    ),
  ].join('\n');

const objectLiteral = (input: Record<string, unknown>): string => {
  const lines = Object.entries(input).map(([key, value]) => `  ${key}: ${literal(value)},\n`);
  return lines.length === 0 ? '{}' : `{\n${lines.join('')}}`;
};

/** In single quotes if nothing needs an escape. */
const literal = (value: unknown): string => {
  if (value instanceof Date) return `new Date('${value.toISOString()}')`;
  const json = JSON.stringify(value);
  return json === `"${value}"` && !json.includes("'") ? `'${value}'` : json;
};

/** The calls over REST. The shell replaces the name of the token. */
export const curlOf = (calls: readonly Call[]): string =>
  calls
    .map((call) => `curl -H "Authorization: Token $STEWARD_TOKEN" \\\n  '${location.origin}${pathOf(call)}'`)
    .join('\n\n');

/** The path with its query string. It contains no quote, which would end the argument of the shell. */
const pathOf = ({ procedure, input }: Call): string => {
  const template = paths[procedure];
  if (template === undefined) throw new Error(`${procedure} has no REST path.`);
  const texts = new Map(Object.entries(input).map(([key, value]) => [key, textOf(value)]));
  const path = template.replaceAll(/\{(\w+)\}/g, (_braces, key: string) => {
    const text = texts.get(key) ?? '';
    texts.delete(key);
    return encodeURIComponent(text).replaceAll("'", '%27');
  });
  const query = queryOf(Object.fromEntries(texts)).toString();
  return query === '' ? path : `${path}?${query}`;
};

const textOf = (value: unknown): string => (value instanceof Date ? value.toISOString() : String(value));
