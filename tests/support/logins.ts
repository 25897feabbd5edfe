import { sql } from 'kysely';
import { createScript, type createVisitor } from './http-clients.ts';
import { ADA, DEMO_PASSWORD, GRACE, type TestApp } from './test-app.ts';

/** A browser script with a session. */
export const loggedIn = async (app: TestApp, email = ADA) => {
  const script = createScript(app);
  const response = await script.logIn(email, DEMO_PASSWORD);
  if (response.statusCode !== 200) throw new Error(response.body);
  return { ...script, response };
};

/** Enters a password on the login page, and returns the next page. */
export const enterPassword = async (
  visitor: ReturnType<typeof createVisitor>,
  username: string,
  { password = DEMO_PASSWORD, query = '' } = {},
) => {
  await visitor.get(`/login/${query}`);
  return visitor.submit('/login/', { username, password });
};

export const cookieHeader = (cookies: Map<string, string>): string =>
  [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');

export const countSessions = async (app: TestApp, email: string): Promise<number> => {
  const sessions = sql`select from sessions where user_id = (select id from users where email = ${email})`;
  return (await sessions.execute(app.db())).rows.length;
};

/** Gives users the password of the demo workspace. */
export const givePassword = (app: TestApp, ...emails: string[]) =>
  sql`update users set password_hash = (select password_hash from users where email = ${GRACE})
    where email = any(${emails})`.execute(app.db());
