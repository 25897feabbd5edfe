import { z } from 'zod';
import { PASSKEY_PURPOSES } from '../../src/services/auth/passkeys.ts';
import { Output } from './outputs.ts';

/** Bytes in base64url, as browsers write them in JSON. Any text is accepted: a malformed signature is refused like a wrong one. */
const Bytes = (maxLength: number) => z.string().min(1, 'This field is required.').max(maxLength);

/** An id has 1,023 bytes at most (Web Authentication Level 3, §4). */
const CredentialId = Bytes(1364);
const ClientData = Bytes(4096);

const ID = 'Zm9vYmFyYmF6cXV4cXV1eGNvcmdlZ3JhdWx0Z2FycGx5';
const USER = 'hCsGGPlHsTePyqPjPNNDVmYKFQJ1TTKUgRBSZ7oBLXY';
const CHALLENGE = { examples: ['q1XU7jJm3GmJ7Zv2hYpXvJc4wT0sQwK0m8e0b5aPz2I'] };
/** The extensions that a browser has used are ignored. */
const NO_EXTENSIONS = { clientExtensionResults: {} };

const credentialWith = <Response extends z.ZodType>(response: Response, example: object) =>
  z
    .object({ id: CredentialId, rawId: CredentialId, type: z.literal('public-key'), response })
    .meta({ examples: [{ id: ID, rawId: ID, type: 'public-key', response: example }] });

/** What `PublicKeyCredential.toJSON()` returns for a new passkey. */
export const NewCredential = credentialWith(
  z.object({
    clientDataJSON: ClientData,
    attestationObject: Bytes(16_384),
    transports: z.array(z.string().max(32)).max(8).default([]),
  }),
  {
    clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0',
    attestationObject: 'o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YVik',
    transports: ['internal'],
  },
).transform((credential) => ({ ...credential, ...NO_EXTENSIONS }));

/** What `PublicKeyCredential.toJSON()` returns for a signature. */
export const Assertion = credentialWith(
  z.object({
    clientDataJSON: ClientData,
    authenticatorData: Bytes(4096),
    signature: Bytes(2048),
    userHandle: z.string().max(128).nullish(),
  }),
  {
    clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0',
    authenticatorData: 'SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2MFAAAAAQ',
    signature: 'MEUCIQDVvOnb0gUYsm2bS4',
    userHandle: USER,
  },
).transform(({ response: { userHandle, ...signed }, ...assertion }) => ({
  ...assertion,
  response: { ...signed, ...(userHandle && { userHandle }) },
  ...NO_EXTENSIONS,
}));

export const Purpose = z.enum(PASSKEY_PURPOSES);

const Descriptor = z.object({
  type: z.literal('public-key'),
  id: z.string().meta({ examples: [ID] }),
  transports: z.array(z.string()),
});

/** For `PublicKeyCredential.parseCreationOptionsFromJSON()`. */
export const CreationOptionsOutput = Output('PasskeyCreationOptions', {
  rp: z
    .object({ id: z.string(), name: z.string() })
    .meta({ examples: [{ id: 'localhost', name: 'Acme Analytics' }] }),
  user: z
    .object({ id: z.string(), name: z.string(), displayName: z.string() })
    .meta({ examples: [{ id: USER, name: 'ada@acme.test', displayName: 'Ada Lovelace' }] }),
  challenge: z.string().meta(CHALLENGE),
  pubKeyCredParams: z
    .array(z.object({ type: z.literal('public-key'), alg: z.int() }))
    .meta({ examples: [[{ type: 'public-key', alg: -7 }]] }),
  timeout: z.int().meta({ examples: [300_000] }),
  excludeCredentials: z.array(Descriptor),
  authenticatorSelection: z.object({
    residentKey: z.literal('required'),
    requireResidentKey: z.literal(true),
    userVerification: z.literal('required'),
  }),
  attestation: z.literal('none'),
});

/** For `PublicKeyCredential.parseRequestOptionsFromJSON()`. */
export const RequestOptionsOutput = Output('PasskeyRequestOptions', {
  rpId: z.string().meta({ examples: ['localhost'] }),
  challenge: z.string().meta(CHALLENGE),
  timeout: z.int().meta({ examples: [300_000] }),
  allowCredentials: z.array(Descriptor),
  userVerification: z.literal('required'),
});
