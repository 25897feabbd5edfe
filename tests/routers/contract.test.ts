import type { AnyTRPCProcedure } from '@trpc/server';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { appRouter } from '../../routers/index.ts';
import { listOf } from '../../routers/schemas/lists.ts';
import { endpointOf, REST_ENDPOINTS } from '../../src/http/rest/endpoints.ts';
import { fieldOf } from '../support/lists.ts';

const contract = suite('contract of all procedures');

/** At run time the router's record is flat (`users.get`); only its type is nested. */
const procedures = Object.entries(appRouter._def.procedures as unknown as Record<string, AnyTRPCProcedure>);

/** For screens only: they may change with the screen, and no script depends on them. */
const WITHOUT_REST_PATH = [
  'access.grid',
  'access.ofPerson',
  'accessViews.screen',
  'groups.edit',
  'groups.screen',
  'groups.search',
  'users.activity',
  'users.people',
  'users.screen',
  'users.viewableApps',
  'usage.series',
  'usage.top',
  'usage.byApp',
  'usage.dailyByApp',
];

/** Private in tRPC's types. */
const schemasOf = (procedure: AnyTRPCProcedure) =>
  procedure._def as unknown as { inputs: unknown[]; output?: unknown };

contract('every procedure declares an input object, required if a field is, and an output schema', () => {
  assert.ok(procedures.length > 30);
  for (const [path, procedure] of procedures) {
    const { inputs, output } = schemasOf(procedure);
    assert.is(inputs.length, 1, path);
    const [input] = inputs;
    const fields = input instanceof z.ZodPrefault ? input.unwrap() : input;
    if (!(input instanceof z.ZodType && fields instanceof z.ZodObject)) return assert.unreachable(path);
    assert.is(input.safeParse(undefined).success, fields.safeParse({}).success, path);
    assert.instance(output, z.ZodType, path);
  }
});

contract('every item of a list is validated against the output schema', () => {
  const list = listOf(z.object({ id: z.int() }));

  assert.equal(list.parse([{ id: 1 }, { id: 2, secret: '' }]), [{ id: 1 }, { id: 2 }]);
  assert.not(list.safeParse([{ id: 1 }, { id: 'two' }]).success);
});

contract('every procedure but those of screens has a REST path with a trailing slash', () => {
  const named = procedures.map(([path]) => path).filter((path) => !WITHOUT_REST_PATH.includes(path));
  const endpoints = REST_ENDPOINTS.filter(({ isAlias }) => !isAlias);
  for (const { url } of endpoints) assert.match(url, /\/$/);
  assert.equal(fieldOf(endpoints, 'procedure'), named);
});

contract('every path and alias has its own method, URL and operation', () => {
  const endpoints = REST_ENDPOINTS;
  const requests = new Set(endpoints.map(({ method, url }) => `${method} ${url}`));
  const operationIds = new Set(endpoints.map(({ operationId }) => operationId));

  assert.is(requests.size, endpoints.length);
  assert.is(operationIds.size, endpoints.length);
});

contract('queries and subscriptions use GET, and mutations other methods', () => {
  for (const { method, type, procedure, rest } of REST_ENDPOINTS) {
    // The replaced service makes the addresses of embeds with GET.
    const isQuery = method === 'GET' && procedure !== 'accessViews.embed';
    assert.is(type, rest.isEventStream ? 'subscription' : isQuery ? 'query' : 'mutation', procedure);
  }
});

contract('every path parameter is an input field', () => {
  for (const { pathKeys, input, procedure } of REST_ENDPOINTS) {
    for (const key of pathKeys) assert.ok(key in input.shape, `${procedure}: ${key}`);
  }
});

contract('the resource of a mutation is read by a query that takes its keys', () => {
  const changes = REST_ENDPOINTS.filter(({ rest, method }) => rest.resourceQuery && method !== 'POST');
  assert.ok(changes.length >= 7);
  for (const { rest, input, procedure } of changes) {
    const shown = endpointOf(String(rest.resourceQuery));
    assert.is(shown.method, 'GET', procedure);
    for (const key of Object.keys(shown.input.shape)) assert.ok(key in input.shape, `${procedure}: ${key}`);
  }
});

contract('a created resource is read by a query whose path follows from the response', () => {
  const creations = REST_ENDPOINTS.filter(({ rest }) => rest.status === 201 && rest.resourceQuery);
  assert.ok(creations.length >= 3);
  for (const { rest, procedure } of creations) {
    const [, made] = procedures.find(([path]) => path === procedure) ?? [];
    const { output } = (made?._def ?? {}) as unknown as { output?: z.ZodObject }; // private in tRPC's types
    const shown = endpointOf(String(rest.resourceQuery));
    for (const key of shown.pathKeys) assert.ok(key in (output?.shape ?? {}), `${procedure}: ${key}`);
  }
});

contract.run();
