import { createHmac } from 'node:crypto';
import { z } from 'zod';
import type { LoginSecrets } from '../../adapters/identity-provider/identity-provider.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { isSecret, newSecret } from '../../lib/ids.ts';
import { createSealedBox, deriveKey } from '../../lib/sealed-box.ts';
import { SsoFailure } from './failures.ts';

/** - `confirm`: a login for which the person must enter their password at the provider again */
const LoginKind = z.enum(['login', 'confirm', 'test']);
export type LoginKind = z.infer<typeof LoginKind>;

/** An unfinished login at a provider. */
const StartedLogin = z.object({
  connection: z.int(),
  kind: LoginKind,
  /** The id of the user who tests the connection. */
  tester: z.int().nullable(),
  /** The page that required the login. */
  next: z.string().nullable(),
  /** In milliseconds since 1970. */
  startedAt: z.int(),
});
type StartedLogin = z.infer<typeof StartedLogin>;

/** How long a person may take at the provider, in minutes. */
const LOGIN_MINUTES = 15;

/**
 * The `state` of logins: the login itself, encrypted for the browser that started it, so that nothing is stored. Only that browser has the
 * secret in its cookie. The provider accepts the code that comes back with it once.
 */
export const createLoginStates = (secretKey: string) => {
  const box = createSealedBox(deriveKey(secretKey, 'steward single sign-on logins'));
  return {
    seal: (login: StartedLogin, browser: string): string =>
      box.seal(Buffer.from(JSON.stringify(login)), browser).toString('base64url'),

    /** @throws SsoFailure `other-browser`, `state-expired` */
    open: (state: string, browser: string | null, now: Date): StartedLogin => {
      const login = openFor(box, state, browser ?? '');
      if (now.getTime() > login.startedAt + LOGIN_MINUTES * MINUTE_MS) throw new SsoFailure('state-expired');
      return login;
    },
  };
};

const openFor = (box: ReturnType<typeof createSealedBox>, state: string, browser: string): StartedLogin => {
  try {
    return StartedLogin.parse(JSON.parse(box.open(Buffer.from(state, 'base64url'), browser).toString()));
  } catch (cause) {
    throw new SsoFailure('other-browser', { cause });
  }
};

/** The secret of the browser: from its cookie, or a new one. Logins in several tabs share it. */
export const browserSecret = (cookie: string | null): string =>
  cookie !== null && isSecret(cookie) ? cookie : newSecret();

/** The nonce and the PKCE verifier of a login, derived from the secret of the browser. */
export const secretsOf = (browser: string, state: string): LoginSecrets => {
  const derive = (purpose: string) =>
    createHmac('sha256', browser).update(`${purpose}\0${state}`).digest('base64url');
  return { state, nonce: derive('nonce'), codeVerifier: derive('verifier') };
};
