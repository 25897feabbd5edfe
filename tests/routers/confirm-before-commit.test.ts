import * as assert from 'uvu/assert';
import type { Context } from '../../routers/context.ts';
import { createCaller } from '../../routers/index.ts';
import { kysely } from '../../src/db/kysely.ts';
import type { ConfirmBeforeCommit } from '../../src/services/index.ts';
import { ADA, appSuite, ROOT, type TestApp } from '../support/test-app.ts';

const ORIGIN = { requestId: 'in-process', address: '127.0.0.1' };

/** Always matches. */
const PRECONDITION = { header: 'If-Match', check: async () => {} };

/** A caller, and what its transactions had written whenever they confirmed it. */
const observedCaller = (app: TestApp, headers: Partial<Context>) => {
  const confirmations: { changes: number; responses: number }[] = [];
  const observe =
    (confirm?: ConfirmBeforeCommit): ConfirmBeforeCommit =>
    async (tx) => {
      const db = kysely(tx);
      const changes = db.selectFrom('audit_entries').select('id').where('action', '=', 'user.update');
      const responses = db.selectFrom('idempotent_responses').select('key').where('response', 'is not', null);
      confirmations.push({
        changes: (await changes.execute()).length,
        responses: (await responses.execute()).length,
      });
      await confirm?.(tx);
    };
  const caller = createCaller({
    ...app.contextOf(ROOT),
    openServices: (confirm) => app.openServices(ORIGIN, observe(confirm)),
    inTransaction: (work, confirm) => app.inTransaction(ORIGIN, work, observe(confirm)),
    ...headers,
  });
  return { caller, confirmations };
};

const confirming = appSuite('the confirmation of the caller before the commit');

confirming('happens once, after all work, also with If-Match and an Idempotency-Key', async ({ app }) => {
  const idempotencyKey = () => ({ key: 'confirmed-once', onReplay: () => {} });
  for (const [headers, expected] of [
    [{}, { changes: 1, responses: 0 }],
    [
      { idempotencyKey, precondition: () => PRECONDITION },
      { changes: 2, responses: 1 },
    ],
  ] as const) {
    const { caller, confirmations } = observedCaller(app, headers);

    await caller.users.update({ email: ADA, first_name: `Ada ${expected.changes}` });

    assert.equal(confirmations, [expected]);
  }
});

confirming.run();
