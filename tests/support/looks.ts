import { createCaller } from '../../routers/index.ts';
import { loggedIn } from './logins.ts';
import { ACME, GRACE, type TestApp } from './test-app.ts';
import { SALES } from './usage.ts';

/** A browser with a session, and a caller of procedures with this session. */
export const sessionOf = async (app: TestApp, email: string) => {
  const browser = await loggedIn(app, email);
  const secret = () => browser.cookies.get('steward_session') ?? '';
  const findActor = async () => app.openServices().authentication.findBySession(secret());
  return { browser, self: createCaller({ ...app.contextOf(null), findActor }) };
};

type Session = Awaited<ReturnType<typeof sessionOf>>;
type NewLook = Parameters<Session['self']['users']['viewAs']>[0];

/** Begins a look at the app Sales as Grace. */
export const beginLook = ({ self }: Pick<Session, 'self'>, input: Partial<NewLook> = {}) =>
  self.users.viewAs({ email: GRACE, app: SALES, reason: 'Ticket 4711', minutes: 10, ...input });

/** The admin of Acme looks at the app Sales as Grace: the browser has opened the URL. */
export const openedLook = async (app: TestApp, input: Partial<NewLook> = {}, email = ACME) => {
  const session = await sessionOf(app, email);
  const look = await beginLook(session, input);
  const opened = await session.browser.send(`GET !${new URL(look.url).pathname}`);
  return { ...session, look, opened };
};
