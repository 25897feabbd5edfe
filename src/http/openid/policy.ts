import { errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import type { Clock } from '../../lib/clock.ts';
import type { Door } from '../../services/openid/openid-logins.ts';
import { localPath, loginPath, stepUpPath } from '../pages/page-layout.ts';
import { accountOf, allowedClaims, isOtherPerson, statedClaims, subjectOf } from './accounts.ts';
import { visitOf } from './visit.ts';

export const OPENID_PATHS = {
  authorization: '/oidc/authorize',
  token: '/oidc/token',
  userinfo: '/oidc/userinfo',
  jwks: '/oidc/jwks',
  introspection: '/oidc/introspect',
  revocation: '/oidc/revoke',
  end_session: '/oidc/logout',
} as const;

/** What must be true before a code is issued, in this order. */
export const policyOf = (clock: Clock) => {
  const { Check, Prompt, base } = interactionPolicy;
  const door = (context: KoaContextWithOIDC): Door | null => visitOf(context).door;
  const login = new Prompt(
    { name: 'login', requestable: true },
    new Check('no_session', 'The person is not logged in.', (context) => door(context) === null),
    new Check('max_age', 'The login is too old.', (context) => {
      const { max_age: seconds } = context.oidc.params ?? {};
      const at = door(context)?.proof.authTime;
      return (
        seconds !== undefined &&
        at !== undefined &&
        clock.now().getTime() - at.getTime() > Number(seconds) * 1000
      );
    }),
    new Check('other_person', 'Another person is logged in.', isOtherPerson),
    new Check(
      'factor',
      'The login needs a second factor.',
      (context) => (door(context)?.step ?? null) !== null,
    ),
  );
  const selection = new Prompt({ name: 'select_account', requestable: true });
  const access = new Prompt(
    { name: 'access', requestable: false },
    new Check('refused', 'The person may not open the app.', 'access_denied', (context) => {
      return door(context)?.access !== 'allowed';
    }),
  );
  const consent = new Prompt(
    { name: 'consent', requestable: true },
    new Check('not_given', 'The person has not agreed yet.', async (context) => {
      const known = door(context);
      return known !== null && (await statedClaims(context, known)).length < allowedClaims(context).length;
    }),
  );
  // Asked only for apps of clients to which the person does not belong.
  consent.checks.remove('consent_prompt');
  const begin = new Prompt(
    { name: 'begin', requestable: false },
    new Check(
      'ended',
      'The session has just ended.',
      'login_required',
      async (context) => !(await beginLogin(context)),
    ),
  );
  const policy = base();
  policy.clear();
  for (const prompt of [login, selection, access, consent, begin]) policy.add(prompt);
  return policy;
};

/** Begins the login to the app. False if the session has ended. */
const beginLogin = async (context: KoaContextWithOIDC): Promise<boolean> => {
  const { door, services } = visitOf(context);
  const { session, client } = context.oidc;
  if (!door || !session || !client) return false;
  const subject = await subjectOf(context, accountOf(context));
  const login = await services.openidLogins.begin(door, subject);
  if (!login) return false;
  session.grantIdFor(client.clientId, String(login.id));
  session.sidFor(client.clientId, login.sid);
  return true;
};

/** Where the browser goes, or the page that it gets, if something must happen before the code is issued. */
export const answerPrompt = (
  context: KoaContextWithOIDC,
  prompt: { name: string; reasons: string[] },
): string => {
  const { name, reasons } = prompt;
  const visit = visitOf(context);
  const { door } = visit;
  const next = authorizationPath(context);
  const isStep = reasons.length === 1 && reasons[0] === 'factor';
  if (isStep && door?.step) return stepUpPath(door.step, next);
  if (door === null || name === 'begin') return loginPath(next);
  const appId = String(context.oidc.client?.clientId);
  const back = denialUrl(context);
  if (name === 'access') visit.page = { kind: 'refused', door, back };
  else if (name === 'consent')
    visit.page = { kind: 'consent', door, appId, claims: allowedClaims(context), next, back };
  else return loginPath(next, 'again');
  return next;
};

/** The same request, after the login for which it asked. */
const authorizationPath = ({ oidc }: KoaContextWithOIDC): string => {
  const { prompt = '', ...params } = definedParams(oidc.params);
  const prompts = prompt.split(' ').filter((one) => !['', 'login', 'select_account'].includes(one));
  const query = new URLSearchParams({ ...params, ...(prompts.length > 0 && { prompt: prompts.join(' ') }) });
  const path = localPath(`${OPENID_PATHS.authorization}?${query}`);
  if (path === null) throw new errors.InvalidRequest('the request is too long to be continued after a login');
  return path;
};

export const definedParams = (params: object = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries(params).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );

/** The address of the app, with the error that the person was refused or has not agreed. */
const denialUrl = ({ oidc }: KoaContextWithOIDC): string => {
  const { redirect_uri: uri = '', state } = definedParams(oidc.params);
  const url = new URL(uri);
  url.searchParams.set('error', 'access_denied');
  if (state !== undefined) url.searchParams.set('state', state);
  url.searchParams.set('iss', oidc.issuer);
  return url.href;
};
