import { createTRPCClient, type TRPCClient } from '@trpc/client';
import type { inferRouterOutputs } from '@trpc/server';
import { onlyAnswers, type Send } from './answers.ts';
import type { AppRouter } from './app-router.ts';
import { createCsrfTokens, csrfLink } from './csrf.ts';
import { isProblem } from './failures.ts';
import { createLinks } from './links.ts';

export type StewardClientOptions = {
  /** Address of the service, such as `https://steward.example.com`. Left out in a browser: the page's own site. */
  url?: string;
  /** An API token to begin with. */
  token?: string;
  /** Another `fetch` than the platform's. */
  fetch?: Send;
};

/** Whose login it is: by email address, which old callers know as the username. */
export type Credentials = ({ email: string } | { username: string }) & { password: string };

/** The user that a session belongs to. */
export type LoggedIn = inferRouterOutputs<AppRouter>['sessions']['create']['user'];

/** Written out, lest its declaration spell out every procedure of the server. */
export type StewardClient = {
  /** Every procedure, as a client of tRPC: `api.users.get.query({ email })`. */
  api: TRPCClient<AppRouter>;
  /** Logs in by a token, for Node and for pages of other sites. It is used from now on, and answered to be kept. */
  login: (login: Credentials) => Promise<string>;
  /** Logs this browser in, for pages on Steward's own site: by a cookie that no script can read. */
  loginWithSession: (login: Credentials) => Promise<LoggedIn>;
  /** Ends the token, or the session. Whoever is not logged in any more has no need to know. */
  logout: () => Promise<void>;
};

/** A client of one Steward and for one login, for browsers and for Node. */
export const createStewardClient = (options: StewardClientOptions = {}): StewardClient => {
  const url = (options.url ?? '').replace(/\/+$/, '');
  const platformFetch: Send = (address, init) => fetch(address, init);
  const send = onlyAnswers(options.fetch ?? platformFetch);
  const csrf = createCsrfTokens(url, send);
  let { token } = options;

  const credentials = (): Record<string, string> => {
    if (token !== undefined) return { authorization: `Token ${token}` };
    const csrfToken = csrf.current();
    return csrfToken === undefined ? {} : { 'x-csrftoken': csrfToken };
  };
  const api = createTRPCClient<AppRouter>({
    links: [csrfLink(csrf, () => token === undefined), createLinks({ url, send, credentials })],
  });

  return {
    api,

    login: async (login) => {
      const answer = await api.tokens.create.mutate({ username: nameIn(login), password: login.password });
      token = answer.token;
      return token;
    },

    loginWithSession: async (login) => {
      const name = nameIn(login);
      const answer = await api.sessions.create.mutate({ username: name, password: login.password });
      token = undefined;
      csrf.set(answer.csrf_token);
      return answer.user;
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

const nameIn = (login: Credentials): string => ('email' in login ? login.email : login.username);
