import type { IncomingMessage } from 'node:http';
import Provider, { type KoaContextWithOIDC } from 'oidc-provider';
import type { Actor } from '../../services/access/actor.ts';
import type { Services } from '../../services/index.ts';
import type { Door, PersonClaims } from '../../services/openid/openid-logins.ts';
import type { OpenidPage } from '../pages/openid.ts';

/** The response of the protocol. */
type Answer = { status: number; body: unknown };

/** A request to the provider: what the functions that the protocol library calls need, and what they have found. */
export type Visit = ReturnType<typeof createVisit>;

type Deps = {
  openServices: () => Services;
  findActor: () => Promise<Actor | null>;
  /** The cookie of a look at the app with this slug. */
  lookSecretOf: (slug: string) => string | null;
};

export const createVisit = ({ openServices, findActor, lookSecretOf }: Deps) => {
  const services = openServices();
  const checks = new Map<string, Promise<Door | null>>();
  return {
    services,
    findActor,
    lookSecretOf,
    /** What the session may do at the app that asks for authorization. Null without a session. */
    door: null as Door | null,
    /** Of the person for whom tokens are issued. */
    claims: null as PersonClaims | null,
    page: null as OpenidPage | null,
    answer: null as Answer | null,
    /** What kept the library from an answer. */
    fault: null as unknown,

    /** What a login may still do, decided once in a request. */
    checkLogin: (loginId: string): Promise<Door | null> => {
      const known = checks.get(loginId) ?? services.openidLogins.check(Number(loginId));
      checks.set(loginId, known);
      return known;
    },
  };
};

const visits = new WeakMap<IncomingMessage, Visit>();

export const rememberVisit = (request: IncomingMessage, visit: Visit): void => {
  visits.set(request, visit);
};

export const visitOf = ({ req }: Pick<KoaContextWithOIDC, 'req'>): Visit => {
  const visit = visits.get(req);
  if (!visit) throw new Error('the request did not come through the routes of the provider');
  return visit;
};

/** The request that the library serves now. */
export const currentContext = (): KoaContextWithOIDC => {
  const context = Provider.ctx;
  if (!context) throw new Error('the library stores nothing outside of requests');
  return context;
};
