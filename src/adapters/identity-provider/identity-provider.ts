import { createGuardedFetch } from '../../lib/guarded-fetch.ts';

/** The registration of this service at a provider. */
export type Registration = {
  issuer: string;
  clientId: string;
  /** Null for a public client. */
  clientSecret: string | null;
};

/** The secrets of one login. Only the browser that started it can complete it, once. */
export type LoginSecrets = { state: string; nonce: string; codeVerifier: string };

type LoginRequest = LoginSecrets & {
  redirectUri: string;
  scopes: string;
  /** An address that the provider may fill in. */
  loginHint: string | null;
  /** Whether the person must enter their password at the provider again. */
  forcesLogin: boolean;
};

/** A provider's statement about a person. The claims are verified, and unchanged. */
export type Assertion = {
  subject: string;
  /** The id of the session at the provider, if it sends one. */
  sid: string | null;
  /** How the person logged in there (RFC 8176). */
  amr: string[];
  /** When the person logged in there. */
  authTime: Date | null;
  claims: Record<string, unknown>;
};

/** The contents of a valid logout token. At least one of the first two is present. */
export type LogoutNotice = { subject: string | null; sid: string | null; jti: string; expiresAt: Date };

/** Logs people in at their own provider. All functions throw `ProviderError`. */
export type IdentityProvider = {
  /** Reads the metadata and the keys of the provider, past the cache. */
  check: (registration: Registration) => Promise<void>;
  /** The URL at the provider to which the browser is sent. */
  startLogin: (registration: Registration, request: LoginRequest) => Promise<string>;
  /**
   * Exchanges the answer that the browser brought back.
   * @param url the complete URL of the answer
   * @param needed if one of these claims is missing, the provider is asked for more about the person
   */
  completeLogin: (
    registration: Registration,
    answer: LoginSecrets & { url: URL; forcesLogin: boolean; needed: readonly string[] },
  ) => Promise<Assertion>;
  /** Verifies a logout token (OpenID Connect Back-Channel Logout 1.0 §2.6), except whether it was used before. */
  verifyLogout: (registration: Registration, token: string) => Promise<LogoutNotice>;
  /**
   * The URL at which the provider ends its own session in a browser (OpenID Connect RP-Initiated Logout 1.0), and then sends it to `returnTo`.
   * Null if the provider has none.
   */
  logoutUrl: (registration: Registration, returnTo: string) => Promise<string | null>;
};

/** Limit of one request to a provider. A login makes up to four. */
export const PROVIDER_TIMEOUT_MS = 3_000;
const MAX_BYTES = 1024 * 1024;

type Options = { allowsPrivate: boolean; timeoutMs?: number | undefined };

/** Loads the implementation when a provider is used for the first time. */
export const createIdentityProvider = ({
  allowsPrivate,
  timeoutMs = PROVIDER_TIMEOUT_MS,
}: Options): IdentityProvider => {
  const fetch = createGuardedFetch({ allowsPrivate, timeoutMs, maxBytes: MAX_BYTES });
  let loaded: Promise<IdentityProvider> | undefined;
  const load = () => {
    loaded ??= import('./openid-connect.ts').then(({ createOpenIdConnect }) =>
      createOpenIdConnect({ fetch, allowsHttp: allowsPrivate }),
    );
    return loaded;
  };
  return {
    check: async (...args) => (await load()).check(...args),
    startLogin: async (...args) => (await load()).startLogin(...args),
    completeLogin: async (...args) => (await load()).completeLogin(...args),
    verifyLogout: async (...args) => (await load()).verifyLogout(...args),
    logoutUrl: async (...args) => (await load()).logoutUrl(...args),
  };
};
