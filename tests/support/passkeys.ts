import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { Page } from 'playwright-core';
import type { Assertion, NewCredential } from '../../src/services/auth/webauthn.ts';
import { createScript } from './http-clients.ts';
import { confirmTokens } from './second-factors.ts';
import { DEMO_PASSWORD, type TestApp } from './test-app.ts';

const ORIGIN = 'http://localhost:8000';

/** What an authenticator or a browser does otherwise than it should. */
type Faults = {
  origin?: string;
  rpId?: string;
  challenge?: string;
  type?: string;
  isUserVerified?: boolean;
  /** Whether the key is synchronized. */
  isBackedUp?: boolean;
  signCount?: number;
  userHandle?: string | null;
  /** The credential that it says it has. */
  id?: string;
  attestation?: { fmt: string; attStmt: CborMap };
};

type CreationOptions = { rp: { id: string }; user: { id: string }; challenge: string };
type RequestOptions = { rpId: string; challenge: string };

export type Authenticator = ReturnType<typeof createAuthenticator>;

/** A passkey in software: one ES256 key, as a platform authenticator keeps it. */
export const createAuthenticator = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const id = randomBytes(32);
  let userHandle: string | null = null;
  let signCount = 0;

  const clientData = (type: string, challenge: string, { origin = ORIGIN, ...faults }: Faults): Buffer =>
    Buffer.from(
      JSON.stringify({
        type: faults.type ?? type,
        challenge: faults.challenge ?? challenge,
        origin,
        crossOrigin: false,
      }),
    );

  /** Web Authentication Level 3, §6.1. */
  const authenticatorData = (rpId: string, faults: Faults, credential?: Buffer): Buffer => {
    const { isUserVerified = true, isBackedUp = false, signCount: count = signCount } = faults;
    const flags =
      0b1 | (isUserVerified ? 0b100 : 0) | (isBackedUp ? 0b1_1000 : 0) | (credential ? 0b100_0000 : 0);
    const head = Buffer.alloc(5);
    head.writeUInt8(flags, 0);
    head.writeUInt32BE(count, 1);
    return Buffer.concat([sha256(faults.rpId ?? rpId), head, credential ?? Buffer.alloc(0)]);
  };

  const credentialData = (): Buffer => {
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    const coordinates = [Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')] as const;
    const key = new Map<CborKey, Cbor>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, coordinates[0]],
      [-3, coordinates[1]],
    ]);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    return Buffer.concat([Buffer.alloc(16), length, id, cbor(key)]);
  };

  return {
    id: id.toString('base64url'),

    /** Creates the passkey, as `navigator.credentials.create()` does. */
    create: ({ rp, user, challenge }: CreationOptions, faults: Faults = {}): NewCredential => {
      userHandle = user.id;
      const { fmt, attStmt } = faults.attestation ?? { fmt: 'none', attStmt: new Map() };
      const attestation = new Map<CborKey, Cbor>([
        ['fmt', fmt],
        ['attStmt', attStmt],
        ['authData', authenticatorData(rp.id, faults, credentialData())],
      ]);
      const name = faults.id ?? id.toString('base64url');
      return {
        id: name,
        rawId: name,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: clientData('webauthn.create', challenge, faults).toString('base64url'),
          attestationObject: cbor(attestation).toString('base64url'),
          transports: ['internal', 'hybrid'],
        },
      };
    },

    /** Signs a challenge, as `navigator.credentials.get()` does. Each signature counts. */
    get: ({ rpId, challenge }: RequestOptions, faults: Faults = {}): Assertion => {
      signCount += 1;
      const data = authenticatorData(rpId, faults);
      const client = clientData('webauthn.get', challenge, faults);
      const signature = sign('sha256', Buffer.concat([data, sha256(client)]), privateKey);
      const handle = faults.userHandle === undefined ? userHandle : faults.userHandle;
      const name = faults.id ?? id.toString('base64url');
      return {
        id: name,
        rawId: name,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: client.toString('base64url'),
          authenticatorData: data.toString('base64url'),
          signature: signature.toString('base64url'),
          ...(handle !== null && { userHandle: handle }),
        },
      };
    },
  };
};

/** Gives a user a passkey. */
export const enrollPasskey = async (app: TestApp, email: string, name?: string) => {
  await confirmTokens(app, email);
  const authenticator = createAuthenticator();
  const options = await app.as(email).mfa.startPasskey({});
  const credential = authenticator.create(options);
  const { factor, recovery_codes: codes } = await app.as(email).mfa.addPasskey({ credential, name });
  return { authenticator, factor, codes };
};

/** A browser that has requested a passkey for a login without a password. */
export const requested = async (app: TestApp) => {
  const browser = createScript(app);
  const options: RequestOptions = (await browser.send('POST /session/passkey/options/')).json();
  const answer = (passkey: Assertion) => browser.send('POST /session/passkey/', { payload: { passkey } });
  return { browser, options, answer };
};

/** A browser in which the password was entered, and that has requested a passkey as the second factor. Without one, `options` is null. */
export const challengedByPasskey = async (app: TestApp, email: string, password = DEMO_PASSWORD) => {
  const browser = createScript(app);
  await browser.logIn(email, password);
  const payload = { purpose: 'challenge' };
  const response = await browser.send('POST /session/passkey/options/', { payload });
  const options: RequestOptions | null = response.statusCode === 200 ? response.json() : null;
  const answer = (passkey: Assertion) => browser.send('POST /session/otp/', { payload: { passkey } });
  return { browser, response, options, answer };
};

const sha256 = (content: string | Buffer): Buffer => createHash('sha256').update(content).digest();

type CborKey = string | number;
type Cbor = string | number | Buffer | Cbor[] | CborMap;
type CborMap = Map<CborKey, Cbor>;

/** Encodes what authenticators send (RFC 8949): lengths up to 65,535, and small integers. */
const cbor = (value: Cbor): Buffer => {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string')
    return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(cbor)]);
  const pairs = [...value].flatMap(([key, item]) => [cbor(key), cbor(item)]);
  return Buffer.concat([head(5, value.size), ...pairs]);
};

const head = (major: number, length: number): Buffer => {
  const type = major << 5;
  if (length < 24) return Buffer.from([type | length]);
  return length < 256
    ? Buffer.from([type | 24, length])
    : Buffer.from([type | 25, length >> 8, length & 255]);
};

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
