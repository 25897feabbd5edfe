import { QueryClient } from '@tanstack/react-query';
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query';
import * as assert from 'uvu/assert';
import { type AppRouter, createStewardClient, fieldErrors, isProblem } from '../../src/client.ts';
import { failureOf } from '../support/rejects.ts';
import { ACME, ADA, addressOf, appSuite, type TestApp } from '../support/test-app.ts';

const queries = appSuite('client with TanStack Query');

const proxyOf = async (app: TestApp) => {
  const steward = createStewardClient({ url: await addressOf(app), token: await app.tokenOf(ACME) });
  const queryClient = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  return { queryClient, trpc: createTRPCOptionsProxy<AppRouter>({ client: steward.api, queryClient }) };
};

queries('runs typed queries with Dates, without an argument for queries without input', async ({ app }) => {
  const { queryClient, trpc } = await proxyOf(app);
  const [user, sites] = await Promise.all([
    queryClient.fetchQuery(trpc.users.get.queryOptions({ email: ADA })),
    queryClient.fetchQuery(trpc.sites.list.queryOptions()),
  ]);
  const joined: Date = user.date_joined;

  assert.equal(joined, app.clock.now());
  assert.is(sites.length, 1);
  assert.equal(queryClient.getQueryData(trpc.users.get.queryKey({ email: ADA })), user);
});

queries('runs mutations and reports errors like the client', async ({ app }) => {
  const { queryClient, trpc } = await proxyOf(app);
  const create = trpc.users.create.mutationOptions();
  const cache = queryClient.getMutationCache();
  const made = await cache.build(queryClient, create).execute({ email: 'query@acme.test' });
  const error = await failureOf(cache.build(queryClient, create).execute({ email: ADA }));

  assert.is(made.email, 'query@acme.test');
  assert.ok(isProblem(error, 'user-exists'));
  assert.equal(Object.keys(fieldErrors(error)), ['email']);
  queryClient.clear();
});

queries.run();
