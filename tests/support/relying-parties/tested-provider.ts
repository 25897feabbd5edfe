import type { Page } from 'playwright-core';
import type { Addresses, ClientSettings, RelyingParty } from './relying-party.ts';

/** The claims that apps show. */
export type Person = { name: string; email: string; groups: string[] };

/** A provider as the tests of relying parties use it. */
export type TestedProvider = AsyncDisposable & {
  /** The person who logs in. */
  person: Person;
  register: (app: RelyingParty, addresses: Addresses) => Promise<ClientSettings>;
  /** Waits for the login page of the provider. */
  waitForLogin: (page: Page) => Promise<void>;
  /** Logs in on the login page, and lets the person go on to the app. */
  logIn: (page: Page) => Promise<void>;
  /** Confirms on the page of the provider that the person wants to log out there. */
  confirmLogout: (page: Page) => Promise<void>;
  /** Ends the session of the person at the provider, and notifies the apps in the back channel. */
  endSession: () => Promise<void>;
  /** Other things that end the login of the person to all apps: the app may not be opened any more. */
  causes: Record<string, { happen: () => Promise<void>; undo: () => Promise<void> }>;
};
