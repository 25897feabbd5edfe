import type { FactorPolicy } from '../../entities/client.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { createScript } from './http-clients.ts';
import type { TestApp } from './test-app.ts';

type Policy = { policy: FactorPolicy; graceDays?: number; daysAgo?: number };

/** Sets the policy of a client as if it had been changed some days ago. Members have joined before, unless said otherwise. */
export const setFactorPolicy = async (
  app: TestApp,
  clientId: number,
  { policy, graceDays = 0, daysAgo = 0 }: Policy,
): Promise<void> => {
  const since = new Date(app.clock.now().getTime() - daysAgo * DAY_MS);
  await app
    .db()
    .updateTable('clients')
    .set({ factor_policy: policy, factor_grace_days: graceDays, factor_policy_since: since })
    .where('id', '=', clientId)
    .execute();
  await app
    .db()
    .updateTable('memberships')
    .set({ joined_at: new Date(0) })
    .where('client_id', '=', clientId)
    .execute();
};

/** A browser that has entered the password of a user, and the response. */
export const enterPassword = async (app: TestApp, email: string, password: string) => {
  const browser = createScript(app);
  return { browser, response: await browser.logIn(email, password) };
};
