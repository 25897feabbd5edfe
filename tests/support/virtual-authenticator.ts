import type { Page } from 'playwright-core';
import type { TestApp } from './test-app.ts';

/** A platform authenticator of Chromium in software, which verifies its user and answers at once. */
export const addVirtualAuthenticator = async (page: Page) => {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    /** Whether the next requests are answered, or wait for the user. */
    setPresent: (enabled: boolean) =>
      devtools.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled }),
    /** Whether the user passes the verification, such as by a finger. */
    setVerified: (isUserVerified: boolean) =>
      devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
    credentials: async () => {
      const { credentials } = await devtools.send('WebAuthn.getCredentials', { authenticatorId });
      return credentials;
    },
    /** Deletes all keys, as if the device was lost. */
    clear: () => devtools.send('WebAuthn.clearCredentials', { authenticatorId }),
  };
};

/** Makes a browser that offers passkeys by the button only: with the field, a virtual authenticator would answer before the button is used. */
export const disableConditionalUi = (page: Page): Promise<unknown> =>
  page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false');

/** Gives a user a passkey in the authenticator of the page, without the console. */
export const enrollInBrowser = async (page: Page, app: TestApp, email: string): Promise<void> => {
  const options = JSON.stringify(await app.as(email).mfa.startPasskey({}));
  const credential = await page.evaluate(`(async () => {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(${options});
    return (await navigator.credentials.create({ publicKey })).toJSON();
  })()`);
  await app.as(email).mfa.addPasskey({ credential: credential as never, name: 'Virtual device' });
};
