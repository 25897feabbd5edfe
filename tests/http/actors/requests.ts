import superjson from 'superjson';
import { appRouter, createCaller } from '../../../routers/index.ts';
import { problemOf } from '../../../routers/middleware/errors.ts';
import { endpointOf, fillPath, inputKeysOf, REST_ENDPOINTS } from '../../../src/http/rest/endpoints.ts';
import { hasBody } from '../../../src/http/rest/input.ts';
import { restPath, type TestApp } from '../../support/test-app.ts';
import type { Actor } from './columns.ts';

type Definition = { type: 'query' | 'mutation' | 'subscription' };
export const TYPES = new Map(
  Object.entries(appRouter._def.procedures as unknown as Record<string, { _def: Definition }>).map(
    ([name, { _def }]) => [name, _def.type],
  ),
);
export const IN_REST = new Set(REST_ENDPOINTS.map(({ procedure }) => procedure));

/** The procedure of a request, which may also name its kind. */
export const procedureOf = (request: string): string => request.replace(/ .*/, '');

/** `code`: of the problem, or `ok`. `isDone`: whether the request succeeded, or only its commit failed. */
export type Outcome = { code: string; body: string; isDone: boolean };

const outcomeOf = (code: string | undefined, body: string): Outcome => {
  const problem = code ?? problemOfRow(body);
  if (problem === 'database-unavailable') return { code: 'ok', body: '', isDone: true };
  return { code: problem ?? 'ok', body, isDone: problem === undefined };
};

/** The code of the problem of the first row in the result of a bulk request. */
const problemOfRow = (body: string): string | undefined =>
  /"results":\[\{[^\]]*?"problem":\{"code":"([\w-]+)"/.exec(body)?.[1];

export type Cell = {
  request: string;
  /** Whose things the input names; null: those of none. */
  client: 1 | 2 | null;
  input: Record<string, unknown> | undefined;
  actor: Actor;
  /** Headers by which a POST of an API that needs a CSRF token has one. */
  csrf: Record<string, string>;
};
type Send = (app: TestApp, cell: Cell) => Promise<Outcome>;

export const headersOf = ({ token }: Actor) => (token === null ? {} : { authorization: `Token ${token}` });
const JSON_BODY = { 'content-type': 'application/json' };

export const overRest: Send = async (app, { request, input = {}, actor, csrf }) => {
  const endpoint = endpointOf(procedureOf(request));
  const { method, url, rest } = endpoint;
  const keys = inputKeysOf(endpoint);
  const pick = (names: readonly string[]) =>
    Object.fromEntries(names.filter((name) => name in input).map((name) => [name, input[name]]));
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(pick(keys.query))) query.set(key, String(value));
  const key = rest.many ?? rest.body;
  const body = hasBody(endpoint) && { payload: JSON.stringify(key ? input[key] : pick(keys.body)) };
  const headers = { ...headersOf(actor), ...csrf, ...(body && JSON_BODY) };
  const path = `${restPath(fillPath(url, input))}?${query}`;
  // A GET of a stream ends only if it is refused.
  if (rest.isEventStream && (await app.send(`HEAD ${path}`, { headers })).statusCode === 200)
    return outcomeOf(undefined, '');
  const response = await app.send(`${method} ${path}`, { headers, ...body });
  const [, code] = /^\{"type":"urn:steward:problem:([\w-]+)"/.exec(response.body) ?? [];
  return outcomeOf(response.statusCode < 400 ? undefined : (code ?? 'unknown'), response.body);
};

export const overTrpc: Send = async (app, cell) => {
  const procedure = procedureOf(cell.request);
  if (TYPES.get(procedure) === 'subscription') return subscribe(app, cell);
  const { statusCode, body } = await app.send(`POST !/trpc/${procedure}`, {
    headers: { ...headersOf(cell.actor), ...JSON_BODY },
    payload: JSON.stringify(superjson.serialize(cell.input)),
  });
  const [, code] = /"problem":\{"code":"([\w-]+)"/.exec(body) ?? [];
  return outcomeOf(statusCode < 400 ? undefined : (code ?? 'unknown'), body);
};

/** In-process, because a stream does not end. */
const subscribe = async (app: TestApp, { input, actor: { token } }: Cell): Promise<Outcome> => {
  const { authentication } = app.openServices({ requestId: 'in-process', address: '127.0.0.1' });
  const findActor = async () => (token === null ? null : authentication.findByToken(token));
  try {
    const events = await createCaller({ ...app.contextOf(null), findActor }).events.stream(input);
    await events[Symbol.asyncIterator]().return?.(undefined);
    return outcomeOf(undefined, '');
  } catch (error) {
    return outcomeOf(problemOf(error).code, '');
  }
};
