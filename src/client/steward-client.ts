import { createTRPCClient, type Operation, retryLink, type TRPCClient } from '@trpc/client';
import type { AppRouter } from './app-router.ts';
import { isProblem } from './errors.ts';
import { createEvents, type Events } from './events.ts';
import { createCsrfTokens, createLinks } from './links.ts';
import { type Send, withResponseChecks } from './responses.ts';
import type { RouterOutputs } from './types.ts';

export type StewardClientOptions = {
  /** Base URL of the service, such as `https://steward.example.com`, or its path on this site. Default in a browser: the origin of the page. */
  url?: string;
  /** An existing API token. */
  token?: string;
  /** Replaces the global `fetch`. */
  fetch?: Send;
};

/** `username` is the email address, as the REST endpoint names it. */
export type Credentials = ({ email: string } | { username: string }) & {
  password: string;
  /** A code of the authenticator app, or a recovery code. Users with a second factor get the problem `otp-required` without it. */
  otp?: string | undefined;
};

/** The user of a session. */
export type LoggedIn = RouterOutputs['sessions']['create']['user'];

/** Declared explicitly, so that the declaration file does not inline every procedure. */
export type StewardClient = {
  /** The tRPC client: `api.users.get.query({ email })`. */
  api: TRPCClient<AppRouter>;
  /** Hears events as they happen. */
  events: Events;
  /** Logs in with a token, for Node and pages of other sites. Later calls use the returned token. */
  login: (login: Credentials) => Promise<string>;
  /** Logs the browser in with an `HttpOnly` cookie, for pages on the same origin as Steward. */
  loginWithSession: (login: Credentials) => Promise<LoggedIn>;
  /** Revokes the token or session. Does nothing if the user is already logged out. */
  logout: () => Promise<void>;
};

/**
 * A client for one Steward service and one login, for browsers and Node.
 * @throws TypeError if `url` has no scheme
 */
export const createStewardClient = (options: StewardClientOptions = {}): StewardClient => {
  const url = requireScheme(options.url ?? '').replace(/\/+$/, '');
  const platformFetch: Send = (address, init) => fetch(address, init);
  const fetchUrl = options.fetch ?? platformFetch;
  const receive = withResponseChecks(fetchUrl);
  const csrf = createCsrfTokens(url, receive);
  /** A response that replaces the session, for example after a password change, contains the token of the new session. */
  const send: typeof receive = async (address, init) => {
    const response = await receive(address, init);
    const renewed = response.headers.get('x-csrftoken');
    if (renewed !== null) csrf.set(renewed);
    return response;
  };
  let { token } = options;

  const credentials = async (ops: readonly Operation[]): Promise<Record<string, string>> =>
    token === undefined ? csrf.headersOf(ops) : { authorization: `Token ${token}` };
  const api = createTRPCClient<AppRouter>({
    links: [
      retryLink({ retry: (failure) => token === undefined && csrf.canRetry(failure) }),
      createLinks({ url, fetch: fetchUrl, send, credentials }),
    ],
  });

  return {
    api,
    events: createEvents(api),

    login: async (login) => {
      const issued = await api.tokens.create.mutate({
        username: usernameOf(login),
        password: login.password,
        otp: login.otp,
      });
      token = issued.token;
      return token;
    },

    loginWithSession: async (login) => {
      const { password, otp } = login;
      const created = api.sessions.create.mutate({ username: usernameOf(login), password });
      const session = await created.catch((error: unknown) => {
        if (otp === undefined || !isProblem(error, 'otp-required')) throw error;
        return api.sessions.answerChallenge.mutate({ code: otp });
      });
      token = undefined;
      csrf.set(session.csrf_token);
      return session.user;
    },

    logout: async () => {
      await api.sessions.end.mutate().catch((error: unknown) => {
        if (!isProblem(error, 'unauthenticated')) throw error;
      });
      token = undefined;
      csrf.set(undefined);
    },
  };
};

/** `fetch` would read `localhost:8000` as a URL of the scheme `localhost`, or as a path, and its error gives no reason. */
const requireScheme = (url: string): string => {
  if (url === '' || url.startsWith('/') || /^https?:\/\/./i.test(url)) return url;
  // The URL may contain a password, so the message does not repeat it.
  throw new TypeError('`url` has no scheme: start it with http:// or https://, as in http://localhost:8000.');
};

const usernameOf = (login: Credentials): string => ('email' in login ? login.email : login.username);
