import type { AnyTRPCProcedure } from '@trpc/server';
import { forEachOpenApiProcedure } from 'trpc-to-openapi';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { appRouter } from '../../routers/index.ts';
import { NoInput } from '../../routers/schemas.ts';
import { restEndpoints } from '../../src/http/rest-endpoints.ts';

const contract = suite('contract of all procedures');

/** The router's record is flat at run time (`users.get`), and nested only in its type. */
const procedures = Object.entries(appRouter._def.procedures as unknown as Record<string, AnyTRPCProcedure>);

contract('declares an object in, or nothing, and a schema out, every one', () => {
  assert.ok(procedures.length > 30);
  for (const [path, procedure] of procedures) {
    const { inputs, output } = procedure._def as unknown as { inputs: unknown[]; output?: unknown }; // private in tRPC's types
    assert.is(inputs.length, 1, path);
    if (inputs[0] !== NoInput) assert.instance(inputs[0], z.ZodObject, path);
    assert.instance(output, z.ZodType, path);
  }
});

contract('has a REST path for every one, with a trailing slash, each method once', () => {
  const seen = new Set<string>();
  forEachOpenApiProcedure(appRouter._def.procedures, ({ meta, path }) => {
    assert.match(meta.openapi.path, /\/$/, path);
    seen.add(`${meta.openapi.method} ${meta.openapi.path}`);
  });

  assert.is(seen.size, procedures.length);
  assert.is(restEndpoints().length, procedures.length);
});

contract('reads by queries and changes by mutations', () => {
  for (const { method, type, procedure } of restEndpoints()) {
    assert.is(type, method === 'GET' ? 'query' : 'mutation', procedure);
  }
});

contract('takes every path parameter from an input key', () => {
  for (const { pathKeys, input, procedure } of restEndpoints()) {
    for (const key of pathKeys) assert.ok(key in input.shape, `${procedure}: ${key}`);
  }
});

contract.run();
