import { sql } from 'kysely';
import { generateSync } from 'otplib';
import type { FactorPolicy } from '../../entities/client.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { createScript } from './http-clients.ts';
import { setRows } from './rows.ts';
import { DEMO_PASSWORD, type TestApp } from './test-app.ts';

const STEP_MS = 30_000;

/** What an authenticator app with this secret shows. */
export const codeAt = (secret: string, now: Date): string =>
  generateSync({ secret, epoch: Math.floor(now.getTime() / 1000) });

/** What the app shows half a minute later: the code of a step counts once. */
export const nextCode = (app: TestApp, secret: string): string => {
  app.clock.advance(STEP_MS);
  return codeAt(secret, app.clock.now());
};

export const WRONG_CODE = '000000';

/** As if the user had just entered a code for their tokens. */
export const confirmTokens = (app: TestApp, email: string) =>
  sql`update api_tokens set authenticated_at = ${app.clock.now()}::timestamptz
    where user_id = (select id from users where email = ${email})`.execute(app.db());

/** Gives a user an authenticator app. */
export const enroll = async (app: TestApp, email: string, name?: string) => {
  await confirmTokens(app, email);
  const self = app.as(email);
  const { secret } = await self.mfa.startTotp({ name });
  const { recovery_codes: codes } = await self.mfa.confirmTotp({ code: codeAt(secret, app.clock.now()) });
  return { secret, codes };
};

/** A browser in which the password was entered, and that is asked for a code. */
export const challenged = async (app: TestApp, email: string) => {
  const browser = createScript(app);
  const response = await browser.logIn(email, DEMO_PASSWORD);
  const answer = (code: string) => browser.send('POST /session/otp/', { payload: { code } });
  return { browser, response, answer };
};

/** As if 15 minutes had passed for the counts of attempts, which are by the clock of the database. */
export const forgetAttempts = (app: TestApp) => sql`delete from rate_limits`.execute(app.db());

/** The last part of a problem's type. */
export const problemIn = (response: { json: () => { type?: string } }): string | undefined =>
  response.json().type?.split(':').at(-1);

type Policy = { policy: FactorPolicy; graceDays?: number; daysAgo?: number };

/** Sets the policy of a client as if it had been changed some days ago. Members have joined before, unless said otherwise. */
export const setFactorPolicy = async (
  app: TestApp,
  clientId: number,
  { policy, graceDays = 0, daysAgo = 0 }: Policy,
): Promise<void> => {
  const since = new Date(app.clock.now().getTime() - daysAgo * DAY_MS);
  const changes = { factor_policy: policy, factor_grace_days: graceDays, factor_policy_since: since };
  await setRows(app, 'clients', { id: clientId }, changes);
  await setRows(app, 'memberships', { client_id: clientId }, { joined_at: new Date(0) });
};
