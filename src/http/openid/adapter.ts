import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import { isAppId } from '../../lib/ids.ts';
import type { Services } from '../../services/index.ts';
import type { Door } from '../../services/openid/openid-logins.ts';
import type { TokenKind } from '../../services/openid/openid-tokens.ts';
import { currentContext, visitOf } from './visit.ts';

/** All scopes of OpenID Connect, with their claims. */
export const SCOPES = {
  openid: ['sub', 'amr', 'auth_time', 'act', 'read_only'],
  profile: ['name', 'given_name', 'family_name'],
  email: ['email', 'email_verified'],
  groups: ['groups', 'roles', 'app_roles', 'client'],
  data_permissions: ['data_permissions'],
  offline_access: [],
};

/** The names of our own fields in the metadata of a client. */
export const CLAIMS = 'steward_claims';
export const REQUIRES_PKCE = 'steward_requires_pkce';

/**
 * What the protocol library reads and stores, by the name of its model. Its session is the session of Steward, read again for each request;
 * its grant is the login of that session to the app. So neither can outlive or widen them. It stores only codes and tokens.
 */
export const openAdapter = (model: string): Adapter => {
  const store = STORES[model] ?? UNUSED;
  return { ...UNUSED, ...store };
};

const services = (): Services => visitOf(currentContext()).services;

const nothing = async (): Promise<undefined> => undefined;

/** Models that keep nothing: after a login, the browser asks for authorization again, so interactions are not stored. */
const UNUSED: Adapter = {
  upsert: nothing,
  find: nothing,
  findByUid: nothing,
  findByUserCode: nothing,
  consume: nothing,
  destroy: nothing,
  revokeByGrantId: nothing,
};

const findApp = async (id: string): Promise<AdapterPayload | undefined> => {
  if (!isAppId(id)) return undefined;
  const app = await services().openidApps.find(id);
  if (!app) return undefined;
  return {
    client_id: app.app_id,
    client_name: app.label,
    redirect_uris: app.redirect_uris,
    post_logout_redirect_uris: app.post_logout_redirect_uris,
    ...(app.backchannel_logout_uri !== '' && {
      backchannel_logout_uri: app.backchannel_logout_uri,
      backchannel_logout_session_required: true,
    }),
    // The library compares it only by `compareClientSecret`.
    ...(app.is_public
      ? { token_endpoint_auth_method: 'none' }
      : {
          token_endpoint_auth_method: 'client_secret_basic',
          client_secret: 'of which only digests are stored',
        }),
    application_type: app.isNative ? 'native' : 'web',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    subject_type: app.is_pairwise ? 'pairwise' : 'public',
    id_token_signed_response_alg: app.signing_algorithm === 'ES256' ? 'ES256' : 'RS256',
    [CLAIMS]: app.claims,
    [REQUIRES_PKCE]: app.requires_pkce,
  };
};

/** The session of Steward in this browser. Its account is the person whom the app sees: its owner, or the one as whom they look at the app. */
const findSession = async (secret: string): Promise<AdapterPayload | undefined> => {
  const context = currentContext();
  const visit = visitOf(context);
  const actor = await visit.findActor();
  if (actor?.credential?.kind !== 'session') return undefined;
  const { proof, id } = actor.credential;
  const appId = context.query.client_id;
  if (typeof appId === 'string' && isAppId(appId))
    visit.door = await visit.services.openidLogins.knock(actor, appId, visit.lookSecretOf);
  return {
    kind: 'Session',
    jti: secret,
    uid: String(id),
    accountId: String(visit.door?.opening.user_id ?? actor.id),
    amr: [...proof.methods],
    loginTs: Math.floor(proof.authTime.getTime() / 1000),
  };
};

/** The login to which a code or token belongs. Only if its session may still open the app. */
const findGrant = async (loginId: string): Promise<AdapterPayload | undefined> => {
  const context = currentContext();
  const door = await visitOf(context).checkLogin(loginId);
  if (!door) return undefined;
  // Before the library consumes the code, which the app can then send again.
  if (context.oidc.route === 'token') requireNoMaintenance(door);
  const { user_id: userId, app_id: clientId } = door.opening;
  return {
    kind: 'Grant',
    jti: loginId,
    accountId: String(userId),
    clientId,
    openid: { scope: Object.keys(SCOPES).join(' ') },
  };
};

/** A login continues after the maintenance of its app, but gets nothing until then. */
export const requireNoMaintenance = ({ access }: Door): void => {
  if (access === 'in-maintenance')
    throw new errors.CustomOIDCProviderError('temporarily_unavailable', 'The app is in maintenance.');
};

const endLogin = async (loginId: string): Promise<undefined> => {
  // An app that revokes its own token knows that.
  const notifiesApp = currentContext().oidc.route !== 'revocation';
  await services().openidLogins.end(Number(loginId), { notifiesApp });
};

const storeOfTokens = (kind: TokenKind): Partial<Adapter> => ({
  upsert: async (value, { jti: _, ...payload }, seconds = 0) => {
    const loginId = Number(payload.grantId);
    await services().openidTokens.store(kind, value, { loginId, payload: { ...payload }, seconds });
  },
  find: async (value) => {
    const found = await services().openidTokens.find(kind, value);
    const consumed = found?.consumed_at ? Math.floor(found.consumed_at.getTime() / 1000) : undefined;
    return found ? { ...found.payload, jti: value, consumed } : undefined;
  },
  consume: async (value) => {
    if (await services().openidTokens.consume(kind, value)) return;
    // Two requests sent it at the same time: one of them may have stolen it.
    const found = await services().openidTokens.find(kind, value);
    if (found) await endLogin(String(found.payload.grantId));
    throw new errors.InvalidGrant('already used');
  },
  destroy: (value) => services().openidTokens.remove(kind, value),
  revokeByGrantId: (loginId) => services().openidTokens.removeOf(kind, Number(loginId)),
});

const STORES: Record<string, Partial<Adapter>> = {
  Client: { find: findApp },
  Session: { find: findSession },
  Grant: { find: findGrant, destroy: endLogin },
  AuthorizationCode: storeOfTokens('AuthorizationCode'),
  AccessToken: storeOfTokens('AccessToken'),
  RefreshToken: storeOfTokens('RefreshToken'),
};
