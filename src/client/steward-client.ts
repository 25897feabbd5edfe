import { createTRPCClient } from '@trpc/client';
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

export type StewardClient = ReturnType<typeof createStewardClient>;

/** A client of one Steward and for one login, for browsers and for Node. */
export const createStewardClient = (options: StewardClientOptions = {}) => {
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
    /** Every procedure, as a client of tRPC: `api.users.get.query({ email })`. */
    api,

    /** Logs in by a token, for Node and for pages of other sites. It is used from now on, and answered to be kept. */
    login: async (login: Credentials): Promise<string> => {
      const answer = await api.tokens.create.mutate({ username: nameIn(login), password: login.password });
      token = answer.token;
      return token;
    },

    /** Logs this browser in, for pages on Steward's own site: by a cookie that no script can read. */
    loginWithSession: async (login: Credentials) => {
      const { user, csrf_token } = await api.sessions.create.mutate({
        username: nameIn(login),
        password: login.password,
      });
      token = undefined;
      csrf.set(csrf_token);
      return user;
    },

    /** Ends the token, or the session. Whoever is not logged in any more has no need to know. */
    logout: async (): Promise<void> => {
      await api.sessions.end.mutate().catch((error: unknown) => {
        if (!isProblem(error, 'not-signed-in')) throw error;
      });
      token = undefined;
      csrf.set(undefined);
    },
  };
};

const nameIn = (login: Credentials): string => ('email' in login ? login.email : login.username);
