import type { Account, KoaContextWithOIDC } from 'oidc-provider';
import type { Door } from '../../services/openid/openid-logins.ts';
import { CLAIMS, requireNoMaintenance, SCOPES } from './adapter.ts';
import { visitOf } from './visit.ts';

// What an app learns about a person.

/** The account of the person whom the app sees, while the login may open the app. */
export const findAccount = async (
  context: KoaContextWithOIDC,
  sub: string,
  token?: { grantId?: string | undefined },
): Promise<Account | undefined> => {
  const visit = visitOf(context);
  if (token === undefined) return { accountId: sub, claims: () => ({ sub }) };
  const door = await visit.checkLogin(String(token.grantId));
  if (!door || String(door.opening.user_id) !== sub) return undefined;
  requireNoMaintenance(door);
  const claims = await visit.services.openidLogins.claims(door);
  visit.claims = claims;
  const allowed = await statedClaims(context, door);
  const act = claims.act && {
    sub: await subjectOf(context, claims.act.sub),
    ...(allowed.includes('email') && { email: claims.act.email }),
  };
  const stated = Object.entries({ ...claims, act }).filter(
    ([name, value]) => value !== null && (ALWAYS.includes(name) || allowed.includes(name)),
  );
  return { accountId: sub, claims: () => ({ ...Object.fromEntries(stated), sub }) };
};

/** The claims that the settings allow, and to which the person has agreed if they must. */
export const statedClaims = async (context: KoaContextWithOIDC, door: Door): Promise<string[]> => {
  const agreed = await visitOf(context).services.openidLogins.agreedClaims(door);
  return allowedClaims(context).filter((claim) => agreed === null || agreed.includes(claim));
};

const ALWAYS: readonly string[] = SCOPES.openid;

export const allowedClaims = ({ oidc }: KoaContextWithOIDC): string[] => {
  const claims = oidc.client?.[CLAIMS];
  return Array.isArray(claims) ? claims.map(String) : [];
};

export const mayIntrospect = async (
  context: KoaContextWithOIDC,
  { clientId }: { clientId: string },
  { kind, ...token }: { kind?: string; clientId?: string | undefined; grantId?: string | undefined },
): Promise<boolean> => {
  const door = await visitOf(context).checkLogin(String(token.grantId));
  return kind === 'AccessToken' && token.clientId === clientId && door?.access === 'allowed';
};

/** What introspection of a token says beside the usual: that someone looks at the app as the person. */
export const extraClaims = async (context: KoaContextWithOIDC) => {
  const { act, read_only } = visitOf(context).claims ?? {};
  return act && read_only ? { act: { sub: await subjectOf(context, act.sub) }, read_only } : undefined;
};

export const isOtherPerson = async (context: KoaContextWithOIDC): Promise<boolean> => {
  const hint = context.oidc.entities.IdTokenHint;
  return hint !== undefined && hint.payload.sub !== (await subjectOf(context, accountOf(context)));
};

export const accountOf = ({ oidc }: KoaContextWithOIDC): string => oidc.session?.accountId ?? '';

/** What the app knows a person by. */
export const subjectOf = async ({ oidc }: KoaContextWithOIDC, accountId: string): Promise<string> => {
  const { client } = oidc;
  if (client?.subjectType !== 'pairwise') return accountId;
  const claims = new oidc.provider.Claims({ sub: accountId }, { client });
  return String((await claims.scope('openid').result()).sub);
};
