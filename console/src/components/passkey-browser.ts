import type { Inputs, Outputs } from '../api.ts';

/** Whether this browser supports passkeys. Browsers from before 2025 cannot read options as JSON. */
export const hasPasskeys = (): boolean =>
  typeof globalThis.PublicKeyCredential?.parseCreationOptionsFromJSON === 'function';

/** Why the browser did not create or use a passkey, in words. */
export class PasskeyFailure extends Error {}

const failureOf = (error: unknown, otherwise: string): unknown => {
  if (!(error instanceof DOMException)) return error;
  if (error.name === 'InvalidStateError')
    return new PasskeyFailure('This device already has a passkey of your account.');
  if (error.name === 'SecurityError')
    return new PasskeyFailure('Passkeys do not work at this address of the service.');
  return new PasskeyFailure(otherwise);
};

const ask = async <Answer>(request: Promise<Credential | null>, otherwise: string): Promise<Answer> => {
  try {
    return ((await request) as PublicKeyCredential).toJSON() as Answer; // the requested type
  } catch (error) {
    throw failureOf(error, otherwise);
  }
};

/** Asks the user to create a passkey. @throws PasskeyFailure */
export const createPasskey = (
  options: Outputs['mfa']['startPasskey'],
): Promise<Inputs['mfa']['addPasskey']['credential']> => {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  return ask(navigator.credentials.create({ publicKey }), 'No passkey was created. Try again.');
};

type Answer = NonNullable<NonNullable<Exclude<Inputs['sessions']['confirm'], void>>['passkey']>;

/** Asks the user for a passkey. @throws PasskeyFailure */
export const signWithPasskey = (options: Outputs['sessions']['startPasskey']): Promise<Answer> => {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return ask(navigator.credentials.get({ publicKey }), 'No passkey was used. Try again.');
};
