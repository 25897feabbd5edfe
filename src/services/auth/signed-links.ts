import { createHmac, timingSafeEqual } from 'node:crypto';

/** The signed data of a password link. Its row in the database holds no secret. */
type PasswordLink = { id: number; userId: number; createdAt: Date };

/** The signed data of the two links of a change of an address: to the new and to the old address. */
type EmailLink = { id: number; userId: number; requestedAt: Date };

export type EmailLinkKind = 'confirm' | 'undo';

const TOKEN_PATTERN = /^(\d{1,15})\.([\w-]{43})$/;

export type SignedLinks = ReturnType<typeof createSignedLinks>;

/**
 * Creates and verifies mailed links. Each is signed with the secret key of the service: neither the API, which exposes invitation keys, nor
 * a copy of the database is enough to forge one.
 */
export const createSignedLinks = ({ secretKey, baseUrl }: { secretKey: string; baseUrl: string }) => {
  const sign = (...parts: (string | number)[]): string =>
    createHmac('sha256', secretKey).update(parts.join('\0')).digest('base64url');
  const passwordSignature = ({ id, userId, createdAt }: PasswordLink): string =>
    sign('password link', id, userId, createdAt.getTime());
  const emailSignature = (kind: EmailLinkKind, { id, userId, requestedAt }: EmailLink): string =>
    sign(`email ${kind}`, id, userId, requestedAt.getTime());

  return {
    invitation: (key: string): string => `${baseUrl}/invitation/${key}/?signature=${sign('invitation', key)}`,

    isInvitationSigned: (key: string, signature: string): boolean =>
      isEqual(signature, sign('invitation', key)),

    passwordLink: (link: PasswordLink): string =>
      `${baseUrl}/password/reset/?token=${link.id}.${passwordSignature(link)}`,

    isPasswordLinkSigned: (link: PasswordLink, signature: string): boolean =>
      isEqual(signature, passwordSignature(link)),

    emailLink: (kind: EmailLinkKind, link: EmailLink): string =>
      `${baseUrl}/email/${kind}/?token=${link.id}.${emailSignature(kind, link)}`,

    isEmailLinkSigned: (kind: EmailLinkKind, link: EmailLink, signature: string): boolean =>
      isEqual(signature, emailSignature(kind, link)),
  };
};

/** Splits the token of a link into id and signature. Null if it is malformed. */
export const parseLinkToken = (token: string): { id: number; signature: string } | null => {
  const [, id, signature] = TOKEN_PATTERN.exec(token) ?? [];
  return id === undefined || signature === undefined ? null : { id: Number(id), signature };
};

const isEqual = (actual: string, expected: string): boolean => {
  const [a, b] = [Buffer.from(actual), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
};
