import type { Page } from 'playwright-core';

/** The addresses of an app, which its provider registers before the app starts. */
export type Addresses = {
  /** The page that asks for a login, and then shows who is logged in. */
  url: string;
  redirectUri: string;
  postLogoutUri: string;
  /** null if the app does not implement back-channel logout. */
  backchannelUri: string | null;
  /** A page that logs out of the app, and then of the provider. */
  logoutUrl: string;
  /** A page that uses the refresh token and then shows what it gets, or null if the app has none. */
  refreshUrl: string | null;
};

/** What the provider issues for an app. */
export type ClientSettings = { issuer: string; clientId: string; clientSecret: string };

/** An app that logs people in with an OpenID provider. */
export type RelyingParty = {
  name: string;
  /** Whether authorization requests have a code challenge (RFC 7636). */
  sendsCodeChallenge: boolean;
  /** @param origin of the app: its scheme, host and port */
  addressesAt: (origin: string) => Addresses;
  /** Runs the app until it is disposed. */
  start: (origin: string, settings: ClientSettings) => Promise<AsyncDisposable>;
  /** What a person does on a page of the app to get to the provider. */
  requestLogin?: (page: Page) => Promise<void>;
};

export const SCOPES = 'openid profile email groups offline_access';
